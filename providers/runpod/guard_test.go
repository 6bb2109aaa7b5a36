package runpod_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/overbrainer/overbrainer/providers/runpod"
)

// shells are those that pods have; each must run the guard.
func shells(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	for name, argv := range map[string][]string{
		"dash": {"dash"}, "bash": {"bash"}, "busybox": {"busybox", "sh"},
	} {
		if _, err := exec.LookPath(argv[0]); err != nil {
			if os.Getenv("CI") != "" {
				t.Fatalf("%s is missing", argv[0])
			}
			t.Logf("%s is missing, so it is not tried", argv[0])
			continue
		}
		found[name] = argv
	}
	return found
}

// podKey is the key that the platform gives a pod.
const podKey = "rpa_PODKEY0123456789abcdef"

// pod runs the guard's functions as on a pod.
type guardPod struct {
	shell []string
	dir   string // stands first in PATH
	argv  string // file in which the wrapper of curl notes its arguments
	env   []string
}

func newGuardPod(t *testing.T, shell []string, url string) *guardPod {
	t.Helper()
	g := &guardPod{shell: shell, dir: t.TempDir()}
	g.argv = filepath.Join(g.dir, "argv")
	curl, err := exec.LookPath("curl")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("curl is missing")
		}
		t.Skip("curl is missing")
	}
	g.script(t, "curl", fmt.Sprintf("printf '%%s\\n' \"$@\" >>%s\nexec %s \"$@\"\n", g.argv, curl))
	g.env = []string{
		"PATH=" + g.dir + ":" + os.Getenv("PATH"), "RUNPOD_API_KEY=" + podKey, "RUNPOD_POD_ID=q3w8z0m5t1xk7",
		"OVERBRAINER_API_URL=" + url, "OVERBRAINER_VERSION=1.2.3", "HOME=" + g.dir,
	}
	return g
}

func (g *guardPod) script(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(g.dir, name), []byte("#!/bin/sh\n"+text), 0o700); err != nil {
		t.Fatal(err)
	}
}

// run calls one function under set -eu and gives its output and whether it
// succeeded.
func (g *guardPod) run(t *testing.T, function string) (string, bool) {
	t.Helper()
	script := "set -eu\n" + runpod.GuardFunctions + "\nif " + function + "; then echo yes; else echo no; fi\n"
	cmd := exec.Command(g.shell[0], append(g.shell[1:], "-c", script)...)
	cmd.Env = g.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if argv, err := os.ReadFile(g.argv); err == nil && strings.Contains(string(argv), podKey[4:]) {
		t.Errorf("the key is on curl's command line: %s", argv)
	}
	text := strings.TrimSuffix(string(out), "\n")
	i := strings.LastIndexByte(text, '\n')
	return text[:max(i, 0)], text[i+1:] == "yes"
}

func eachShell(t *testing.T, test func(t *testing.T, shell []string)) {
	for name, shell := range shells(t) {
		t.Run(name, func(t *testing.T) { test(t, shell) })
	}
}

func TestProbe(t *testing.T) {
	eachShell(t, func(t *testing.T, shell []string) {
		look, forbidden := reply{status: 200, body: podBody}, `{"title":"Forbidden","status":403,"detail":"access denied"}`
		for _, test := range []struct {
			want   string
			script []reply
		}{
			{"ready", []reply{{status: 409}}}, // as the API has it for a pod that runs
			{"ready", []reply{{status: 400}}},
			{"ready", []reply{look}},
			{"read_only_key", []reply{{status: 403, body: forbidden}, look}},
			{"read_only_key", []reply{{status: 401}, look}},
			{"http_403", []reply{{status: 403, body: forbidden}}},
			{"http_401", []reply{{status: 401}, {drop: true}}},
			{"http_404", []reply{{status: 404}}},
			{"http_503", []reply{{status: 503}}},
			{"http_500", []reply{{status: 500, body: "x\ny"}}},
			{"unreachable", []reply{{drop: true}}},
		} {
			a := newAPI(t, test.script...)
			got, ok := newGuardPod(t, shell, a.URL+"/v2").run(t, "provider_probe")
			if got != test.want || !ok {
				t.Errorf("%+v: got %q, %v, want %q", test.script, got, ok, test.want)
			}
			for i, r := range a.got() {
				want := []seen{{method: "POST", path: "/v2/pods/q3w8z0m5t1xk7/action", body: `{"action":"start"}`}, {method: "GET", path: "/v2/pods/q3w8z0m5t1xk7"}}[i]
				if r.method != want.method || r.path != want.path || r.body != want.body ||
					r.header.Get("Authorization") != "Bearer "+podKey || r.header.Get("User-Agent") != "overbrainer-watchdog/1.2.3" {
					t.Errorf("%+v", r)
				}
			}
		}
		// A server whose certificate nothing vouches for is another matter than
		// one that is not there.
		untrusted := httptest.NewTLSServer(http.NotFoundHandler())
		defer untrusted.Close()
		away := httptest.NewServer(nil)
		away.Close()
		for url, want := range map[string]string{untrusted.URL: "no_certificates", away.URL: "unreachable"} {
			if got, ok := newGuardPod(t, shell, url).run(t, "provider_probe"); got != want || !ok {
				t.Errorf("%s: got %q, %v, want %q", url, got, ok, want)
			}
		}
		g := newGuardPod(t, shell, untrusted.URL)
		g.env = append(g.env, "CURL_CA_BUNDLE=/nonexistent") // as an image without any
		if got, _ := g.run(t, "provider_probe"); got != "no_certificates" {
			t.Errorf("without certificates: %q", got)
		}
		a := newAPI(t, reply{status: 200})
		for _, missing := range []string{"RUNPOD_API_KEY=", "RUNPOD_API_KEY=a\" b", "RUNPOD_POD_ID=", "RUNPOD_POD_ID=../x"} {
			g := newGuardPod(t, shell, a.URL)
			g.env = append(g.env, missing)
			if got, _ := g.run(t, "provider_probe"); got != "missing_key" {
				t.Errorf("%s: %q", missing, got)
			}
		}
		a.count(0)
		g = newGuardPod(t, shell, a.URL)
		g.env[0] = "PATH=" + t.TempDir()
		if shell[0] == "busybox" {
			return // it finds its own programs without a path
		}
		if path, err := exec.LookPath(shell[0]); err == nil {
			g.shell = []string{path}
		}
		if got, _ := g.run(t, "provider_probe"); got != "no_curl" {
			t.Errorf("without curl: %q", got)
		}
	})
}

