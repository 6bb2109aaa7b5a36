package main

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/apply"
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

// TestRunListSaysWhatIsKnown: an exit code where there is one, a cost only where it
// is known, and who works on a pod past its bounds instead of a command for it.
func TestRunListSaysWhatIsKnown(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	past := now.Add(-3 * time.Hour)
	code := 3
	pod := func() *state.Pod {
		return &state.Pod{ID: "p1", State: state.PodRunning, RateUSD: 0.5, CreatedAt: past, Deadline: &past}
	}
	st := state.New("")
	for address, run := range map[string]*state.Run{
		"run.failed":  {Phase: state.Failed, Reason: state.ExitCode, ExitCode: &code},
		"run.gone":    {Phase: state.Failed, Reason: state.Lost, StartedAt: &past, EndedAt: &now, Seconds: 2649, EndUnseen: true},
		"run.open":    {Phase: state.Failed, Reason: state.Unanswered, Attempts: []*state.Attempt{{Name: "a", Result: state.AttemptAmbiguous}}},
		"run.again":   {Phase: state.Preparing, CostUSD: 0.25, Attempts: []*state.Attempt{{Name: "a", Result: state.AttemptSent}}},
		"run.going":   {Phase: state.Preparing, Pod: &state.Pod{ID: "p2", State: state.PodDeleting, RateUSD: 0.5, CreatedAt: now}},
		"run.held":    {Phase: state.Preparing, Pod: &state.Pod{ID: "p3", State: state.PodDeleting, RateUSD: 0.5, CreatedAt: now}},
		"run.late":    {Phase: state.Running, StartedAt: &past, Pod: pod()},
		"run.fetched": {Phase: state.Running, StartedAt: &past, Pod: pod()},
	} {
		run.ID = address[4:] + "-1"
		st.Resources[address] = &state.Resource{Run: &state.RunResource{Current: run.ID, Runs: []*state.Run{run}}}
	}
	for _, address := range []string{"run.fetched", "run.held"} {
		st.Claims[address] = state.Claim{Operation: "apply", Who: "ann", Host: "desk", PID: 7, Expires: now.Add(time.Minute)}
	}
	var out, err strings.Builder
	a := &app{dir: t.TempDir(), now: func() time.Time { return now }, out: &out, err: &err}
	rows := a.runRows(st, false)
	if e := a.showRuns(rows); e != nil {
		t.Fatal(e)
	}
	for _, r := range rows {
		if unseen := r.Address == "run.gone" || r.Address == "run.late"; r.EndUnseen != unseen {
			t.Errorf("%s: end_unseen is %v", r.Address, r.EndUnseen)
		}
	}
	for _, want := range []string{`run\.failed +failed \(exit_code 3\)`, `run\.open .* unknown `, `run\.gone .* at most 44m9s`, `run\.again .* \$0\.25 or more `,
		`run\.late +running, not followed .* at most 3h`, `run\.fetched +running  .*  3h`} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("no %s in\n%s", want, out.String())
		}
	}
	if text := err.String(); !strings.Contains(text, "run attach late-1 looks") || strings.Contains(text, "run attach fetched-1") ||
		!strings.Contains(text, "run.going (pod p2): its deletion has begun and nobody goes on with it; it may bill at $0.50 an hour; overbrainer apply or destroy goes on\n") || strings.Contains(text, "run.held") ||
		!strings.Contains(text, "run.fetched: pod p1 is past the last of its bounds; ann@desk works on it (apply, pid 7)") {
		t.Error(text)
	}
}

// A key that is not here is lost, unless somebody works on the run: he may have ended
// it, and removed the key, since the state was read.
func TestKeyOfARunThatSomebodyEnds(t *testing.T) {
	a := &app{dir: t.TempDir(), now: time.Now}
	run := &state.Run{ID: "x-1", Dir: "runs/x-1", Phase: state.Running, Holder: holder().Name(), KeySource: apply.FileKeys{}.Kind(), Pod: &state.Pod{ID: "p1"}}
	st := &state.State{Resources: map[string]*state.Resource{"run.x": {Run: &state.RunResource{Runs: []*state.Run{run}}}}}
	if rows := a.runRows(st, true); len(rows) != 1 || rows[0].keyLost == "" {
		t.Errorf("nobody works on it: %+v", rows)
	}
	st.Claims = map[string]state.Claim{"run.x": {ID: "c", Operation: "apply", Who: "she", Host: "there", PID: 1, Expires: time.Now().Add(time.Hour)}}
	if rows := a.runRows(st, true); len(rows) != 1 || rows[0].keyLost != "" || rows[0].busy == "" {
		t.Errorf("somebody works on it: %+v", rows)
	}
}
