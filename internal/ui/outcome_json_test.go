package ui

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/apply"
)

// Whoever reads the outcome learns of each run why it failed, and no figure that
// nobody knows.
func TestOutcomeJSON(t *testing.T) {
	code := 3
	o := apply.Outcome{
		Runs: []apply.RunOutcome{
			{Address: "run.a", RunID: "a-1", State: "succeeded", CostUSD: 0.2, Seconds: 60},
			{Address: "run.b", RunID: "b-1", State: "failed", Reason: "exit_code", ExitCode: &code, Class: apply.JobFailed},
			{Address: "run.c", Class: apply.Failure, Err: &apply.Error{Code: "budget", Address: "run.c", Message: "nothing is left", Hint: "raise it"}},
			{Address: "run.d", RunID: "d-1", State: "failed", Class: apply.Failure, Message: "its pod is gone", Unknown: true, Unseen: true},
			{Address: "run.e", RunID: "e-1", State: "running", Detached: true, Class: apply.Interrupt},
		},
		Errors: []error{errors.New("a volume stays")},
	}
	var b bytes.Buffer
	if err := OutcomeJSON(&b, o, time.Time{}, 1); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Runs []struct {
			CostUSD   *float64 `json:"cost_usd"`
			Seconds   *float64 `json:"seconds"`
			CostBasis string   `json:"cost_basis"`
			EndUnseen bool     `json:"end_unseen"`
		} `json:"runs"`
		Errors []string `json:"errors"`
	}
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	want := []string{"run.b: failed (exit_code 3)", "run.c: nothing is left (raise it)", "run.d: its pod is gone", "a volume stays"}
	if !reflect.DeepEqual(doc.Errors, want) {
		t.Errorf("%q", doc.Errors)
	}
	a, c, d := doc.Runs[0], doc.Runs[2], doc.Runs[3]
	if a.CostUSD == nil || *a.CostUSD != 0.2 || a.Seconds == nil || a.CostBasis != "estimated" || a.EndUnseen {
		t.Errorf("%+v", a)
	}
	if c.CostUSD != nil || c.Seconds != nil || c.CostBasis != "" {
		t.Errorf("figures of a run that was not begun: %+v", c)
	}
	if d.CostUSD == nil || d.CostBasis != "unknown" || !d.EndUnseen {
		t.Errorf("%+v", d)
	}
}
