package apply

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/providers/providertest"
	"github.com/overbrainer/overbrainer/state"
)

// sharing gives runs of one cap whose total pays one of them, and a bit.
func sharing(names ...string) map[string]*plan.RunSpec {
	specs := map[string]*plan.RunSpec{}
	for _, name := range names {
		s := spec()
		s.Cap.MaxHours, s.Cap.RetrieveGraceS, s.Cap.MaxTotalUSD = 2, 0, 1.05 // one may cost $0.89
		specs["run."+name] = s
	}
	return specs
}

// waits counts how often it is said that somebody waits for money.
func (w *world) waits() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.events {
		if e.Kind == EventWaiting && strings.HasPrefix(e.Message, "waiting for what others give back to cap.small") {
			n++
		}
	}
	return n
}

// most is how many pods were there at a time.
func (w *world) most() (most int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, e := range w.events {
		switch e.Kind {
		case EventCreated:
			n++
		case EventDeleted:
			n--
		}
		most = max(most, n)
	}
	return most
}

// Runs that share a budget which pays one of them at its worst go one after another:
// what each reserved comes back when it ends. That is said once by each that waits.
func TestARunWaitsForWhatOthersGiveBack(t *testing.T) {
	for _, parallel := range []int{1, 2, 10} {
		in(t, func(t *testing.T, w *world) {
			w.parallel = parallel
			out := w.apply(planOf(plan.Run, sharing("a", "b", "c", "d")), Options{})
			if out.Class != OK || len(w.mem.Creates()) != 4 || w.most() != 1 {
				t.Errorf("%d at once: class %d, %d creates, %d pods at a time", parallel, out.Class, len(w.mem.Creates()), w.most())
			}
			if n := w.waits(); n != map[int]int{1: 0, 2: 3, 10: 3}[parallel] {
				t.Errorf("%d at once: said %d times", parallel, n)
			}
			if parallel > 1 && !w.said(EventWaiting, "of max_total_usd = 1.05 (overbrainer.hcl:10) $0.15 is left and this run may cost $0.90; $0.90 is set aside for run.") {
				t.Errorf("%+v", w.events)
			}
			st, _ := w.store.Read(t.Context())
			if s := st.Spending("cap.small", ""); s.ReservedUSD != 0 || s.SpentUSD > 0.5 {
				t.Errorf("spending %+v", s)
			}
			w.clean()
		})
	}
}

// Who waits for money leaves its place to one that need not.
func TestWaitingForMoneyTakesNoSlot(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.job.length = 30 * time.Minute
		w.parallel = 1
		w.apply(planOf(plan.Run, sharing("a")), Options{Detach: true})
		specs := sharing("a", "b", "c", "d")
		specs["run.other"] = spec()
		specs["run.other"].Cap.Address = "cap.other"
		p := planOf(plan.Run, specs)
		p.Steps[0].Action = plan.Attach
		out := w.apply(p, Options{})
		a, other := w.run("run.a"), w.run("run.other")
		if out.Class != OK || other == nil || !other.StartedAt.Before(*a.EndedAt) {
			t.Errorf("class %d, %+v after %+v", out.Class, other, a)
		}
		w.clean()
	})
}

