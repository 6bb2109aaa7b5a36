package apply

import (
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/state"
)

// What another process works on is told as the state has it, not as if there were
// nothing of it.
func TestHeldRunIsToldByTheState(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.job.hang = true
		w.apply(oneRun(spec()), Options{Detach: true})
		_, err := w.store.Update(t.Context(), func(st *state.State) error {
			_, _, err := st.Claim([]string{"run.train"}, "attach", state.ClaimHolder{Who: "bob", Host: "there", PID: 1}, time.Now())
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		out := w.apply(planOf(plan.Attach, map[string]*plan.RunSpec{"run.train": spec()}), Options{})
		run := w.run("run.train")
		if out.Class != Held || len(out.Runs) != 1 {
			t.Fatalf("%+v", out)
		}
		got := out.Runs[0]
		if CodeOf(got.Err) != "held" || got.RunID != run.ID || got.PodID != run.Pod.ID || got.State != string(state.Running) || got.CostUSD < 0.01 || got.Seconds < 120 {
			t.Errorf("%+v", got)
		}
	})
}
