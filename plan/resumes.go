package plan

import (
	"fmt"

	"github.com/overbrainer/overbrainer/config"
	"github.com/overbrainer/overbrainer/state"
)

// resumeFrom is where a run with resume_from starts. What a source that runs in
// this plan will leave is found when the run begins.
func (b *builder) resumeFrom(run *config.Run) *ResumeSpec {
	from := b.currentRun(run.ResumeFrom)
	if has(run.Late, "resume_from") || from == nil || !from.Phase.Ended() || from.Checkpoint() == nil {
		return &ResumeSpec{Run: run.ResumeFrom}
	}
	return ResumeAt(run.ResumeFrom, from.Checkpoint())
}

// checkResumes looks at the runs that this plan starts from another one's
// snapshot: that one left none, or may leave none.
func (b *builder) checkResumes() {
	if b.in.Config == nil {
		return
	}
	configured := map[string]*config.Run{}
	for _, run := range b.in.Config.Runs {
		configured[run.Address] = run
	}
	for _, step := range b.p.Steps {
		run := configured[step.Address]
		if run == nil || run.ResumeFrom == "" || step.Action != Run && step.Action != Rerun {
			continue
		}
		where := b.attrRange(run.AttrRanges, "resume_from", run.Range)
		if to := step.Run.ResumeFrom; to.Dir != "" {
			if problem := b.checkpointProblem(to.Checkpoint()); problem != "" {
				b.errorAt(where, fmt.Sprintf("the snapshot of step %d of %s cannot be used", to.Step, run.ResumeFrom),
					fmt.Sprintf("It was left by run %s: %s. Put it back, give %s another one with -replace=%s, or leave %s out with -target.", to.RunID, problem, run.ResumeFrom, run.ResumeFrom, ShellWord(run.Address)))
			}
			continue
		}
		const leaves = "A run leaves a snapshot when it has a snapshot block and is asked to stop (overbrainer run stop), one that fails the newest of its checkpoints that is whole, and one that succeeds the newest that snapshot { every = ... } brought."
		from, source := b.currentRun(run.ResumeFrom), configured[run.ResumeFrom]
		switch {
		case !has(run.Late, "resume_from") && from != nil:
			doubt := ""
			if c := from.Doubtful(); c != nil {
				doubt = fmt.Sprintf(" Its newest checkpoint, of step %d, is not known to be whole; if it is: overbrainer run accept %s.", c.Step, ShellWord(run.ResumeFrom))
			}
			b.errorAt(where, run.ResumeFrom+" left no snapshot to resume from",
				fmt.Sprintf("Run %s %s.%s %s Give it one and run it again with -replace=%s, or leave %s out with -target.", from.ID, outcome(from), doubt, leaves, run.ResumeFrom, ShellWord(run.Address)))
		case source != nil && (source.Snapshot == nil || source.Snapshot.Every == 0) && (from == nil || from.Checkpoint() == nil):
			b.warnAt(where, run.ResumeFrom+" may leave no snapshot to resume from",
				fmt.Sprintf("It has none that comes home while it runs, and %s needs one. %s", run.Address, leaves))
		}
	}
}

// ResumeAt is a start from a checkpoint of the address.
func ResumeAt(addr string, c *state.Checkpoint) *ResumeSpec {
	return &ResumeSpec{Run: addr, RunID: c.RunID, Dir: c.Dir, Step: c.Step, At: c.At, SHA256: c.SHA256}
}

// Checkpoint is what the specification names.
func (r *ResumeSpec) Checkpoint() *state.Checkpoint {
	return &state.Checkpoint{RunID: r.RunID, Dir: r.Dir, Step: r.Step, At: r.At, SHA256: r.SHA256}
}
