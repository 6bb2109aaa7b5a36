package job

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestClaim(t *testing.T) {
	everyShell(t, func(t *testing.T, m machine) {
		p := newPod(t, m)
		for range 2 { // fresh, then own
			if err := p.Reserve(t.Context(), testClaim); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.Reserve(t.Context(), "ssh-ed25519 AAAAother run"); err != ErrTaken {
			t.Errorf("foreign claim: %v", err)
		}
		if got := p.get(".claim"); got != testClaim+"\n" {
			t.Errorf("claim is %q", got)
		}
		blocked := At(p.conn, p.root, "/file/run")
		if err := os.WriteFile(filepath.Join(p.root, "file"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := blocked.Reserve(t.Context(), testClaim); err == nil || err == ErrTaken {
			t.Errorf("impossible path: %v", err)
		}
		if left, _ := filepath.Glob(filepath.Join(p.dir, ".claim.*")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
}

func TestBootstrapReady(t *testing.T) {
	everyShell(t, func(t *testing.T, m machine) {
		p := newPod(t, m)
		// What an image brings: a key of its own, an earlier pod's verdict.
		for name, content := range map[string]string{
			"/etc/ssh/ssh_host_rsa_key":     "baked",
			"/etc/ssh/ssh_host_rsa_key.pub": "baked",
			"/root/.ssh/authorized_keys":    "baked\n",
		} {
			if err := writeFile(p.root+name, []byte(content), false); err != nil {
				t.Fatal(err)
			}
		}
		p.reserve()
		p.put(".pod/watchdog", "failed http_401\n")
		p.put(".pod/first_start", "1\n")
		p.env["IMAGE_VALUE"] = "it's\n\n`id` $HOME \xff\x01 \n\n"
		p.env["JUPYTER_PASSWORD"] = "no"
		p.env["PUBLIC_KEY"] = "no"
		p.env["PATH"] = m.path + ":/opt/image/bin"
		p.start()
		p.ready()
		v, err := p.Verdict(t.Context())
		if err != nil || v.State != VerdictReady {
			t.Fatalf("verdict %+v, %v", v, err)
		}
		if !p.logs("overbrainer-verdict ready") {
			t.Error("no verdict on standard output")
		}
		key := filepath.Join(p.root, "etc/ssh/ssh_host_ed25519_key")
		if info, err := os.Stat(key); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("host key: %v %v", info, err)
		}
		for path, want := range map[string]string{
			key:          hostKey,
			key + ".pub": testClaim + "\n",
			filepath.Join(p.root, "root/.ssh/authorized_keys"): p.spec.AuthorizedKey + "\n",
		} {
			if got, _ := os.ReadFile(path); string(got) != want {
				t.Errorf("%s is %q", path, got)
			}
		}
		if left, _ := filepath.Glob(filepath.Join(p.root, "etc/ssh/*")); len(left) != 2 {
			t.Errorf("keys: %v", left)
		}
		if info, err := os.Stat(filepath.Join(p.root, "root/.ssh")); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("directory of keys: %v %v", info, err)
		}
		if _, err := os.Stat(filepath.Join(p.root, "run/sshd.started")); err != nil {
			t.Error(err)
		}
		env, err := os.ReadFile(p.root + EnvFile)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"RUNPOD", "OVERBRAINER", "JUPYTER", "PUBLIC_KEY", "rpa_"} {
			if strings.Contains(string(env), word) {
				t.Errorf("the job's environment holds %s", word)
			}
		}
		if left, _ := filepath.Glob(filepath.Join(p.root, "etc/overbrainer/*.tmp")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
		if got := p.get(".pod/first_start"); got == "1\n" {
			t.Error("an earlier pod's start counts")
		}
		for _, log := range []string{".pod/watchdog.log", ".pod/bootstrap.log"} {
			if !p.has(log) {
				t.Errorf("no %s", log)
			}
		}
		if p.api.badAuth > 0 || strings.Contains(p.out.String()+tree(t, p.root), testKey) {
			t.Error("the key is where it should not be, or not where it should")
		}
		p.quiet(0)
	})
}

func TestBootstrapFails(t *testing.T) {
	everyShell(t, func(t *testing.T, m machine) {
		type failure struct {
			reason  string
			prepare func(p *testPod)
		}
		for name, f := range map[string]failure{
			"authorized key": {"the authorized key cannot be installed", func(p *testPod) {
				_ = os.WriteFile(filepath.Join(p.root, "root"), nil, 0o600)
			}},
			"secret not filled in": {"the host key's secret was not filled in", func(p *testPod) {
				p.spec.HostKeyPlaceholder = "{{ RUNPOD_SECRET_x }}"
			}},
			"no key": {"the host key cannot be installed", func(p *testPod) {
				p.spec.HostKeyPlaceholder = "aGVsbG8K"
			}},
			"no sshd": {"sshd is missing in the image and could not be installed", func(p *testPod) {
				p.env["OVERBRAINER_SSHD"] = ""
				p.env["OVERBRAINER_INSTALL_SSHD"] = "0"
				hideSSHD(p)
			}},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p := newPod(t, m)
				p.spec.KeepPod = -1 // a pod without a job is not kept
				f.prepare(p)
				p.start()
				p.ready()
				v, ok := LogVerdict(lineWith(p.out.String(), verdictWord))
				if !ok || v.State != VerdictFailed || !v.Bootstrap || v.Reason != f.reason {
					t.Errorf("verdict %+v", v)
				}
				if got := strings.TrimSpace(p.get(".pod/bootstrap_failed")); got != f.reason {
					t.Errorf("noted %q", got)
				}
				if log := p.get(".pod/bootstrap.log"); !strings.Contains(log, f.reason) {
					t.Errorf("logged %q", log)
				}
				p.quiet(1200 * time.Millisecond)
				if err := p.MarkSeen(t.Context()); err != nil {
					t.Fatal(err)
				}
				p.deleted("bootstrap_failed")
			})
		}
	})
}

// hideSSHD makes a PATH without sshd; where this machine has one at a fixed
// place, the test is of no use.
func hideSSHD(p *testPod) {
	for _, path := range []string{"/usr/sbin/sshd", "/usr/local/sbin/sshd", "/sbin/sshd"} {
		if _, err := os.Stat(path); err == nil {
			p.t.Skipf("%s is here", path)
		}
	}
}

func lineWith(text, prefix string) string {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, prefix) {
			return line
		}
	}
	return ""
}