// What will not come back is not waited for, and what did not come back when its run
// ended is waited for no longer.
func TestWhoGivesNothingBackIsNotWaitedFor(t *testing.T) {
	tests := map[string]struct {
		arrange func(w *world, p *plan.Plan) *plan.Plan
		detach  bool
		waits   int
		created int
		reason  string
	}{
		"it was left by an earlier command": {arrange: func(w *world, p *plan.Plan) *plan.Plan {
			w.apply(planOf(plan.Run, sharing("a")), Options{Detach: true})
			return planOf(plan.Run, sharing("b"))
		}, created: 1, reason: "reserved for other runs"},
		"it is another process's": {arrange: func(w *world, p *plan.Plan) *plan.Plan {
			w.apply(planOf(plan.Run, sharing("a")), Options{Detach: true})
			_, _ = w.store.Update(w.t.Context(), func(st *state.State) error {
				_, _, err := st.Claim([]string{"run.a"}, "apply", state.ClaimHolder{Who: "bob", Host: "there", PID: 1}, time.Now())
				return err
			})
			p.Steps[0].Action = plan.Attach
			return p
		}, created: 1, reason: "reserved for other runs"},
		"it is left with its job": {detach: true, waits: 1, created: 1, reason: "reserved for other runs"},
		"its pod is kept": {arrange: func(_ *world, p *plan.Plan) *plan.Plan {
			p.Steps[0].Run.KeepPodS, p.Steps[1].Run.KeepPodS = 60, 60
			return p
		}, created: 1, reason: "reserved for other runs"},
		"its pod cannot be deleted": {arrange: func(w *world, p *plan.Plan) *plan.Plan {
			w.mem.Fail(providertest.Fault{Op: "DeletePod", Times: 1000, Err: providertest.Error(providers.Forbidden, "delete pod", "no")})
			return p
		}, waits: 1, created: 1, reason: "reserved for other runs"},
		"what is spent for good leaves too little": {arrange: func(w *world, p *plan.Plan) *plan.Plan {
			_, _ = w.store.Update(w.t.Context(), func(st *state.State) error {
				st.Spend["cap.small"] = state.Spend{USD: 0.9, Runs: 3}
				return nil
			})
			return p
		}, reason: "$0.90 is spent and"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				// b comes second: a's pod is asked for when b looks.
				p := planOf(plan.Run, sharing("a", "b"))
				if tt.arrange != nil {
					p = tt.arrange(w, p)
				}
				out := w.apply(p, Options{Detach: tt.detach})
				poor := 0
				for _, r := range out.Runs {
					if CodeOf(r.Err) == "budget" && strings.Contains(r.Err.Error(), tt.reason) {
						poor++
					}
				}
				if out.Class != Failure && out.Class != Held || poor < 1 || len(w.mem.Creates()) != tt.created || w.waits() != tt.waits {
					t.Errorf("class %d, %d creates, said %d times, %+v", out.Class, len(w.mem.Creates()), w.waits(), out.Runs)
				}
			})
		})
	}
}

// An interrupt ends the wait at once, and nothing is left of a run that waited.
func TestWaitingForMoneyIsInterrupted(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.job.hang = true
		time.AfterFunc(5*time.Minute, func() { w.interrupts <- struct{}{} })
		out := w.apply(planOf(plan.Run, sharing("a", "b", "c")), Options{})
		if out.Class != Interrupt || len(w.mem.Creates()) != 1 || w.waits() != 2 {
			t.Errorf("class %d, %d creates, said %d times", out.Class, len(w.mem.Creates()), w.waits())
		}
		st, _ := w.store.Read(t.Context())
		if len(st.Resources) != 1 {
			t.Errorf("%d addresses in the state", len(st.Resources))
		}
		// Those that wait have not failed: they were not begun.
		if len(out.Runs) != 1 || len(out.Skipped) != 2 || out.Skipped[0].Because != TheInterrupt || w.said(EventFailed, "") || errInterrupted.Address != "" {
			t.Errorf("%+v, skipped %+v", out.Runs, out.Skipped)
		}
	})
}

// TestInterruptedReplace: what was to run again without a change and was not begun is
// named, since no plan begins it by itself.
func TestInterruptedReplace(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		if out := w.apply(planOf(plan.Run, sharing("a", "b")), Options{}); out.Class != OK {
			t.Fatalf("%+v", out)
		}
		w.job.hang = true
		time.AfterFunc(5*time.Minute, func() { w.interrupts <- struct{}{} })
		out := w.apply(planOf(plan.Rerun, sharing("a", "b")), Options{})
		if said := strings.Join(out.Messages, " "); out.Class != Interrupt || len(out.Skipped) != 1 ||
			!strings.Contains(said, "not run again before the interrupt: "+out.Skipped[0].Address+"; nothing of them has changed, so only -replace=ADDRESS asks for that again") {
			t.Errorf("skipped %+v: %q", out.Skipped, said)
		}
	})
}

// A second attempt is dearer than what the first one left of its reservation. Those
// that wait hold something each, and do not wait for each other.
func TestDearerAttemptsDoNotWaitForEachOther(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		specs := sharing("a", "b", "c")
		for _, s := range specs {
			s.Cap.MaxHours, s.Cap.MaxTotalUSD = 1, 1.35 // three times the cheap one, or one dear one
		}
		for range specs {
			w.mem.Fail(providertest.Fault{Op: "CreatePod", Arg: "NVIDIA A40", Err: providertest.Error(providers.Capacity, "create pod", "none")})
		}
		out := w.apply(planOf(plan.Run, specs), Options{})
		st, _ := w.store.Read(t.Context())
		s := st.Spending("cap.small", "")
		var ends []string
		for _, r := range out.Runs {
			ends = append(ends, fmt.Sprint(r.State, r.Reason, r.Err))
		}
		if s.ReservedUSD != 0 || w.most() != 1 || out.Runs[0].State == "" {
			t.Errorf("%d pods at a time, %+v, %q", w.most(), s, ends)
		}
		w.clean()
	})
}
