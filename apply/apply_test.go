package apply

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/providers/providertest"
	"github.com/overbrainer/overbrainer/state"
)

func TestStraight(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		out := w.apply(oneRun(spec()), Options{})
		if out.Class != OK {
			t.Fatalf("class %d: %+v", out.Class, out)
		}
		run := w.run("run.train")
		if run.Phase != state.Succeeded || !run.Retrieved || !run.Settled || *run.ExitCode != 0 {
			t.Errorf("run: %+v", run)
		}
		w.clean()
		dir := filepath.Join(w.dir, run.Dir)
		if data, err := os.ReadFile(filepath.Join(dir, "output", "model.bin")); err != nil || string(data) != "weights" {
			t.Errorf("results: %q, %v", data, err)
		}
		var res resultFile
		data, err := os.ReadFile(filepath.Join(dir, "run.json"))
		if err != nil || json.Unmarshal(data, &res) != nil {
			t.Fatalf("run.json: %v", err)
		}
		if len(res.Files) != 3 || res.State != state.Succeeded || res.CostUSD <= 0 || res.PodID == "" {
			t.Errorf("run.json: %+v", res)
		}
		if _, err := os.Stat(filepath.Join(dir, "ssh", "id_ed25519")); !os.IsNotExist(err) {
			t.Errorf("client key is still there: %v", err)
		}
		if run.Metrics["loss"] != 0.25 {
			t.Errorf("metrics: %v", run.Metrics)
		}
		p := w.pod(1)
		if p.marks["retrieved"] != 1 || p.marks["launch"] != 1 || p.marks["second launch"] != 0 {
			t.Errorf("marks: %v", p.marks)
		}
		for _, text := range []string{"one", "two", "three"} {
			if !w.said(EventLog, text) {
				t.Errorf("log line %q was not shown", text)
			}
		}
		st, _ := w.store.Read(t.Context())
		if len(st.Claims) != 0 || st.Spend["cap.small"].Runs != 1 {
			t.Errorf("claims %v, spend %v", st.Claims, st.Spend)
		}
	})
}

func TestAttemptIsDurableBeforeItIsSent(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		checked := false
		w.mem.Fail(providertest.Fault{Op: "CreatePod", Do: func() {
			checked = true
			run := w.run("run.train")
			if len(run.Attempts) != 1 || run.Attempts[0].Result != state.AttemptSent || len(run.Secrets) != 1 || run.HostKey == "" {
				t.Errorf("before the call: %+v", run)
			}
		}, Err: nil})
		w.apply(oneRun(spec()), Options{})
		if !checked {
			t.Error("no create call")
		}
	})
}

