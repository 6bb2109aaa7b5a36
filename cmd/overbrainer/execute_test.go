package main

import (
	"testing"

	"github.com/overbrainer/overbrainer/plan"
)

// TestRunsOfAPlan: those to be followed and those to be removed, without volumes and
// what stays as it is.
func TestRunsOfAPlan(t *testing.T) {
	pl := &plan.Plan{}
	for _, action := range []plan.Action{plan.Run, plan.Rerun, plan.Resume, plan.Attach, plan.Collect, plan.Destroy, plan.Forget, plan.NoOp} {
		pl.Steps = append(pl.Steps, &plan.Step{Type: "run", Action: action})
	}
	pl.Steps = append(pl.Steps, &plan.Step{Type: "volume", Action: plan.Destroy})
	if followed, removed := runsOf(pl); followed != 5 || removed != 2 {
		t.Errorf("%d followed, %d removed", followed, removed)
	}
	if followed, removed := runsOf(nil); followed+removed != 0 {
		t.Errorf("%d and %d without a plan", followed, removed)
	}
}
