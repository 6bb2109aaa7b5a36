package apply

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/overbrainer/overbrainer/state"
)

// saved is the checkpoint that a job left which did not end as it should. It
// comes home whatever the outputs say: its pod is deleted after that.
type saved struct {
	snapshot state.Snapshot
	// whole: the job said that it had saved itself, so a run may start from it.
	whole bool
}

// lookForSaved gives what a job that did not end well saved last, nil if there is
// nothing or it cannot be told. Of one that was cancelled nobody wants it.
func (r *runner) lookForSaved(ctx context.Context, e ending) *saved {
	pattern := r.run.Job.SnapshotPath
	switch {
	case pattern == "" || e.snapshot != nil || e.phase == state.Succeeded || e.phase == state.Cancelled:
		return nil
	case e.proof != nil:
		return &saved{snapshot: *e.proof, whole: true}
	}
	ctx, cancel := context.WithTimeout(ctx, 2*r.t.Call)
	defer cancel()
	disk, err := r.machine.Disk(ctx, pattern, "")
	if err != nil || disk.CheckpointStep < 0 {
		return nil
	}
	step := strconv.FormatInt(disk.CheckpointStep, 10)
	return &saved{
		snapshot: state.Snapshot{Path: strings.ReplaceAll(pattern, "{step}", step), Step: disk.CheckpointStep, Reason: "newest"},
		whole:    e.reason == state.InvalidSnapshot,
	}
}

// note writes down a checkpoint that came home among files.
func (s *saved) note(r *runner, run *state.Run, files []File) {
	snap := s.snapshot
	where := run.Dir + "/" + snap.Path
	run.Message += fmt.Sprintf("; its newest checkpoint, of step %d, is in %s", snap.Step, where)
	if have := run.Snapshot; !s.whole || have != nil && have.Local && have.Step >= snap.Step {
		return
	}
	snap.Local, snap.SHA256 = true, checkpointSum(checkpointOf(files, snap.Path))
	if snap.At.IsZero() {
		snap.At = r.now()
		if run.EndedAt != nil {
			snap.At = *run.EndedAt
		}
	}
	run.Snapshot = &snap
}
