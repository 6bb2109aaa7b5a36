package plan

import (
	"fmt"
	"strings"

	"github.com/overbrainer/overbrainer/config"
	"github.com/overbrainer/overbrainer/state"
)

// resumeFrom is where a run with resume_from starts. What a source that runs in
// this plan will leave is found when the run begins.
func (b *builder) resumeFrom(run *config.Run) *ResumeSpec {
	from := b.currentRun(run.ResumeFrom)
	if has(run.Late, "resume_from") || from == nil || !from.Phase.Ended() || !isHere(from) {
		return &ResumeSpec{Run: run.ResumeFrom}
	}
	return resumeSpec(run.ResumeFrom, from)
}

// isHere reports whether a run left a snapshot that is on this machine.
func isHere(run *state.Run) bool {
	return run.Snapshot != nil && (run.Snapshot.Local || run.Retrieved)
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
		if run == nil || run.ResumeFrom == "" || step.Action != Run && step.Action != Rerun || step.Run.ResumeFrom.Dir != "" {
			continue
		}
		where := b.attrRange(run.AttrRanges, "resume_from", run.Range)
		const leaves = "A run leaves a snapshot when it has a snapshot block and is asked to stop (overbrainer run stop), and one that succeeds the newest that snapshot { every = ... } brought."
		from, source := b.currentRun(run.ResumeFrom), configured[run.ResumeFrom]
		switch {
		case !has(run.Late, "resume_from") && from != nil:
			b.errorAt(where, run.ResumeFrom+" left no snapshot to resume from",
				fmt.Sprintf("Run %s %s. %s Give it one and run it again with -replace=%s, or leave %s out with -target.", from.ID, outcome(from), leaves, run.ResumeFrom, ShellWord(run.Address)))
		case source != nil && (source.Snapshot == nil || source.Snapshot.Every == 0):
			b.warnAt(where, run.ResumeFrom+" may leave no snapshot to resume from",
				fmt.Sprintf("It has none that comes home while it runs, and %s needs one. %s", run.Address, leaves))
		}
	}
}

func resumeSpec(addr string, from *state.Run) *ResumeSpec {
	dir := from.Dir
	if from.Snapshot.Path != "" {
		dir += "/" + strings.TrimPrefix(from.Snapshot.Path, "./")
	}
	return &ResumeSpec{Run: addr, RunID: from.ID, Dir: dir, Step: from.Snapshot.Step}
}