func TestBootstrapForeignClaim(t *testing.T) {
	everyShell(t, func(t *testing.T, m machine) {
		p := newPod(t, m)
		if err := p.Reserve(t.Context(), "ssh-ed25519 AAAAother run"); err != nil {
			t.Fatal(err)
		}
		p.put(".pod/watchdog", "ready\n")
		before := tree(t, p.dir)
		p.spec.SeenWait = time.Second
		p.start()
		p.deleted("bootstrap_failed")
		if after := tree(t, p.dir); after != before {
			t.Errorf("the other run's directory changed:\n%s\nwas\n%s", after, before)
		}
		refused := filepath.Join(p.root, "root/overbrainer-refused-run/.pod")
		got, _ := os.ReadFile(filepath.Join(refused, "watchdog"))
		if v, ok := ParseVerdict(string(got)); !ok || !v.Bootstrap || v.Reason != "the run directory belongs to another run" {
			t.Errorf("verdict %q", got)
		}
	})
}

// A container that restarts goes on counting and does not run an ended job
// again.
func TestBootstrapRestart(t *testing.T) {
	everyShell(t, func(t *testing.T, m machine) {
		p := newPod(t, m)
		p.spec.RetrieveGrace = 4 * time.Second
		p.start()
		p.ready()
		p.launch(Launch{Command: []string{"sh", "-c", "echo run >> count"}})
		p.eventually("the end noticed", func() bool { return p.logs("job ended") })
		first, ended := p.get(".pod/first_start"), p.get(".pod/ended_at")
		p.stop()
		time.Sleep(1100 * time.Millisecond)
		p.start()
		p.deleted("abandoned")
		if p.get(".pod/first_start") != first || p.get(".pod/ended_at") != ended {
			t.Error("the restart forgot when the pod started or the job ended")
		}
		if got := p.get("count"); got != "run\n" {
			t.Errorf("the job ran %q", got)
		}
		if _, err := p.Launch(t.Context(), Launch{Command: []string{"sh", "-c", "echo run >> count"}}); err != ErrStarted {
			t.Errorf("second start: %v", err)
		}
		if !strings.Contains(p.get(".pod/bootstrap.log"), "container restarted") {
			t.Error("the restart is not logged")
		}
	})
}
