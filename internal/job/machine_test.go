package job

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/internal/remote"
)

// Most tests wait for something; they may do so together.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "24"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// machine is a shell with the tools that come with it.
type machine struct {
	name string
	sh   string // path of the shell, named sh
	path string // PATH
}

// need skips a test that needs a program this machine lacks; where everything
// has to be there, it fails.
func need(t testing.TB, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err == nil {
		return path
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s is missing", program)
	}
	t.Skipf("%s is missing", program)
	return ""
}

// everyShell runs a test under bash, dash and busybox, the last one with
// busybox's own tools.
func everyShell(t *testing.T, test func(t *testing.T, m machine)) {
	t.Helper()
	for _, shell := range []string{"bash", "dash", "busybox"} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			path := need(t, shell)
			bin := t.TempDir()
			if shell == "busybox" {
				list, err := exec.Command(path, "--list").Output()
				if err != nil {
					t.Fatal(err)
				}
				for _, applet := range strings.Fields(string(list)) {
					if applet != "nvidia-smi" && applet != "sh" {
						_ = os.Symlink(path, filepath.Join(bin, applet))
					}
				}
			}
			if err := os.Symlink(path, filepath.Join(bin, "sh")); err != nil {
				t.Fatal(err)
			}
			test(t, machine{name: shell, sh: filepath.Join(bin, "sh"), path: bin + ":" + os.Getenv("PATH")})
		})
	}
}

// command runs a script as sshd or a container would.
func (m machine) command(ctx context.Context, script string, env map[string]string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, m.sh, "-c", script)
	all := map[string]string{"PATH": m.path, "HOME": "/nonexistent"}
	maps.Copy(all, env)
	for name, value := range all {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	return cmd
}

// localConn runs scripts on this machine and copies files.
type localConn struct {
	m      machine
	root   string            // in the environment of a login
	before func(remote.Pull) // called before a Pull copies
	after  func(remote.Pull)
	flip   bool   // corrupt what is pulled
	wrong  string // a Pull fails because of this file

	running sync.WaitGroup // commands
	mu      sync.Mutex
	scripts int
	pulled  int64
}

func (c *localConn) Run(ctx context.Context, cmd remote.Command) (remote.Result, error) {
	c.running.Add(1)
	defer c.running.Done()
	c.mu.Lock()
	c.scripts++
	c.mu.Unlock()
	run := c.m.command(ctx, cmd.Script, map[string]string{"SSH_CONNECTION": "1 2 3 4", "OVERBRAINER_POD_ROOT": c.root})
	var stdout, stderr bytes.Buffer
	run.Stdout, run.Stderr = &stdout, &stderr
	if cmd.Stdout != nil {
		run.Stdout = cmd.Stdout
	}
	if cmd.Stdin != nil {
		// As over SSH, a Read of the input that blocks does not hold up the end.
		in, err := run.StdinPipe()
		if err != nil {
			return remote.Result{}, err
		}
		go func() { _, _ = io.Copy(in, cmd.Stdin); _ = in.Close() }()
	}
	err := run.Run()
	var exit *exec.ExitError
	res := remote.Result{Stdout: stdout.Bytes(), Stderr: stderr.Bytes()}
	if cmd.MaxOutput > 0 && int64(stdout.Len()) > cmd.MaxOutput {
		return res, &remote.OutputError{Max: cmd.MaxOutput}
	}
	if errors.As(err, &exit) {
		res.Exit = exit.ExitCode()
		return res, nil
	}
	return res, err
}

func (c *localConn) Push(ctx context.Context, push remote.Push) error {
	for _, f := range push.Files {
		src, err := push.Open(f)
		if err != nil {
			return err
		}
		content, err := io.ReadAll(src)
		src.Close()
		if err != nil {
			return err
		}
		if err := writeFile(filepath.Join(push.Dir, f.Path), content, f.Exec); err != nil {
			return err
		}
		if push.Progress != nil {
			push.Progress(f.Size, f.Size, 1)
		}
	}
	return nil
}

func (c *localConn) Pull(ctx context.Context, pull remote.Pull) error {
	if c.before != nil {
		c.before(pull)
	}
	for _, f := range pull.Files {
		content, err := os.ReadFile(filepath.Join(pull.Dir, f.Path))
		if err != nil {
			return err
		}
		if c.flip && len(content) > 0 {
			content[0] ^= 1
		}
		c.mu.Lock()
		c.pulled += int64(len(content))
		c.mu.Unlock()
		if err := writeFile(filepath.Join(pull.Dest, f.Path), content, f.Exec); err != nil {
			return err
		}
	}
	if c.after != nil {
		c.after(pull)
	}
	if c.wrong != "" {
		return &remote.VerifyError{Path: c.wrong, Reason: "it is another one"}
	}
	return nil
}

