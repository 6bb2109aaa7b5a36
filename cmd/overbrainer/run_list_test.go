package main

import (
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/state"
)

// The state alone does not tell that a pod is gone: one past its bounds counts
// on, and that is said.
func TestRunsPastTheirBoundsAreTold(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	row := func(change func(*state.Run)) runRow {
		deadline := now.Add(-30 * time.Minute)
		run := &state.Run{
			ID: "r1", Phase: state.Running, Bounds: state.Bounds{MaxHours: 1, RetrieveGrace: 3600},
			Pod: &state.Pod{ID: "p1", State: state.PodRunning, RateUSD: 0.5, CreatedAt: deadline.Add(-time.Hour), Deadline: &deadline},
		}
		change(run)
		a := &app{dir: t.TempDir(), now: func() time.Time { return now }}
		return a.rowOf("run.a", run)
	}
	if r := row(func(*state.Run) {}); r.Overdue {
		t.Error("its job may have ended, and its results have their grace")
	}
	late := func(r *state.Run) { r.Bounds.RetrieveGrace = 600 }
	if r := row(late); !r.Overdue || r.CostUSD != 0.75 {
		t.Errorf("%+v", r)
	}
	if r := row(func(r *state.Run) { late(r); r.Bounds.KeepPodS = -1 }); r.Overdue {
		t.Error("kept for ever has no bound")
	}
	if r := row(func(r *state.Run) { late(r); r.Pod.State = state.PodDeleted }); r.Overdue {
		t.Error("known to be gone")
	}
}
