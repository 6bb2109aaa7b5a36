package plan

import (
	"strings"
	"testing"

	"github.com/overbrainer/overbrainer/state"
)

// What a run left is known to the others exactly when the plan does not run it
// again, and that hangs on its lifecycle, too.
func TestResultsAreKnownWhereALifecycleHoldsTheRun(t *testing.T) {
	for _, test := range []struct {
		rerun string
		held  bool
	}{{"on_failure", false}, {"on_change", true}, {"manual", true}} {
		text := strings.Replace(base, `run "train" {`, `run "train" {
  lifecycle { rerun = "`+test.rerun+`" }`, 1) + `
run "after" {
  target  = target.gpu
  cap     = cap.small
  command = ["python", "train.py", run.train.cost_usd]
  outputs = ["output/**"]
}
`
		p := newProject(t, text)
		p.did("run.train", func(r *state.Run) { r.Phase, r.Reason = state.Failed, state.NoOutputs })
		plan := p.plan()
		first, after := one(t, plan, "run.train"), one(t, plan, "run.after")
		if got := first.Action == Hold; got != test.held {
			t.Errorf("%s: %s, %s", test.rerun, first.Action, first.Reason)
		}
		if most := first.Cost.MaxUSD; most == nil || (*most == 0) != test.held {
			t.Errorf("%s: at most %v", test.rerun, most)
		}
		if known := after.Run.Fingerprint != ""; known != test.held {
			t.Errorf("%s: what the run left is known: %v", test.rerun, known)
		}
	}
}