func TestGuardDeletes(t *testing.T) {
	gone := `{"title":"Not Found","status":404,"detail":"resource not found"}`
	eachShell(t, func(t *testing.T, shell []string) {
		for _, test := range []struct {
			name   string
			failed string // deletes before
			script []reply
			want   string
			ok     bool
		}{
			{"at once", "0", []reply{{status: 204}}, "DELETE 204", true},
			{"known to be gone", "0", []reply{{status: 404, body: gone}}, "DELETE 404", true},
			{"gone, spaced", "0", []reply{{status: 404, body: "{\n \"status\" : 404\n}"}}, "DELETE 404", true},
			{"a proxy's page", "0", []reply{{status: 404, body: "<html>404</html>"}, {status: 204}}, "DELETE 404\nterminate 204", true},
			{"an odd 404", "3", []reply{{status: 404, body: `{"title":"x","status":500}`}, {status: 500}, {status: 200}}, "DELETE 404\nterminate 500\nstop 200", true},
			{"no answer", "4", []reply{{drop: true}, {drop: true}, {status: 202}}, "DELETE 000\nterminate 000\nstop 202", true},
			{"no answer for a moment", "2", []reply{{drop: true}, {drop: true}, {status: 202}}, "DELETE 000\nterminate 000", false},
			{"nothing works", "3", []reply{{status: 500}}, "DELETE 500\nterminate 500\nstop 500", false},
		} {
			a := newAPI(t, test.script...)
			got, ok := newGuardPod(t, shell, a.URL+"/v2/").run(t, "provider_delete "+test.failed)
			if got != test.want || ok != test.ok {
				t.Errorf("%s: %q, %v", test.name, got, ok)
			}
			for i, r := range a.got() {
				body := []string{"", `{"action":"terminate"}`, `{"action":"stop"}`}[i]
				if r.body != body || r.header.Get("Authorization") != "Bearer "+podKey || r.header.Get("User-Agent") != "overbrainer-watchdog/1.2.3" {
					t.Errorf("%s: %+v", test.name, r)
				}
				if i > 0 && (r.method != http.MethodPost || r.path != "/v2/pods/q3w8z0m5t1xk7/action" || r.header.Get("Content-Type") != "application/json") {
					t.Errorf("%s: %+v", test.name, r)
				}
			}
		}
	})
}

func TestGuardFallsBackToRunpodctl(t *testing.T) {
	eachShell(t, func(t *testing.T, shell []string) {
		a := newAPI(t, reply{status: 500})
		for ctl, want := range map[string]string{"exit 0": "ok", `[ "$1" = remove ]`: "ok", "exit 1": "failed"} {
			g := newGuardPod(t, shell, a.URL)
			g.script(t, "runpodctl", "echo \"$@\" >>"+g.argv+".ctl\n"+ctl+"\n")
			got, ok := g.run(t, "provider_delete")
			if !strings.HasSuffix(got, "\nrunpodctl "+want) || ok != (want == "ok") {
				t.Errorf("%s: %q, %v", ctl, got, ok)
			}
			if noted, _ := os.ReadFile(g.argv + ".ctl"); !strings.HasPrefix(string(noted), "pod delete q3w8z0m5t1xk7\n") {
				t.Errorf("runpodctl got %q", noted)
			}
		}
		// Without a key, runpodctl is all there is.
		g := newGuardPod(t, shell, a.URL)
		g.env = append(g.env, "RUNPOD_API_KEY=")
		g.script(t, "runpodctl", "exit 0\n")
		if got, ok := g.run(t, "provider_delete"); got != "runpodctl ok" || !ok {
			t.Errorf("%q, %v", got, ok)
		}
	})
}
