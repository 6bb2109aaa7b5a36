package plan

import (
	"strings"
	"testing"

	"github.com/overbrainer/overbrainer/state"
)

const longer = `
run "longer" {
  target      = target.gpu
  cap         = cap.small
  resume_from = run.train
  command     = ["python", "train.py", "--longer"]
  outputs     = ["output/**"]
}
`

// A run with resume_from starts from what its source leaves in this plan, and
// only a run that begins needs that at all.
func TestResumeFrom(t *testing.T) {
	every := strings.Replace(base, `run "train" {`, `run "train" {
  snapshot { every = "20m" }`, 1) + longer
	stopped := func(r *state.Run) {
		r.Phase, r.Reason = state.Stopped, state.UserStopped
		r.Snapshot = &state.Snapshot{Path: "output/checkpoint-65", Step: 65, Local: true}
	}
	t.Run("a source that is resumed", func(t *testing.T) {
		p := newProject(t, every)
		p.did("run.train", stopped)
		plan := p.plan()
		quiet(t, plan)
		if from := one(t, plan, "run.longer").Run.ResumeFrom; one(t, plan, "run.train").Action != Resume || from == nil || from.Dir != "" || from.Run != "run.train" {
			t.Errorf("it starts from %+v", from)
		}
	})
	t.Run("a source that is held", func(t *testing.T) {
		p := newProject(t, strings.Replace(every, `snapshot {`, "lifecycle { rerun = \"manual\" }\n  snapshot {", 1))
		p.did("run.train", stopped)
		if from := one(t, p.plan(), "run.longer").Run.ResumeFrom; from == nil || from.Step != 65 || from.Dir != "runs/r-train/output/checkpoint-65" {
			t.Errorf("it starts from %+v", from)
		}
	})
	t.Run("a source that left none", func(t *testing.T) {
		p := newProject(t, every)
		p.did("run.train", nil)
		plan := p.plan()
		if d := said(t, plan, "error", "run.train left no snapshot", "-replace=run.train", "-target"); d.Range == nil || plan.Applyable {
			t.Errorf("applyable %v, %+v", plan.Applyable, d)
		}
		plan = p.plan(func(in *Input) { in.Targets = []string{"run.train"} })
		if plan.Failed() {
			t.Errorf("without it: %+v", plan.Diagnostics)
		}
		p.did("run.longer", nil)
		quiet(t, p.plan())
	})
	t.Run("a source that may leave none", func(t *testing.T) {
		p := newProject(t, base+longer)
		said(t, p.plan(), "warning", "run.train may leave no snapshot", "every")
	})
}
