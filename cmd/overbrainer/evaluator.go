package main

import (
	"fmt"

	"github.com/overbrainer/overbrainer/apply"
	"github.com/overbrainer/overbrainer/config"
	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/state"
)

// evaluator gives the engine what hangs on runs that have ended: it has the
// configuration, which the engine never reads.
type evaluator struct {
	cfg  *config.Config
	plan *plan.Plan
}

// Run completes a run's specification. Its target is the plan's, which knows
// the account.
func (e *evaluator) Run(address string, done map[string]apply.RunResult) (plan.RunSpec, error) {
	late, diags := e.cfg.Late(address, forConfig(done))
	if diags.HasErrors() {
		return plan.RunSpec{}, diags
	}
	spec := plan.RunSpecOf(late)
	if len(spec.Late) > 0 {
		return spec, fmt.Errorf("%s is still not known: %v", address, spec.Late)
	}
	for _, s := range e.plan.Steps {
		if s.Address == address && s.Run != nil {
			spec.Target, spec.Try, spec.ResumeFrom, spec.Sensitive = s.Run.Target, s.Run.Try, s.Run.ResumeFrom, s.Run.Sensitive
			if spec.ResumeFrom == nil && late.ResumeFrom != "" {
				spec.ResumeFrom = &plan.ResumeSpec{Run: late.ResumeFrom}
			}
			return spec, nil
		}
	}
	return spec, fmt.Errorf("%s is not in the plan", address)
}

// Outputs gives the outputs that are known; sensitive values are marked.
func (e *evaluator) Outputs(done map[string]apply.RunResult) (map[string]state.Output, error) {
	if len(e.cfg.Outputs) == 0 {
		return map[string]state.Output{}, nil
	}
	values, diags := e.cfg.EvalOutputs(forConfig(done))
	out := map[string]state.Output{}
	for name, o := range values {
		if !o.Value.IsWhollyKnown() {
			continue
		}
		out[name] = plan.OutputOf(o.Value, o.Sensitive)
	}
	if diags.HasErrors() {
		return out, diags
	}
	return out, nil
}

// Checks decides the conditions that the plan left undecided.
func (e *evaluator) Checks(done map[string]apply.RunResult) []apply.Check {
	open, left := map[string]bool{}, len(e.plan.Checks) < len(e.cfg.Checks)
	for _, c := range e.plan.Checks {
		open[c.Name] = c.Status == "undecided"
		left = left || open[c.Name]
	}
	if !left {
		return nil // a view of a large plan is large
	}
	var out []apply.Check
	for _, c := range e.cfg.EvalChecks(e.plan.View(), forConfig(done)) {
		if decided, known := open[c.Name]; known && !decided {
			continue
		}
		out = append(out, apply.Check{Name: c.Name, Status: string(c.Status), Message: c.Message,
			Where: fmt.Sprintf("%s:%d", c.Range.Filename, c.Range.Start.Line)})
	}
	return out
}
