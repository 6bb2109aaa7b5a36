package apply

import (
	"cmp"
	"path/filepath"
	"strings"

	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/state"
)

// spec completes what hangs on runs that have ended, and on a volume that was
// made in this command.
func (g *graph) spec(step *plan.Step) (*plan.RunSpec, error) {
	if step.Run == nil {
		return nil, nil
	}
	spec := *step.Run
	if len(spec.Late) > 0 {
		if g.s.Evaluator == nil {
			return nil, failf("late_values", "%d values hang on other runs and nothing can evaluate them", len(spec.Late)).at(step.Address)
		}
		late, err := g.s.Evaluator.Run(step.Address, g.results())
		if err != nil {
			return nil, failf("late_values", "%v", err).at(step.Address).because(err)
		}
		late.Try, late.Where = spec.Try, spec.Where
		late.Target = spec.Target
		spec = late
	}
	if spec.Target.Volume != "" && spec.Target.VolumeID == "" {
		st, err := g.s.read()
		if err != nil {
			return nil, err
		}
		res := st.Resources[spec.Target.Volume]
		if res == nil || res.Volume == nil || res.Volume.ID == "" {
			return nil, failf("volume", "%s does not exist", spec.Target.Volume).at(step.Address)
		}
		spec.Target.VolumeID, spec.Target.VolumeGB = res.Volume.ID, res.Volume.SizeGB
	}
	return &spec, g.resume(step, &spec)
}

// resume finds the checkpoint that a run is to start from.
func (g *graph) resume(step *plan.Step, spec *plan.RunSpec) error {
	from := spec.ResumeFrom
	if from == nil && step.Action == plan.Resume {
		from = &plan.ResumeSpec{Run: step.Address, RunID: step.RunID}
		spec.ResumeFrom = from
	}
	if from == nil || from.Dir != "" {
		return nil
	}
	st, err := g.s.read()
	if err != nil {
		return err
	}
	_, run := st.FindRun(from.RunID)
	if run == nil && from.Run != "" {
		run = currentRun(st, from.Run)
	}
	if run == nil || run.Checkpoint() == nil {
		return noCheckpoint(from, run).at(step.Address)
	}
	spec.ResumeFrom = plan.ResumeAt(cmp.Or(from.Run, step.Address), run.Checkpoint())
	return nil
}

// noCheckpoint says which run left no checkpoint here to start from.
func noCheckpoint(from *plan.ResumeSpec, run *state.Run) *Error {
	source := strings.TrimSpace(from.Run + " " + from.RunID)
	switch {
	case run == nil:
		return failf("resume", "the run to resume from, %s, is not in the state", source)
	case run.Snapshot == nil:
		return failf("resume", "run %s of %s, which is %s, left no checkpoint to resume from", run.ID, cmp.Or(from.Run, "this address"), run.Phase).
			hint("it leaves one when overbrainer run stop stops it, or by snapshot { every = ... } while it runs")
	}
	return failf("resume", "the checkpoint of step %d of run %s, to resume from, is not here", run.Snapshot.Step, run.ID).
		hint("it belongs into %s", filepath.ToSlash(filepath.Join(run.Dir, run.Snapshot.Path)))
}

func (g *graph) results() map[string]RunResult {
	g.mu.Lock()
	defer g.mu.Unlock()
	c := make(map[string]RunResult, len(g.done))
	for k, v := range g.done {
		c[k] = v
	}
	return c
}

// resultOf is what a run left for those who depend on it.
func (s *session) resultOf(provider string, run *state.Run) RunResult {
	res := RunResult{
		ID: run.ID, State: string(run.Phase), Dir: run.Dir,
		CostUSD: run.CostUSD, CostOpen: run.CostOpen(), GPUType: run.GPUType, Metrics: copyValues(run.Metrics),
	}
	if run.Retrieved {
		res.OutputDir = outputDir(run.Dir)
	}
	if run.StartedAt != nil && run.EndedAt != nil {
		res.Seconds = run.Seconds
		if res.Seconds == 0 {
			res.Seconds = s.timing(provider).Nominal(run.EndedAt.Sub(*run.StartedAt)).Seconds()
		}
	}
	return res
}