func writeFile(path string, content []byte, exec bool) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	mode := os.FileMode(0o644)
	if exec {
		mode = 0o755
	}
	return os.WriteFile(path, content, mode)
}

// guardFunctions are a provider's shell functions over a local server.
const guardFunctions = `call() {
	[ -n "${RUNPOD_API_KEY:-}" ] || { echo missing_key; return 1; }
	command -v curl >/dev/null 2>&1 || { echo no_curl; return 1; }
	code=$(printf 'header = "Authorization: Bearer %s"\n' "$RUNPOD_API_KEY" |
		curl -s -m 5 -o /dev/null -w '%{http_code}' -A "overbrainer-watchdog/${OVERBRAINER_VERSION:-unknown}" -K - "$@")
}
provider_probe() {
	call "$TEST_API_URL/pods/p1" || return 0
	case $code in
	200) echo ready ;;
	000 | "") echo unreachable ;;
	*) echo "http_$code" ;;
	esac
}
provider_delete() {
	call -X DELETE "$TEST_API_URL/pods/p1" || return 1
	echo "DELETE $code"
	case $code in 200 | 202 | 204 | 404) return 0 ;; esac
	call -X POST "$TEST_API_URL/pods/p1/action" || return 1
	echo "terminate $code"
	case $code in 200 | 202 | 204) return 0 ;; esac
	return 1
}
`

const testKey = "rpa_CANARY0123456789"

// api is the provider as a pod sees it. Answers are taken in order, the last one
// stays.
type api struct {
	*httptest.Server
	mu      sync.Mutex
	probe   []int
	delete  []int
	action  []int
	calls   []string
	badAuth int
}

func newAPI(t *testing.T) *api {
	a := &api{probe: []int{200}, delete: []int{204}, action: []int{500}}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		defer a.mu.Unlock()
		if r.Header.Get("Authorization") != "Bearer "+testKey || !strings.HasPrefix(r.UserAgent(), "overbrainer-watchdog/1.2") {
			a.badAuth++
		}
		a.calls = append(a.calls, r.Method)
		list := map[string]*[]int{"GET": &a.probe, "DELETE": &a.delete, "POST": &a.action}[r.Method]
		code := (*list)[0]
		if len(*list) > 1 {
			*list = (*list)[1:]
		}
		w.WriteHeader(code)
	}))
	t.Cleanup(a.Close)
	return a
}

func (a *api) count(method string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := 0
	for _, call := range a.calls {
		if call == method {
			n++
		}
	}
	return n
}

// testPod is a pod on this machine: a root directory and, once started, the
// process that would be the container's first.
type testPod struct {
	*Pod
	t    *testing.T
	m    machine
	conn *localConn
	root string
	dir  string
	api  *api
	spec Spec
	env  map[string]string // further or changed variables

	cmd  *exec.Cmd
	out  *safeBuffer
	done chan struct{}
}

const (
	testClaim = "ssh-ed25519 AAAAhost run"
	hostKey   = "-----BEGIN OPENSSH PRIVATE KEY-----\nnot really\n-----END OPENSSH PRIVATE KEY-----\n"
)

func newPod(t *testing.T, m machine) *testPod {
	t.Helper()
	// Paths on a pod may hold anything.
	root := filepath.Join(t.TempDir(), "it's a pod")
	if err := os.MkdirAll(root, 0o755); err != nil {
		t.Fatal(err)
	}
	p := &testPod{
		t: t, m: m, conn: &localConn{m: m}, root: root, api: newAPI(t),
		spec: Spec{
			RunID: "run-1", Lineage: "l-1", Attempt: "overbrainer-run-1-1", Version: "1.2",
			WorkDir: "/workspace", RunDir: "/workspace/run-1",
			AuthorizedKey: "ssh-ed25519 AAAAclient run", Claim: testClaim,
			HostKeyPlaceholder: base64.StdEncoding.EncodeToString([]byte(hostKey)),
			Deadline:           time.Now().Add(time.Hour).Unix(),
			Interval:           time.Second, ProbeWait: time.Second, SnapshotLead: time.Second,
		},
		env: map[string]string{},
	}
	p.Pod = At(p.conn, root, p.spec.RunDir)
	p.Pod.CancelPatience = 2 * time.Second
	p.dir = p.Pod.Dir()
	t.Cleanup(func() {
		p.hangUp()
		p.stop()
		if t.Failed() && p.out != nil {
			t.Logf("pod's output:\n%s", p.out.String())
		}
	})
	return p
}

