package apply

import (
	"fmt"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/state"
)

// ended lets so many runs end, and gives their specifications.
func (w *world) ended(n int) map[string]*plan.RunSpec {
	w.t.Helper()
	specs := map[string]*plan.RunSpec{}
	for i := range n {
		specs[fmt.Sprintf("run.r[\"%02d\"]", i)] = spec()
	}
	if out := w.apply(planOf(plan.Run, specs), Options{}); out.Class != OK {
		w.t.Fatalf("%+v", out)
	}
	return specs
}

func (w *world) serial() uint64 {
	w.t.Helper()
	st, err := w.store.Read(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return st.Serial
}

// TestNothingToDoIsOneWrite: a state of thousands of runs is written once where
// nothing is done.
func TestNothingToDoIsOneWrite(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		specs := w.ended(3)
		before := w.serial()
		if out := w.apply(w.replan(specs), Options{}); out.Class != OK || w.serial() != before+1 {
			t.Errorf("%d writes, %+v", w.serial()-before, out)
		}
	})
}

// TestDestroyOfNothingIsOneWrite: runs of which nothing exists leave the state
// together, but for those that somebody works on. Another write is the one before
// anything is touched.
func TestDestroyOfNothingIsTwoWrites(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		specs := w.ended(20)
		const held = `run.r["07"]`
		w.store.now.Claims = map[string]state.Claim{held: {ID: "c", Operation: "apply", Who: "bob", Host: "there", Expires: time.Now().Add(time.Hour)}}
		w.events = nil
		before := w.serial()
		out, err := w.engine().Destroy(t.Context(), planOf(plan.Forget, specs), DestroyOptions{})
		if err != nil || out.Class != Held {
			t.Errorf("%v, %+v", err, out)
		}
		if w.serial() != before+2 || len(w.store.now.Resources) != 1 || w.store.now.Resources[held] == nil {
			t.Errorf("%d writes, left %v", w.serial()-before, sortedKeys(w.store.now.Resources))
		}
		gone := 0
		for _, e := range w.events {
			if e.Kind == EventRemoved {
				gone++
			}
		}
		if gone != 19 {
			t.Errorf("%d addresses were told", gone)
		}
	})
}

// TestAfterNothingToDo: what comes after a step without anything to do goes on.
func TestAfterNothingToDo(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		specs := w.ended(2)
		p := w.replan(specs)
		p.Steps[1].Action, p.Steps[1].DependsOn = plan.Rerun, []string{p.Steps[0].Address}
		if out := w.apply(p, Options{}); out.Class != OK || len(out.Runs) != 1 {
			t.Errorf("%+v", out)
		}
	})
}
