package ui

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/apply"
)

// TestOutcomeTellsHowRunsStand: in the table and in its last line.
func TestOutcomeTellsHowRunsStand(t *testing.T) {
	o := apply.Outcome{Runs: []apply.RunOutcome{
		{Address: "run.a", State: "succeeded", Retrieved: true, CostUSD: 0.0035},
		{Address: "run.b", State: "succeeded", Waits: true, Detached: true, PodID: "p1", CostUSD: 0.0035},
		{Address: "run.c", State: "running", Detached: true, CostUSD: 0.0035},
		{Address: "run.d", State: "preparing", Reason: "interrupted", Detached: true, CostUSD: 0.0035},
		{Address: "run.e", State: "failed", Reason: "interrupted", CostUSD: 0.0035},
		{Address: "run.f", State: "failed", Reason: "exit_code", CostUSD: 0.0035},
		{Address: "run.g", Err: errors.New("interrupted")},
	}}
	var b strings.Builder
	if err := Outcome(&b, o, Look{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"run.b   succeeded, results wait ", "run.c   goes on ", "run.d   no job yet ", "run.e   failed (interrupted) ",
		"in all  1 succeeded, 1 waiting with results, 1 go on, 1 no job yet, 1 interrupted, 1 failed, 1 not begun ", " $0.0210 or more\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

// TestOutcomeJSONTellsWhatBills: pods that go on stand among the leftovers, with rate
// and bound.
func TestOutcomeJSONTellsWhatBills(t *testing.T) {
	o := apply.Outcome{
		Left: []apply.Left{{Kind: "pod", ID: "p1", RateUSD: 0.5}},
		GoesOn: []apply.Left{
			{Kind: "pod", ID: "p2", RateUSD: 0.25, Until: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Note: "its job goes on"},
			{Kind: "pod", ID: "p3"}, {Kind: "pod", ID: "p4", Free: true},
		},
	}
	var b strings.Builder
	if err := OutcomeJSON(&b, o, time.Now(), 0); err != nil {
		t.Fatal(err)
	}
	var doc struct{ Leftovers []json.RawMessage }
	if err := json.Unmarshal([]byte(b.String()), &doc); err != nil {
		t.Fatal(err)
	}
	want := []string{
		`{"kind":"pod","id":"p1","note":"","hourly_usd":0.5}`,
		`{"kind":"pod","id":"p2","note":"its job goes on","hourly_usd":0.25,"ends_by":"2026-01-02T03:04:05Z"}`,
		`{"kind":"pod","id":"p3","note":"","hourly_usd":null}`, `{"kind":"pod","id":"p4","note":"","hourly_usd":0}`,
	}
	if len(doc.Leftovers) != len(want) {
		t.Fatal(b.String())
	}
	for i, w := range want {
		if got := string(doc.Leftovers[i]); got != w {
			t.Errorf("%s, want %s", got, w)
		}
	}
}

// TestOutcomeTellsAlikeOnce: texts that differ in nothing but names are one.
func TestOutcomeTellsAlikeOnce(t *testing.T) {
	var o apply.Outcome
	for _, name := range []string{"a", "b", "c"} {
		o.Runs = append(o.Runs, apply.RunOutcome{
			Address: "run." + name, RunID: name + "-1", PodID: "pod" + name, State: "failed", Reason: "lost",
			Message: "run." + name + ": pod pod" + name + " is gone and nobody here deleted it; what came is in runs/" + name + "-1",
		})
	}
	say := func() string {
		var b strings.Builder
		if err := Outcome(&b, o, Look{Width: 200}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if got := say(); strings.Count(got, "nobody") != 1 || !strings.Contains(got, "\nrun.a, run.b, run.c: its pod is gone and nobody here deleted it; what came is in its directory\n") {
		t.Error(got)
	}
	o.Runs = o.Runs[:1]
	if got := say(); !strings.Contains(got, "\nrun.a: pod poda is gone and nobody here deleted it; what came is in runs/a-1\n") {
		t.Error(got)
	}
}
