package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/providers/runpod/sim"
)

// bench is a directory with a configuration, a simulator of its own and the
// built program.
type bench struct {
	t     testing.TB
	dir   string
	bin   string
	env   []string
	speed float64
	sim   *sim.Client
}

// newBench writes the configuration and starts the project's simulator at a
// speed.
func newBench(t testing.TB, bin, config string, speed float64, flags ...string) *bench {
	t.Helper()
	top, err := os.MkdirTemp("", "ob-guard")
	if err != nil {
		t.Fatal(err)
	}
	p := &bench{t: t, dir: filepath.Join(top, "project"), bin: bin, speed: speed}
	p.env = append(os.Environ(), "HOME="+top, "XDG_STATE_HOME="+filepath.Join(top, "state"),
		"PATH="+os.Getenv("PATH")+":/usr/sbin:/sbin", "RUNPOD_API_KEY=", "OVERBRAINER_INPUT=0")
	t.Cleanup(func() {
		p.stop()
		_ = os.RemoveAll(top)
	})
	if err := os.Mkdir(p.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.dir, "overbrainer.hcl"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := p.run(append([]string{"sim", "start", fmt.Sprintf("-speed=%g", speed)}, flags...)...); err != nil {
		t.Fatalf("sim start: %v\n%s", err, out)
	}
	home := sim.Home(func(name string) string {
		return map[string]string{"XDG_STATE_HOME": filepath.Join(top, "state")}[name]
	}, p.dir)
	if p.sim, err = sim.Find(t.Context(), home); err != nil {
		t.Fatal(err)
	}
	return p
}

// stop ends the simulator and waits until it is gone.
func (p *bench) stop() {
	if p.sim == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	_ = p.sim.Stop(ctx)
	for ctx.Err() == nil {
		if _, err := p.sim.Status(ctx); err != nil {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// command is the program with arguments, in the project.
func (p *bench) command(args ...string) *exec.Cmd {
	cmd := exec.Command(p.bin, args...)
	cmd.Dir, cmd.Env = p.dir, p.env
	return cmd
}

// run gives what a command wrote to standard output.
func (p *bench) run(args ...string) (string, error) {
	cmd := p.command(args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return out.String() + errs.String(), err
	}
	return out.String(), nil
}

// client is a command that goes on beside the test.
type client struct {
	cmd   *exec.Cmd
	ended chan struct{}
	mu    sync.Mutex
	text  bytes.Buffer
}

func (c *client) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.Write(b)
}

func (c *client) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.String()
}

func (p *bench) start(args ...string) *client {
	p.t.Helper()
	c := &client{cmd: p.command(args...), ended: make(chan struct{})}
	c.cmd.Stdout, c.cmd.Stderr = c, c
	c.cmd.WaitDelay = time.Second
	if err := c.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	go func() {
		_ = c.cmd.Wait()
		close(c.ended)
	}()
	return c
}

// kill ends the client as a power cut would.
func (c *client) kill() {
	_ = c.cmd.Process.Signal(syscall.SIGKILL)
	<-c.ended
}

func (c *client) running() bool {
	select {
	case <-c.ended:
		return false
	default:
		return true
	}
}

// until waits for something, for so long at most.
func (p *bench) until(what string, limit time.Duration, done func() bool) {
	p.t.Helper()
	for end := time.Now().Add(limit); !done(); time.Sleep(30 * time.Millisecond) {
		if time.Now().After(end) {
			p.t.Fatalf("waited %s for %s", limit, what)
		}
	}
}

func (p *bench) pods() []sim.PodStatus {
	p.t.Helper()
	st, err := p.sim.Status(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	return st.Pods
}

// gone reports whether the provider has no pod any more.
func (p *bench) gone() bool { return len(p.pods()) == 0 }

// runDir is the run's directory on a pod, as this machine sees it; "" before
// it exists.
func runDir(pod sim.PodStatus) string {
	for _, form := range []string{"upper", "root"} {
		found, _ := filepath.Glob(filepath.Join(pod.Dir, form, "workspace/overbrainer/*"))
		if len(found) > 0 {
			return found[0]
		}
	}
	return ""
}

// podFile reads a file of the run's directory on the only pod.
func (p *bench) podFile(name string) (string, bool) {
	pods := p.pods()
	if len(pods) == 0 || runDir(pods[0]) == "" {
		return "", false
	}
	data, err := os.ReadFile(filepath.Join(runDir(pods[0]), name))
	return string(data), err == nil
}

func (p *bench) fault(f sim.Fault) {
	p.t.Helper()
	if err := p.sim.Fault(p.t.Context(), f); err != nil {
		p.t.Fatal(err)
	}
}

// requests are those that the simulator answered so far.
func (p *bench) requests() []sim.Request {
	all, err := p.sim.Journal(p.t.Context(), 0)
	if err != nil {
		p.t.Fatal(err)
	}
	return all
}

// bill is what a pod has cost, by the provider's billing.
func (p *bench) bill(pod string) float64 {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), "GET", p.sim.URL+"/v2/billing/pods?bucketSize=year&podId="+pod, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer account")
	req.Header.Set("User-Agent", "overbrainer-test")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer struct {
		Records []struct{ TotalAmount float64 }
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || resp.StatusCode != http.StatusOK {
		p.t.Fatalf("billing: %s, %v", resp.Status, err)
	}
	usd := 0.0
	for _, r := range answer.Records {
		usd += r.TotalAmount
	}
	return usd
}

// life is what the simulator's journal says of one pod.
type podLife struct {
	id, runID string
	created   time.Time
	ticked    time.Time // its guard's first request; zero: none
	ended     time.Time // the delete that took effect; zero: none
	endedBy   string    // account, or the pod
	deadline  time.Time // with overrun, grace and keep_pod; zero: none
	capAt     time.Time
	failed    []time.Time // deletes without effect
	requests  []time.Time // of its guard
}

// lives reads every pod's life out of the journal.
func (p *bench) lives() []*podLife {
	var all []*podLife
	find := func(id string) *podLife {
		i := slices.IndexFunc(all, func(l *podLife) bool { return l.id == id })
		if i < 0 {
			return nil
		}
		return all[i]
	}
	for _, r := range p.requests() {
		if r.Op == "create pod" && r.Object != "" {
			all = append(all, newPodLife(r))
			continue
		}
		l := find(r.Object)
		if l == nil {
			l = find(r.By)
		}
		if l == nil {
			continue
		}
		if r.By == l.id {
			if l.ticked.IsZero() {
				l.ticked = r.Time
			}
			l.requests = append(l.requests, r.Time)
		}
		// Terminating is the guard's second way to delete.
		terminates := r.Op == "act on pod" && strings.Contains(string(r.Body), "terminate")
		if r.Method != "DELETE" && !terminates || !l.ended.IsZero() {
			continue
		}
		if r.Status == 0 && strings.Contains(r.Fault, "api-down") {
			continue // an outage is a matter of its own
		}
		if ignored := strings.HasPrefix(r.Fault, "delete-") && r.Fault != "delete-500-after-effect"; ignored || r.Status == 0 || r.Status >= 400 && r.Fault != "delete-500-after-effect" {
			l.failed = append(l.failed, r.Time)
			continue
		}
		l.ended, l.endedBy = r.Time, r.By
	}
	return all
}

func newPodLife(r sim.Request) *podLife {
	var body struct{ Env map[string]string }
	_ = json.Unmarshal(r.Body, &body)
	number := func(name string) int64 {
		n, _ := strconv.ParseInt(body.Env["OVERBRAINER_"+name], 10, 64)
		return n
	}
	l := &podLife{id: r.Object, runID: body.Env["OVERBRAINER_RUN_ID"], created: r.Time}
	if at := number("DEADLINE"); at > 0 {
		l.deadline = time.Unix(at+number("OVERRUN")+number("RETRIEVE_GRACE")+max(0, number("KEEP_POD_SECONDS")), 0)
	}
	if at := number("COST_CAP_AT"); at > 0 {
		l.capAt = time.Unix(at, 0)
	}
	return l
}

// bound is the moment after which the pod must be gone.
func (l *podLife) bound() time.Time {
	if !l.capAt.IsZero() && (l.deadline.IsZero() || l.capAt.Before(l.deadline)) {
		return l.capAt
	}
	return l.deadline
}
