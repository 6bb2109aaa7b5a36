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
	const saved = "runs/r-train/output/checkpoint-65/state"
	stopped := func(r *state.Run) {
		r.Phase, r.Reason = state.Stopped, state.UserStopped
		r.Snapshot = &state.Snapshot{Path: "output/checkpoint-65", Step: 65, Local: true, SHA256: state.CheckpointSum([]state.CheckpointFile{{Path: "state", SHA256: hexSum([]byte("65"))}})}
	}
	t.Run("a source that is resumed", func(t *testing.T) {
		p := newProject(t, every)
		p.did("run.train", stopped)
		p.write(saved, "65")
		plan := p.plan()
		quiet(t, plan)
		if from := one(t, plan, "run.longer").Run.ResumeFrom; one(t, plan, "run.train").Action != Resume || from == nil || from.Dir != "" || from.Run != "run.train" {
			t.Errorf("it starts from %+v", from)
		}
	})
	t.Run("a source that is held", func(t *testing.T) {
		p := newProject(t, strings.Replace(every, `snapshot {`, "lifecycle { rerun = \"manual\" }\n  snapshot {", 1))
		p.did("run.train", stopped)
		p.write(saved, "65")
		plan := p.plan()
		if from := one(t, plan, "run.longer").Run.ResumeFrom; plan.Failed() || from == nil || from.Step != 65 || from.Dir != "runs/r-train/output/checkpoint-65" || from.SHA256 == "" {
			t.Errorf("it starts from %+v", from)
		}
		p.write(saved, "999")
		said(t, p.plan(), "error", "the snapshot of step 65 of run.train cannot be used", "not as it was when it was verified", "-replace=run.train")
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
	t.Run("a source that went on from one and left none", func(t *testing.T) {
		p := newProject(t, base+longer)
		p.did("run.train", func(r *state.Run) {
			r.From = &state.Checkpoint{RunID: "r0", Dir: "runs/r0/output/checkpoint-65", Step: 65}
		})
		p.write("runs/r0/output/checkpoint-65/state", "65")
		plan := p.plan()
		quiet(t, plan)
		if from := one(t, plan, "run.longer").Run.ResumeFrom; from == nil || from.RunID != "r0" || from.Dir != "runs/r0/output/checkpoint-65" {
			t.Errorf("it starts from %+v", from)
		}
	})
	t.Run("a source that may leave none", func(t *testing.T) {
		p := newProject(t, base+longer)
		said(t, p.plan(), "warning", "run.train may leave no snapshot", "every")
	})
}

// What a run goes on from is looked at before anything is rented for it: a run
// whose checkpoint is away, or is not what was verified, waits for it.
func TestCheckpointsAreLookedAt(t *testing.T) {
	const saved = "runs/r0/output/checkpoint-11/state"
	p := newProject(t, base)
	p.did("run.train", func(r *state.Run) {
		r.Phase, r.Reason, r.Retrieved, r.FetchedBy = state.Failed, state.NoCapacity, false, "ann@laptop"
		r.From = &state.Checkpoint{RunID: "r0", Dir: "runs/r0/output/checkpoint-11", Step: 11,
			SHA256: state.CheckpointSum([]state.CheckpointFile{{Path: "state", SHA256: hexSum([]byte("11"))}})}
	})
	holds := func(words string) {
		t.Helper()
		plan := p.plan()
		if s := one(t, plan, "run.train"); plan.Failed() || s.Action != Hold || !strings.Contains(s.Reason, words) {
			t.Errorf("%s %q, not %q", s.Action, s.Reason, words)
		}
	}
	holds("runs/r0/output/checkpoint-11 is not here; put it back")
	p.write(saved, "12")
	holds("is not as it was when it was verified")
	p.write(saved, "11")
	s := one(t, p.plan(), "run.train")
	if from := s.Run.ResumeFrom; s.Action != Resume || from == nil || from.RunID != "r0" || from.Run != "run.train" || from.Dir != "runs/r0/output/checkpoint-11" || from.Step != 11 {
		t.Errorf("%s %q from %+v", s.Action, s.Reason, from)
	}
	p.write("runs/r0/output/checkpoint-11/more", "of it")
	holds("is not as it was when it was verified")
	if s := one(t, p.plan(func(in *Input) { in.Replace = []string{"run.train"} }), "run.train"); s.Action != Rerun || s.Run.ResumeFrom != nil || !strings.Contains(s.Reason, "begins without the snapshot of step 11 of run r0") {
		t.Errorf("%s %q", s.Action, s.Reason)
	}
}