// TestWalk holds the table of the create walk.
func TestWalk(t *testing.T) {
	fail := func(kind providers.Kind, times int) providertest.Fault {
		return providertest.Fault{Op: "CreatePod", Err: &providers.Error{Kind: kind, Op: "create pod", Message: string(kind)}, Times: times}
	}
	after := func(f providertest.Fault) providertest.Fault { f.After = true; return f }
	at := func(f providertest.Fault, gpu string) providertest.Fault { f.Arg = gpu; return f }
	tests := []struct {
		name    string
		faults  []providertest.Fault
		results []state.AttemptResult
		phase   state.Phase
		reason  state.Reason
		class   Class
		made    int // pods that were made in all
		message string
	}{
		{name: "both without capacity", faults: []providertest.Fault{fail(providers.Capacity, -1)},
			results: []state.AttemptResult{state.AttemptUnavailable, state.AttemptUnavailable}, phase: state.Failed, reason: state.NoCapacity, class: NothingRentable, message: "nothing could be placed: NVIDIA A40, NVIDIA L40S: "},
		{name: "first without capacity", faults: []providertest.Fault{fail(providers.Capacity, 1)},
			results: []state.AttemptResult{state.AttemptUnavailable, state.AttemptCreated}, phase: state.Succeeded, class: OK, made: 1},
		{name: "no credits", faults: []providertest.Fault{fail(providers.NoCredits, -1)},
			results: []state.AttemptResult{state.AttemptRejected}, phase: state.Failed, reason: state.NoCredits, class: Failure, message: "balance"},
		{name: "invalid", faults: []providertest.Fault{fail(providers.Invalid, -1)},
			results: []state.AttemptResult{state.AttemptRejected}, phase: state.Failed, reason: state.RequestRefused, class: Failure},
		{name: "unauthenticated", faults: []providertest.Fault{fail(providers.Unauthenticated, -1)},
			results: []state.AttemptResult{state.AttemptRejected}, phase: state.Failed, reason: state.RequestRefused, class: Failure},
		{name: "rate limited", faults: []providertest.Fault{fail(providers.RateLimited, -1)},
			results: []state.AttemptResult{state.AttemptRejected}, phase: state.Failed, reason: state.RequestRefused, class: Failure},
		{name: "all rejected", faults: []providertest.Fault{fail(providers.Rejected, -1)},
			results: []state.AttemptResult{state.AttemptRejected, state.AttemptRejected}, phase: state.Failed, reason: state.RequestRefused, class: Failure, message: "request itself"},
		{name: "forbidden, then capacity", faults: []providertest.Fault{at(fail(providers.Forbidden, 1), "NVIDIA A40"), at(fail(providers.Capacity, 1), "NVIDIA L40S")},
			results: []state.AttemptResult{state.AttemptForbidden, state.AttemptUnavailable}, phase: state.Failed, reason: state.NoCapacity, class: NothingRentable},
		{name: "unclear and made", faults: []providertest.Fault{after(fail(providers.Ambiguous, 1))},
			results: []state.AttemptResult{state.AttemptAdopted}, phase: state.Succeeded, class: OK, made: 1},
		{name: "unclear and made, not an error of the provider", faults: []providertest.Fault{after(fail(providers.Unknown, 1))},
			results: []state.AttemptResult{state.AttemptAdopted}, phase: state.Succeeded, class: OK, made: 1},
		{name: "unclear and not made", faults: []providertest.Fault{fail(providers.Ambiguous, 1)},
			results: []state.AttemptResult{state.AttemptAbsent, state.AttemptCreated}, phase: state.Succeeded, class: OK, made: 1},
		{name: "always unclear", faults: []providertest.Fault{fail(providers.Ambiguous, -1)},
			results: []state.AttemptResult{state.AttemptAbsent, state.AttemptAbsent, state.AttemptAbsent, state.AttemptAbsent}, phase: state.Failed, reason: state.Unanswered, class: Failure},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				for _, f := range tt.faults {
					w.mem.Fail(f)
				}
				out := w.apply(oneRun(spec()), Options{})
				run := w.run("run.train")
				if got := results(run); !equalResults(got, tt.results) {
					t.Errorf("results %v, want %v", got, tt.results)
				}
				if run.Phase != tt.phase || run.Reason != tt.reason || out.Class != tt.class {
					t.Errorf("%s %s class %d, want %s %s %d (%s)", run.Phase, run.Reason, out.Class, tt.phase, tt.reason, tt.class, run.Message)
				}
				if !strings.Contains(run.Message, tt.message) {
					t.Errorf("message %q lacks %q", run.Message, tt.message)
				}
				if n := len(w.mem.Creates()); n != tt.made {
					t.Errorf("%d pods were made, want %d", n, tt.made)
				}
				w.clean()
			})
		})
	}
}

