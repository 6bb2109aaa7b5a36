package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/state"
)

// stateRemoved is what is said of the state of a run that left it, and of whose end
// nothing is written down here.
const stateRemoved = "removed"

// removed is the outcome of a run that another process took out of the state while
// this one followed it. What that process wrote down of its end counts; what it did
// not is unknown.
func (r *runner) removed() RunOutcome {
	r.closeMachine()
	r.stopLogs()
	pod := r.podAfter()
	run, known := r.lastRecord()
	r.load(run)
	out := r.outcome()
	if !known {
		out.State, out.Reason, out.Tail = stateRemoved, "", nil
		out.CostUSD, out.Seconds, out.Unknown, out.Forgotten = 0, 0, true, true
		why := failf("removed", "another process removed the run from the state; how it ended and what it cost is not known here%s", pod).at(r.address).id(run.ID)
		out.Message, out.Err, out.Class = why.Message, why, why.Class
	} else if pod != "" {
		out.Message += pod
		out.Unknown = true
	}
	r.ended(out)
	return out
}

// lastRecord is the run as it was written down at its end, if it was here: with the
// project's files on another machine nothing was, and known is false. Its pod is not
// in it: nothing is reckoned on.
func (r *runner) lastRecord() (run *state.Run, known bool) {
	run = r.run.Copy()
	run.Pod, run.Strays, run.Attempts = nil, nil, nil
	var last resultFile
	data, err := os.ReadFile(filepath.Join(r.dir(), "run.json"))
	if err != nil || json.Unmarshal(data, &last) != nil || last.RunID != run.ID || !last.State.Ended() {
		run.CostUSD = 0
		return run, false
	}
	run.Phase, run.Reason, run.Message, run.ExitCode = last.State, last.Reason, last.Message, last.ExitCode
	run.StartedAt, run.EndedAt, run.CostUSD, run.CostBasis = last.StartedAt, last.EndedAt, last.CostUSD, last.CostBasis
	run.PodID, run.GPUType, run.Retrieved = last.PodID, last.GPUType, last.Retrieved
	return run, true
}

// podAfter says what is known of the pod of a run that has left the state, "" where
// it is gone: an entry that was removed by force leaves its pod behind.
func (r *runner) podAfter() string {
	pod := r.run.Pod
	if pod == nil || pod.Gone() {
		return ""
	}
	ctx, cancel := context.WithTimeout(r.s.steady(), r.t.Call)
	defer cancel()
	_, err := r.rented.Provider.GetPod(ctx, pod.ID)
	switch {
	case providers.Is(err, providers.NotFound):
		return ""
	case err != nil:
		return fmt.Sprintf("; whether its pod %s is gone cannot be told: %s", pod.ID, reasonOf(err))
	}
	return fmt.Sprintf("; its pod %s is still there, %s: overbrainer pod rm %s -force ends it", pod.ID, podHour(pod), r.run.ID)
}