// hangUp ends the shells that stay.
func (p *testPod) hangUp() {
	for _, l := range []*line{p.looks, p.work} {
		if l.shell != nil {
			l.shell.close()
		}
	}
}

// start runs the pod's script. It may be called again after stop, as a container
// that restarts.
func (p *testPod) start() {
	p.t.Helper()
	script, err := Script(guardFunctions)
	if err != nil {
		p.t.Fatal(err)
	}
	env := p.spec.Env()
	env["OVERBRAINER_POD_ROOT"] = p.root
	env["OVERBRAINER_SSHD"] = "builtin"
	env["RUNPOD_API_KEY"] = testKey
	env["TEST_API_URL"] = p.api.URL
	env["OVERBRAINER_DF"] = p.tool("df", "echo x 100 10 90 10% /")
	maps.Copy(env, p.env)
	p.cmd = p.m.command(context.Background(), script, env)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.out = &safeBuffer{}
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.out
	// Background children of the scripts hold the pipe open.
	p.cmd.WaitDelay = 100 * time.Millisecond
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.done = make(chan struct{})
	go func(cmd *exec.Cmd, done chan struct{}) {
		_ = cmd.Wait()
		close(done)
	}(p.cmd, p.done)
}

// stop kills the container, not the job: that has its own session.
func (p *testPod) stop() {
	if p.cmd == nil {
		return
	}
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	<-p.done
	p.cmd = nil
}

// tool makes a program for the pod.
func (p *testPod) tool(name, script string) string {
	p.t.Helper()
	path := filepath.Join(p.root, "tools", name)
	if err := writeFile(path, []byte("#!/bin/sh\n"+script+"\n"), true); err != nil {
		p.t.Fatal(err)
	}
	return path
}

// put writes a file of the run's directory.
func (p *testPod) put(name, content string) {
	p.t.Helper()
	if err := writeFile(filepath.Join(p.dir, name), []byte(content), false); err != nil {
		p.t.Fatal(err)
	}
}

func (p *testPod) get(name string) string {
	content, _ := os.ReadFile(filepath.Join(p.dir, name))
	return string(content)
}

func (p *testPod) has(name string) bool {
	_, err := os.Lstat(filepath.Join(p.dir, name))
	return err == nil
}

func (p *testPod) launch(l Launch) int {
	p.t.Helper()
	l.RunID = p.spec.RunID
	pid, err := p.Launch(p.t.Context(), l)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = syscall.Kill(-pid, syscall.SIGKILL) })
	return pid
}

// reserve makes the run's directory as a client would on a pod without one.
func (p *testPod) reserve() {
	p.t.Helper()
	if err := p.Reserve(p.t.Context(), testClaim); err != nil {
		p.t.Fatal(err)
	}
}

// eventually waits for a condition.
func (p *testPod) eventually(what string, ok func() bool) {
	p.t.Helper()
	p.within(time.Minute, what, ok)
}

func (p *testPod) within(limit time.Duration, what string, ok func() bool) {
	p.t.Helper()
	for end := time.Now().Add(limit); time.Now().Before(end); {
		if ok() {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	p.t.Fatalf("not within %s: %s", limit, what)
}

func (p *testPod) logs(text string) bool { return strings.Contains(p.out.String(), text) }

// deleted waits for a delete and checks its reason.
func (p *testPod) deleted(reason string) {
	p.t.Helper()
	p.eventually("a delete", func() bool { return p.api.count("DELETE") > 0 && p.logs("delete reason=") })
	if !p.logs("delete reason=" + reason + "\n") {
		p.t.Errorf("not deleted because of %s", reason)
	}
}

// quiet checks that nothing was deleted for a while.
func (p *testPod) quiet(d time.Duration) {
	p.t.Helper()
	time.Sleep(d)
	if n := p.api.count("DELETE"); n > 0 {
		p.t.Errorf("%d deletes", n)
	}
}

// ready waits for the verdict.
func (p *testPod) ready() {
	p.t.Helper()
	p.eventually("a verdict", func() bool { return p.logs("overbrainer-verdict ") })
}

// safeBuffer may be read while a process writes to it.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// tree is every file below a directory with its content, for comparisons.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		if d.Type().IsRegular() {
			content, _ := os.ReadFile(path)
			fmt.Fprintf(&b, "%s=%q\n", rel, content)
		} else {
			fmt.Fprintf(&b, "%s %s\n", rel, d.Type())
		}
		return nil
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return b.String()
}

func sorted(list []string) []string { slices.Sort(list); return list }
