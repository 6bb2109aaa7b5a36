package ui

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/overbrainer/overbrainer/apply"
	"github.com/overbrainer/overbrainer/internal/money"
	"github.com/overbrainer/overbrainer/internal/safetext"
	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/state"
)

// Outcome tells a person what executing a plan came to. Errors are told by
// whoever ran it.
func Outcome(w io.Writer, o apply.Outcome, look Look) error {
	p := &printer{w: w}
	t := Table{Columns: []string{"RUN", "STATE", ">TIME", ">COST", "RESULTS"}}
	for _, r := range o.Runs {
		if r.State == "" && r.Err != nil {
			continue // never begun: the error tells it
		}
		took := Took(r.Seconds, r.Unseen)
		if r.Forgotten {
			took = "unknown"
		}
		t.Add(r.Address, standing(r), took, CostOf(r), ResultsAt(r))
	}
	if len(t.Rows) > 1 {
		t.Add(inAll(o.Runs)...)
	}
	if len(t.Rows) > 0 {
		p.line()
		p.err = t.Write(w, look)
	}
	var messages Alike
	for _, r := range o.Runs {
		messages.Add(r.Address, generic(endMessage(r), r.PodID, r.RunID))
	}
	told := map[string]bool{"": true}
	for _, r := range o.Runs {
		own := endMessage(r)
		if text := generic(own, r.PodID, r.RunID); !told[text] {
			told[text] = true
			names := messages.Names(text)
			if messages.One(text) {
				text = own
			}
			p.line()
			for _, line := range Wrap(names+": "+text, look.Columns()) {
				p.line(line)
			}
		}
		p.tail(r, look)
	}
	p.notBegun(look, "skipped", o.Skipped, func(because string) string {
		if because == apply.TheInterrupt {
			return "not begun before " + because
		}
		return because + " failed"
	})
	p.notBegun(look, "waiting", o.Waiting, func(because string) string { return "for " + because })
	for _, c := range o.Checks {
		if c.Status != "pass" {
			p.told(look, red, "check "+clean(c.Name)+": "+c.Status, " ("+clean(c.Where)+") "+clean(c.Message))
		}
	}
	for _, m := range o.Messages {
		p.line()
		for _, para := range strings.Split(m, "\n") {
			for _, line := range Wrap(clean(para), look.Columns()) {
				p.line(line)
			}
		}
	}
	if p.err == nil {
		p.err = Leftovers(w, left(o.Left), look)
	}
	if len(o.Outputs) > 0 && p.err == nil {
		p.line()
		p.line(look.Bold("Outputs:"))
		p.line()
		p.err = Outputs(w, o.Outputs)
	}
	return p.err
}

// standing is how a run stands when the command ends.
func standing(r apply.RunOutcome) string {
	switch text := StateWords(r.State, r.Reason, r.ExitCode); {
	case r.Waits:
		return text + ", results wait"
	case r.Detached && r.State == string(state.Preparing):
		return "no job yet"
	case r.Detached:
		return "goes on"
	default:
		return text
	}
}

// inAll is the last line of the table of several runs: how many ended in which state,
// and what they cost.
func inAll(runs []apply.RunOutcome) []string {
	var states []string
	var costs []float64
	count := map[string]int{}
	unknown := false
	for _, r := range runs {
		how := endOf(r.State, r.Reason)
		switch {
		case r.State == "" && r.Err != nil:
			how = apply.StateNotBegun
		case r.Detached && !r.Waits:
			how = strings.Replace(standing(r), "goes on", "go on", 1)
		case r.Waits && r.State == succeeded:
			how = waiting
		}
		if count[how]++; count[how] == 1 {
			states = append(states, how)
		}
		costs = append(costs, r.CostUSD)
		unknown = unknown || r.Unknown || r.Detached || r.Waits
	}
	for i, how := range states {
		states[i] = fmt.Sprintf("%d %s", count[how], how)
	}
	return []string{"in all", strings.Join(states, ", "), "", sumOf(costs, unknown), ""}
}

// endOf is the word by which the end of a run is counted: one that was interrupted
// before it had a job has not failed.
func endOf(state, reason string) string {
	if reason == interrupted {
		return reason
	}
	return state
}

const (
	waiting     = "waiting with results"
	succeeded   = string(state.Succeeded)
	interrupted = string(state.Interrupted)
)

// notBegun tells which steps were not begun and why, together where that is the same.
func (p *printer) notBegun(look Look, title string, steps []apply.Skipped, why func(because string) string) {
	var alike Alike
	for _, s := range steps {
		alike.Add(s.Address, why(clean(s.Because)))
	}
	for _, text := range alike.Texts {
		p.told(look, magenta, title, " "+alike.Names(text)+": "+text)
	}
}

// StateWords is how a run stands, and why: "failed (exit_code 3)".
func StateWords(state, reason string, exit *int) string {
	switch {
	case reason == "":
		return state
	case exit != nil && *exit != 0:
		return fmt.Sprintf("%s (%s %d)", state, reason, *exit)
	}
	return state + " (" + reason + ")"
}

// CostOf is what a run has cost, as far as that is known.
func CostOf(r apply.RunOutcome) string { return sumOf([]float64{r.CostUSD}, r.Unknown) }

// sumOf is what runs have cost together, as far as that is known.
func sumOf(costs []float64, unknown bool) string {
	text := money.Sum(costs...)
	switch {
	case !unknown:
		return text
	case text == money.USD(0):
		return "unknown"
	}
	return text + " or more"
}

// ResultsAt says where a run's results are.
func ResultsAt(r apply.RunOutcome) string {
	switch {
	case r.Waits:
		return "not fetched, on pod " + r.PodID
	case r.Removed:
		return "on this machine, not in " + r.Dir
	case r.Elsewhere != "":
		return "on " + r.Elsewhere
	case r.State == "succeeded" && !r.Retrieved:
		return "not fetched"
	}
	return r.Dir
}

// endMessage says how a run ended that did not succeed, without its address.
func endMessage(r apply.RunOutcome) string {
	if r.State == "succeeded" {
		return ""
	}
	return strings.TrimPrefix(clean(r.Message), clean(r.Address)+": ")
}

// tail shows the last lines of a failed job's log.
func (p *printer) tail(r apply.RunOutcome, look Look) {
	if len(r.Tail) == 0 {
		return
	}
	p.line()
	p.line(look.Bold("The last lines of " + clean(r.Address) + ":"))
	for _, l := range r.Tail {
		p.line("  ", look.paint(dim, "| "), safetext.OneLine(l))
	}
}

// bounded is what is left with the bound of each.
func bounded(in []apply.Left) []leftover {
	out := make([]leftover, 0, len(in))
	for i, one := range left(in) {
		l := leftover{Leftover: one}
		if until := in[i].Until.UTC(); !until.IsZero() {
			l.EndsBy = &until
		}
		out = append(out, l)
	}
	return out
}

// leftover is what may bill after a command, in JSON.
type leftover struct {
	plan.Leftover
	EndsBy *time.Time `json:"ends_by,omitempty"`
}

func left(in []apply.Left) []plan.Leftover {
	out := make([]plan.Leftover, 0, len(in))
	for _, l := range in {
		o := plan.Leftover{Kind: l.Kind, RunID: l.RunID, Address: l.Address, ID: l.ID, Note: l.Note, Fix: l.Fix}
		if o.Note == "" {
			o.Note = l.Address
		}
		switch {
		case l.RateUSD > 0 || l.Free:
			o.Hourly = &l.RateUSD
		case l.Monthly > 0:
			o.MonthlyUSD = &l.Monthly
		}
		out = append(out, o)
	}
	return out
}
