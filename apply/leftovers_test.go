package apply

import (
	"testing"

	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/state"
)

// A run that holds nothing any more leaves the state with a destroy, too: its
// plan only forgets it.
func TestDestroyForgets(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.apply(planOf(plan.Run, map[string]*plan.RunSpec{"run.a": spec(), "run.b": spec()}), Options{})
		p := &plan.Plan{Steps: []*plan.Step{
			{Address: "run.a", Type: "run", Action: plan.Forget}, {Address: "run.b", Type: "run", Action: plan.Destroy},
		}}
		if out, err := w.engine().Destroy(t.Context(), p, DestroyOptions{}); err != nil || out.Class != OK {
			t.Fatalf("%v %+v", err, out)
		}
		if st, _ := w.store.Read(t.Context()); len(st.Resources) != 0 {
			t.Errorf("left in the state: %v", st.Addresses())
		}
		done := map[string]int{}
		for _, e := range w.events {
			if e.Kind == EventRemoved && e.Phase == "done" {
				done[e.Address]++
			}
		}
		if len(done) != 2 || done["run.a"] != 1 || done["run.b"] != 1 {
			t.Errorf("told as done: %v", done)
		}
	})
}

// A command removes the claims of processes that died, also on addresses that
// it does not touch.
func TestStaleClaimsAreRemoved(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.apply(oneRun(spec()), Options{})
		dead, alive := w.engine().Who, w.engine().Who
		_, err := w.store.Update(t.Context(), func(st *state.State) error {
			_, _, err := st.Claim([]string{"run.old"}, "apply", dead, w.engine().Now())
			if err == nil {
				_, _, err = st.Claim([]string{"run.busy"}, "apply", alive, w.engine().Now())
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		w.dead[dead.PID] = true
		w.apply(&plan.Plan{}, Options{})
		st, _ := w.store.Read(t.Context())
		if _, busy := st.Claims["run.busy"]; !busy || len(st.Claims) != 1 {
			t.Errorf("claims: %v", st.Claims)
		}
	})
}

// What another process is about to delete is its own to tell.
func TestLeftoversOfOthers(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.apply(oneRun(spec()), Options{})
		other := w.engine().Who
		_, err := w.store.Update(t.Context(), func(st *state.State) error {
			run := st.Resources["run.train"].Run.CurrentRun()
			run.Pod.State = state.PodDeleting
			_, _, err := st.Claim([]string{"run.train"}, "apply", other, w.engine().Now())
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if out := w.apply(&plan.Plan{}, Options{}); len(out.Left) != 0 {
			t.Errorf("left: %+v", out.Left)
		}
	})
}
