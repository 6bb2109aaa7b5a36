package ui

import (
	"io"
	"slices"
	"strings"
	"time"

	"github.com/overbrainer/overbrainer/apply"
	"github.com/overbrainer/overbrainer/plan"
)

// OutcomeJSON is the last line of a stream of events.
func OutcomeJSON(w io.Writer, o apply.Outcome, now time.Time, exit int) error {
	type run struct {
		Address  string `json:"address"`
		RunID    string `json:"run_id"`
		PodID    string `json:"pod_id"`
		State    string `json:"state"`
		Reason   string `json:"reason"`
		Message  string `json:"message,omitempty"`
		ExitCode *int   `json:"exit_code"`
		GPUType  string `json:"gpu_type"`
		// Null where no run was begun, or it has left the state and nobody here knows.
		CostUSD   *float64 `json:"cost_usd"`
		CostBasis string   `json:"cost_basis,omitempty"`
		Seconds   *float64 `json:"seconds"`
		EndUnseen bool     `json:"end_unseen,omitempty"`
		Dir       string   `json:"dir"`
		Retrieved bool     `json:"retrieved"`
		Elsewhere string   `json:"results_elsewhere,omitempty"`
		Detached  bool     `json:"detached"`
		Waits     bool     `json:"results_on_pod"`
	}
	type skipped struct {
		Address string `json:"address"`
		Because string `json:"because"`
	}
	type output struct {
		Sensitive bool `json:"sensitive"`
		Type      any  `json:"type"`
		Value     any  `json:"value"`
	}
	doc := struct {
		Format   string             `json:"format_version"`
		Type     string             `json:"type"`
		Time     time.Time          `json:"time"`
		ExitCode int                `json:"exit_code"`
		Runs     []run              `json:"runs"`
		Skipped  []skipped          `json:"skipped"`
		Waiting  []skipped          `json:"waiting"`
		Checks   []plan.CheckResult `json:"checks"`
		Left     []leftover         `json:"leftovers"`
		Messages []string           `json:"messages"`
		Outputs  map[string]output  `json:"outputs"`
		Errors   []string           `json:"errors"`
	}{
		Format: plan.FormatVersion, Type: "outcome", Time: now.UTC(), ExitCode: exit, Runs: []run{}, Skipped: []skipped{}, Waiting: []skipped{},
		Checks: []plan.CheckResult{}, Left: bounded(slices.Concat(o.Left, o.GoesOn)), Messages: append([]string{}, o.Messages...), Outputs: map[string]output{},
		Errors: []string{},
	}
	for _, r := range o.Runs {
		one := run{
			Address: r.Address, RunID: r.RunID, PodID: r.PodID, State: r.State, Reason: r.Reason, Message: r.Message,
			ExitCode: r.ExitCode, GPUType: r.GPUType, EndUnseen: r.Unseen, Dir: r.Dir,
			Retrieved: r.Retrieved, Elsewhere: r.Elsewhere, Detached: r.Detached, Waits: r.Waits,
		}
		if r.RunID != "" && !r.Forgotten {
			one.CostUSD, one.Seconds, one.CostBasis = &r.CostUSD, &r.Seconds, "estimated"
		}
		if r.Unknown {
			one.CostBasis = "unknown"
		}
		doc.Runs = append(doc.Runs, one)
		if text := wentWrong(r); text != "" {
			doc.Errors = append(doc.Errors, text)
		}
	}
	for _, s := range o.Skipped {
		doc.Skipped = append(doc.Skipped, skipped(s))
	}
	for _, s := range o.Waiting {
		doc.Waiting = append(doc.Waiting, skipped(s))
	}
	for _, c := range o.Checks {
		doc.Checks = append(doc.Checks, plan.CheckResult{Name: c.Name, Status: c.Status, Message: c.Message, Where: c.Where})
	}
	for _, err := range o.Errors {
		doc.Errors = append(doc.Errors, err.Error())
	}
	for name, v := range o.Outputs {
		one := output{Sensitive: v.Sensitive, Type: v.Type, Value: v.Value}
		if v.Sensitive {
			one.Value = nil
		}
		doc.Outputs[name] = one
	}
	return JSONLine(w, doc)
}

// wentWrong says of a run that failed, or could not be worked on, why.
func wentWrong(r apply.RunOutcome) string {
	var text string
	switch {
	case r.Class == apply.OK || r.Class == apply.Interrupt:
		return ""
	case r.Err != nil:
		text = r.Err.Error()
	case r.Message != "":
		text = r.Message
	default:
		text = StateWords(r.State, r.Reason, r.ExitCode)
	}
	if text = strings.TrimPrefix(text, r.Address+": "); strings.HasPrefix(text, r.Address) {
		return text // "run.a is held by …"
	}
	return r.Address + ": " + text
}