func equalResults(a, b []state.AttemptResult) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func TestInterrupt(t *testing.T) {
	tests := []struct {
		name string
		at   time.Duration // after the start of apply
		goes bool          // the job goes on
	}{
		{"before anything", 0, false},
		{"while the pod boots", 12 * time.Second, false},
		{"while the job runs", 3 * time.Minute, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				go func() {
					time.Sleep(tt.at)
					w.interrupts <- struct{}{}
				}()
				if tt.at == 0 {
					time.Sleep(time.Nanosecond)
				}
				began := time.Now()
				out := w.apply(oneRun(spec()), Options{})
				if out.Class != Interrupt || !out.Interrupted {
					t.Errorf("class %d", out.Class)
				}
				if !tt.goes {
					w.clean()
					if run := w.run("run.train"); run != nil && (run.Phase != state.Failed || run.Reason != state.Interrupted) {
						t.Errorf("run %s %s", run.Phase, run.Reason)
					}
					return
				}
				if took := time.Since(began) - tt.at; took > 2*time.Second {
					t.Errorf("detaching took %s", took)
				}
				if len(w.mem.Pods()) != 1 || w.run("run.train").Phase != state.Running {
					t.Errorf("pods %v, run %+v", w.mem.Pods(), w.run("run.train"))
				}
				text := strings.Join(out.Messages, "\n")
				for _, want := range []string{w.mem.Pods()[0].ID, "$0.447", "max_hours = 6", "overbrainer run attach run.train"} {
					if !strings.Contains(text, want) {
						t.Errorf("message lacks %q: %s", want, text)
					}
				}
				out = w.apply(planOf(plan.Attach, map[string]*plan.RunSpec{"run.train": spec()}), Options{})
				if out.Class != OK || w.run("run.train").Phase != state.Succeeded || len(w.mem.Creates()) != 1 {
					t.Errorf("attach: %+v", out)
				}
				w.clean()
			})
		})
	}
}

// TestRunDirectoryThatCannotBeMade: the run has ended, nothing is being made
// ready, and the next apply begins another one.
func TestRunDirectoryThatCannotBeMade(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		runs := filepath.Join(w.dir, "runs")
		if err := os.RemoveAll(runs); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(runs, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		out := w.apply(oneRun(spec()), Options{})
		run := w.run("run.train")
		if out.Class == OK || !run.Phase.Ended() || run.Reason != state.LaunchFailed || !strings.Contains(run.Message, "directory cannot be made") || len(w.mem.Creates()) > 0 {
			t.Errorf("class %d, %s %s: %s", out.Class, run.Phase, run.Reason, run.Message)
		}
		if err := os.Remove(runs); err != nil {
			t.Fatal(err)
		}
		if out := w.apply(planOf(plan.Rerun, oneSpec()), Options{}); out.Class != OK {
			t.Errorf("%+v", out)
		}
		w.clean()
	})
}

// TestDetachIsQuick: who leaves a job at work is gone at once, told what it is
// that goes on, after an attach as well, and where nothing answers any more.
func TestDetachIsQuick(t *testing.T) {
	for _, away := range []bool{false, true} {
		t.Run(fmt.Sprintf("away %t", away), func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				w.job.length = 10 * time.Hour
				w.apply(oneRun(spec()), Options{Detach: true})
				began := time.Now()
				go func() {
					time.Sleep(3 * time.Minute)
					if away {
						w.mem.Fail(providertest.Fault{Op: "GetPod", Times: -1, Err: providertest.Error(providers.Transient, "read pod", "no answer")})
						p := w.pod(1)
						p.mu.Lock()
						p.offline = true
						p.mu.Unlock()
						time.Sleep(time.Minute)
					}
					began = time.Now()
					w.interrupts <- struct{}{}
				}()
				out, err := w.engine().Attach(t.Context(), "run.train", Options{})
				if took := time.Since(began); err != nil || out.Class != Interrupt || took > 2*time.Second {
					t.Errorf("%v, class %d after %s", err, out.Class, took)
				}
				text := strings.Join(out.Messages, "\n")
				pod, runs := w.mem.Pods()[0].ID, ") still runs on pod "
				if away { // a look every few seconds
					pod, runs = " ago, on pod "+pod, ") was running when last seen, 1m"
				}
				for _, want := range []string{pod, runs, "$0.447", "max_hours = 6", "overbrainer run attach run.train"} {
					if !strings.Contains(text, want) {
						t.Errorf("message lacks %q: %s", want, text)
					}
				}
				if run := w.run("run.train"); run.Phase != state.Running || len(w.mem.Pods()) != 1 || w.pod(1).marks["cancel"] != 0 {
					t.Errorf("run %s, %d pods", run.Phase, len(w.mem.Pods()))
				}
			})
		})
	}
}

