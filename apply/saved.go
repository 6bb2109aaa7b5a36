package apply

import (
	"context"
	"fmt"

	"github.com/overbrainer/overbrainer/state"
)

// saved is the newest checkpoint that a job left which did not end as it should.
// It comes home whatever the outputs say: its pod is deleted after that.
type saved struct {
	snapshot state.Snapshot
	// whole: the job said that it had saved itself, or ended with 0, so a run may
	// start from it.
	whole bool
	// before is the one before it, which is known to be whole; nil: there is none,
	// or what is here is newer.
	before *Checkpoint
	sure   *state.Snapshot // before, here
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
	list, err := r.machine.Checkpoints(ctx, pattern)
	n := len(list)
	if err != nil || n == 0 {
		return nil
	}
	s := &saved{
		snapshot: state.Snapshot{Path: list[n-1].Path, Step: list[n-1].Step, Reason: "newest"},
		whole:    e.exit != nil && *e.exit == 0,
	}
	if have := r.run.Snapshot; n > 1 && !s.whole && list[n-2] != r.taken && (have == nil || have.Step <= list[n-2].Step) {
		s.before = &list[n-2]
	}
	return s
}

// settleSaved fetches the checkpoint before the newest, after everything else is
// here.
func (r *runner) settleSaved(got collected) {
	s := got.saved
	if s == nil {
		return
	}
	if err := removeStrangers(r.dir(), s.snapshot.Path, got.files); err != nil {
		r.warnf("files that are no longer in %s on the pod stay here: %v", s.snapshot.Path, err)
	}
	if s.before == nil || r.machine == nil {
		return
	}
	ctx, cancel := r.s.breakable()
	defer cancel()
	sure, err := bring(ctx, r.machine, r.dir(), r.run.Job.SnapshotPath, *s.before, s.before.Files, r.now())
	if err != nil {
		r.warnf("the checkpoint before the newest, which is whole, did not come home: %v", err)
		return
	}
	sure.Reason = "newest"
	s.sure = &sure
}

// note writes down a checkpoint that came home among files, and the one before.
func (s *saved) note(r *runner, run *state.Run, files []File) {
	at := r.now()
	if run.EndedAt != nil {
		at = *run.EndedAt
	}
	if s.sure != nil {
		s.sure.At = at
		noteCheckpoint(run, *s.sure, true)
	}
	snap := s.snapshot
	snap.Local, snap.SHA256 = true, checkpointSum(checkpointOf(files, snap.Path))
	if snap.At.IsZero() {
		snap.At = at
	}
	noteCheckpoint(run, snap, s.whole)
	run.Message += fmt.Sprintf("; its newest checkpoint, of step %d, is in %s", snap.Step, run.Dir+"/"+snap.Path)
	if run.Doubtful() != nil {
		run.Message += ", and not known to be whole"
		if run.Snapshot != nil {
			run.Message += fmt.Sprintf(", as that of step %d is", run.Snapshot.Step)
		}
	}
}
