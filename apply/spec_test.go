package apply

import (
	"strings"
	"testing"

	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/state"
)

// Who has no checkpoint to start from is told which run left none, and what
// makes it leave one.
func TestNoCheckpointNamesTheRun(t *testing.T) {
	from := &plan.ResumeSpec{Run: "run.sft"}
	for want, run := range map[string]*state.Run{
		"run.sft, is not in the state": nil,
		"run r1 of run.sft, which is succeeded, left no checkpoint to resume from (it leaves one when overbrainer run stop": {ID: "r1", Phase: state.Succeeded},
		"step 7 of run r1, to resume from, is not here (it belongs into runs/r1/output/checkpoint-7)":                       {ID: "r1", Dir: "runs/r1", Snapshot: &state.Snapshot{Path: "output/checkpoint-7", Step: 7}},
	} {
		if got := noCheckpoint(from, run).Error(); !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
}