func TestDetachAndAttach(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		out := w.apply(oneRun(spec()), Options{Detach: true})
		if out.Class != OK || !out.Runs[0].Detached {
			t.Fatalf("%+v", out)
		}
		att, err := w.engine().Attach(t.Context(), "run.train", Options{})
		if err != nil || att.Class != OK {
			t.Fatalf("attach: %v %+v", err, att)
		}
		if w.pod(1).marks["launch"] != 1 || len(w.mem.Creates()) != 1 {
			t.Error("started twice")
		}
		w.clean()
	})
}

func TestSecondInterruptLeavesAtOnce(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		release := make(chan struct{})
		w.mem.Fail(providertest.Fault{Op: "CreatePod", Do: func() { <-release }})
		go func() {
			time.Sleep(3 * time.Second)
			w.interrupts <- struct{}{}
			time.Sleep(time.Second / 2)
			w.interrupts <- struct{}{}
		}()
		began := time.Now()
		out := w.apply(oneRun(spec()), Options{})
		if out.Class != Interrupt || time.Since(began) > 5*time.Second {
			t.Errorf("class %d after %s", out.Class, time.Since(began))
		}
		if said := strings.Join(out.Messages, " "); !strings.Contains(said, "$0.44") || !strings.Contains(said, "may exist") || !strings.Contains(said, "overbrainer destroy") {
			t.Errorf("it says %q of what may bill", said)
		}
		if a := w.run("run.train").Attempts; len(a) != 1 || a[0].Result != state.AttemptSent {
			t.Errorf("attempts %+v", a)
		}
		w.dead[w.pid] = true
		close(release)
		time.Sleep(time.Minute) // what was left behind finishes, as a child would
	})
}

// TestInterruptedDestroy: what is in flight is finished and no more begun; what is left
// is named with what it bills.
func TestInterruptedDestroy(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		specs := map[string]*plan.RunSpec{}
		for i := range 4 {
			specs[fmt.Sprintf("run.x[%d]", i)] = spec()
		}
		w.job.hang = true
		w.apply(planOf(plan.Run, specs), Options{Detach: true})
		w.mem.Fail(providertest.Fault{Op: "DeletePod", Times: 1, Do: func() { w.interrupts <- struct{}{}; time.Sleep(time.Second) }})
		e := w.engine()
		e.Parallelism = 1
		out, err := e.Destroy(t.Context(), nil, DestroyOptions{})
		if err != nil || out.Class != Interrupt {
			t.Fatalf("%v %+v", err, out)
		}
		pods := 0
		for _, l := range out.Left {
			if l.Kind == "pod" && l.RateUSD > 0 && l.Fix == "overbrainer destroy" {
				pods++
			}
		}
		if said := strings.Join(out.Messages, " "); pods != 3 || !strings.Contains(said, "overbrainer destroy goes on") {
			t.Errorf("%d pods are left: %+v %q", pods, out.Left, out.Messages)
		}
		if out, err := w.engine().Destroy(t.Context(), nil, DestroyOptions{}); err != nil || out.Class != OK {
			t.Errorf("%v %+v", err, out)
		}
		w.clean()
	})
}

