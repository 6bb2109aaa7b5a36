package apply

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/state"
)

// TestWhoLooksOnTakesOver: whoever follows a run beside the process that holds
// it brings it home where that process ends first, and tells each line once.
func TestWhoLooksOnTakesOver(t *testing.T) {
	type second func(*Engine, *testing.T) (Outcome, error)
	attach := func(e *Engine, t *testing.T) (Outcome, error) { return e.Attach(t.Context(), "run.train", Options{}) }
	tests := []struct {
		name   string
		second second
		leave  func(w *world, first chan struct{}, pid int)
		class  Class // of the first
		phase  state.Phase
	}{
		{name: "interrupted", second: attach, leave: func(_ *world, first chan struct{}, _ int) { first <- struct{}{} }, class: Interrupt, phase: state.Succeeded},
		{name: "killed", second: attach, leave: func(w *world, _ chan struct{}, pid int) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.dead[pid] = true // the process goes on here, and looks on as one that slept
		}, class: OK, phase: state.Succeeded},
		{name: "stop", second: func(e *Engine, t *testing.T) (Outcome, error) { return e.Stop(t.Context(), "run.train", Options{}) },
			leave: func(_ *world, first chan struct{}, _ int) { first <- struct{}{} }, class: Interrupt, phase: state.Stopped},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				var log strings.Builder
				for i := range 60 {
					fmt.Fprintf(&log, "epoch %d\n", i)
				}
				w.job = fakeJob{length: time.Hour, snapshot: 7, log: log.String(), files: map[string]string{"output/checkpoint-7/w": "w"}}
				s := spec()
				s.Snapshot = &plan.SnapshotSpec{Path: "output/checkpoint-{step}", GraceS: 1800}
				first := w.engine()
				pid := w.pid
				stop := make(chan struct{})
				first.Interrupts = stop
				ended := make(chan Outcome, 1)
				go func() {
					out, _ := first.Apply(t.Context(), oneRun(s), Options{})
					ended <- out
				}()
				time.Sleep(10 * time.Minute)
				e := w.engine()
				e.Interrupts = nil
				told := map[string]int{}
				e.Emit = func(e Event) {
					if e.Kind == EventLog {
						told[e.Line]++
					}
				}
				go func() {
					time.Sleep(10 * time.Second)
					tt.leave(w, stop, pid)
				}()
				out, err := tt.second(e, t)
				run := w.run("run.train")
				if err != nil || out.Class != OK || run.Phase != tt.phase || !run.Retrieved {
					t.Errorf("%v class %d, %s %s retrieved %v: %s", err, out.Class, run.Phase, run.Reason, run.Retrieved, run.Message)
				}
				if got := (<-ended).Class; got != tt.class {
					t.Errorf("the first ended with class %d", got)
				}
				for line, n := range told {
					if n > 1 {
						t.Errorf("%q was told %d times", line, n)
					}
				}
				if tt.phase == state.Succeeded && told["epoch 59"] != 1 {
					t.Errorf("the end was not told: %v", told)
				}
				w.clean()
			})
		})
	}
}

// TestLooksOnUntilTheJobStarts: whoever attaches while the pod is made ready
// sees the job's log and its end.
func TestLooksOnUntilTheJobStarts(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.job = fakeJob{length: time.Hour, log: "one\n", files: map[string]string{"output/m": "w"}}
		w.boot = func(_ int, p *fakePod) { p.bootTime = 5 * time.Minute }
		first := w.engine()
		go func() { _, _ = first.Apply(t.Context(), oneRun(spec()), Options{}) }()
		time.Sleep(time.Minute)
		// As before its key is made.
		key := filepath.Join(w.dir, w.run("run.train").Dir, sshDir, clientKey)
		if err := os.Rename(key, key+".later"); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Minute, func() { _ = os.Rename(key+".later", key) })
		e := w.engine()
		e.Interrupts = nil
		out, err := e.Attach(t.Context(), "run.train", Options{})
		if err != nil || out.Class != OK || !out.Runs[0].Retrieved {
			t.Errorf("%v %+v", err, out)
		}
		w.clean()
	})
}

// TestLookingOnIsToldTheEnd: whoever looks on has the end of the run as an event, once,
// and who asks for that end beside the one who follows is shown what comes of it, not
// what the log had before.
func TestLookingOnIsToldTheEnd(t *testing.T) {
	tests := []struct {
		name   string
		second func(*Engine, *testing.T) (Outcome, error)
		state  state.Phase
		before bool // lines of before are told
	}{
		{name: "attach", state: state.Succeeded, before: true, second: func(e *Engine, t *testing.T) (Outcome, error) {
			return e.Attach(t.Context(), "run.train", Options{})
		}},
		{name: "cancel", state: state.Cancelled, second: func(e *Engine, t *testing.T) (Outcome, error) {
			return e.Cancel(t.Context(), "run.train", Options{})
		}},
		{name: "stop", state: state.Stopped, second: func(e *Engine, t *testing.T) (Outcome, error) {
			return e.Stop(t.Context(), "run.train", Options{})
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				w.job = fakeJob{length: time.Hour, snapshot: 7, log: strings.Repeat("before\n", 10) + strings.Repeat("after\n", 50), files: map[string]string{"output/checkpoint-7/w": "w"}}
				s := spec()
				s.Snapshot = &plan.SnapshotSpec{Path: "output/checkpoint-{step}", GraceS: 1800}
				first := w.engine()
				go func() { _, _ = first.Apply(t.Context(), oneRun(s), Options{}) }()
				time.Sleep(25 * time.Minute)
				e := w.engine()
				e.Interrupts = nil
				var ends []Event
				before := false
				e.Emit = func(e Event) {
					switch {
					case e.Kind == EventEnded:
						ends = append(ends, e)
					case e.Kind == EventLog && e.Line == "before":
						before = true
					}
				}
				if out, err := tt.second(e, t); err != nil || out.Class != OK {
					t.Errorf("%v %+v", err, out)
				}
				if len(ends) != 1 || ends[0].State != string(tt.state) || ends[0].Dir == "" || ends[0].Seconds == 0 {
					t.Errorf("the ends: %+v", ends)
				}
				if before != tt.before {
					t.Errorf("what was before is told: %v", before)
				}
			})
		})
	}
}