func TestDestroy(t *testing.T) {
	t.Run("a running job", func(t *testing.T) {
		in(t, func(t *testing.T, w *world) {
			w.apply(oneRun(spec()), Options{Detach: true})
			out, err := w.engine().Destroy(t.Context(), nil, DestroyOptions{})
			if err != nil || out.Class != OK {
				t.Fatalf("%v %+v", err, out)
			}
			if len(out.Messages) != 1 || !strings.HasPrefix(out.Messages[0], "1 run is removed, which had cost about $0.0") {
				t.Errorf("%q", out.Messages)
			}
			w.clean()
			if st, _ := w.store.Read(t.Context()); len(st.Resources) != 0 {
				t.Errorf("resources left: %v", st.Resources)
			}
		})
	})
	t.Run("an ended job is collected first", func(t *testing.T) {
		in(t, func(t *testing.T, w *world) {
			w.apply(oneRun(spec()), Options{Detach: true})
			dir := w.run("run.train").Dir
			time.Sleep(time.Hour)
			out, err := w.engine().Destroy(t.Context(), nil, DestroyOptions{})
			if err != nil || out.Class != OK {
				t.Fatalf("%v %+v", err, out)
			}
			if _, err := os.Stat(filepath.Join(w.dir, dir, "output", "model.bin")); err != nil {
				t.Error(err)
			}
			w.clean()
		})
	})
	t.Run("without the key of a run the way out is named", func(t *testing.T) {
		in(t, func(t *testing.T, w *world) {
			w.apply(oneRun(spec()), Options{Detach: true})
			run := w.run("run.train")
			if KeyLost(w.dir, run, "ann@here") {
				t.Error("its key is there")
			}
			_ = os.RemoveAll(filepath.Join(w.dir, run.Dir))
			if !KeyLost(w.dir, run, "ann@here") || KeyLost(w.dir, run, "bob@there") {
				t.Error("who made the key has lost it, and nobody else")
			}
			const way = "overbrainer destroy -discard-results -target=run.train"
			out, err := w.engine().Destroy(t.Context(), nil, DestroyOptions{})
			var e *Error
			if err != nil || len(out.Errors) != 1 || !errors.As(out.Errors[0], &e) || !strings.HasPrefix(e.Hint, way) || !strings.Contains(e.Message, "it was made on this machine, in "+run.Dir) {
				t.Fatalf("%v %+v", err, out)
			}
			if len(out.Left) == 0 || out.Left[0].Fix != way {
				t.Errorf("left: %+v", out.Left)
			}
			attached, err := w.engine().Attach(t.Context(), "run.train", Options{})
			var same *Error
			if err != nil || !errors.As(attached.Runs[0].Err, &same) || same.Hint != e.Hint || same.Message != e.Message {
				t.Errorf("attach says %+v, destroy %+v", same, e)
			}
			for _, test := range []struct{ source, holder, begins string }{
				{"derived", "bob@there", "set OVERBRAINER_KEY to the value that the run was started with by bob@there; " + way},
				{"file", "bob@there", "go on there; " + way},
				{"file", "ann@here", "unset OVERBRAINER_KEY; " + way},
			} {
				other := &state.Run{KeySource: test.source, Holder: test.holder}
				if hint := WithoutKey("run.train", other, "ann@here", ErrOtherKey); !strings.HasPrefix(hint, test.begins) {
					t.Errorf("%q does not begin with %q", hint, test.begins)
				}
			}
			if words := WhoHasKey(run, "bob@there"); words != "ann@here holds it" {
				t.Errorf("elsewhere: %s", words)
			}
			out, err = w.engine().Destroy(t.Context(), nil, DestroyOptions{DiscardResults: true, Targets: []string{"run.train"}})
			if err != nil || out.Class != OK {
				t.Fatalf("%v %+v", err, out)
			}
			w.clean()
		})
	})
	t.Run("a pod that cannot be deleted stays known", func(t *testing.T) {
		in(t, func(t *testing.T, w *world) {
			w.apply(oneRun(spec()), Options{Detach: true})
			w.mem.Fail(providertest.Fault{Op: "DeletePod", Err: providertest.Error(providers.Transient, "delete pod", "no answer"), Times: 20})
			out, err := w.engine().Destroy(t.Context(), nil, DestroyOptions{})
			if err != nil || out.Class != Failure || len(out.Left) == 0 || out.Left[0].RateUSD <= 0.44 {
				t.Fatalf("%v %+v", err, out)
			}
			if run := w.run("run.train"); run == nil || run.Pod.State != state.PodDeleting || len(run.Secrets) != 1 {
				t.Fatalf("run: %+v", run)
			}
			out, err = w.engine().Destroy(t.Context(), nil, DestroyOptions{})
			for range 5 { // the fault wears off
				if err == nil && out.Class == OK {
					break
				}
				out, err = w.engine().Destroy(t.Context(), nil, DestroyOptions{})
			}
			if err != nil || out.Class != OK {
				t.Fatalf("%v %+v", err, out)
			}
			w.clean()
		})
	})
}
