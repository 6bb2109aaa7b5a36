package ui

import (
	"fmt"
	"io"
	"strings"

	"github.com/overbrainer/overbrainer/apply"
	"github.com/overbrainer/overbrainer/internal/money"
	"github.com/overbrainer/overbrainer/internal/safetext"
	"github.com/overbrainer/overbrainer/plan"
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
		what := StateWords(r.State, r.Reason, r.ExitCode)
		if r.Detached {
			what = "goes on"
		}
		took := Took(r.Seconds, r.Unseen)
		if r.Forgotten {
			took = "unknown"
		}
		t.Add(r.Address, what, took, CostOf(r), ResultsAt(r))
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
		messages.Add(r.Address, endMessage(r))
	}
	told := map[string]bool{"": true}
	for _, r := range o.Runs {
		if text := endMessage(r); !told[text] {
			told[text] = true
			p.line()
			for _, line := range Wrap(messages.Names(text)+": "+text, look.Columns()) {
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

// inAll is the last line of the table of several runs: how many ended in which state,
// and what they cost.
func inAll(runs []apply.RunOutcome) []string {
	var states []string
	count := map[string]int{}
	var sum apply.RunOutcome
	for _, r := range runs {
		state := r.State
		switch {
		case state == "" && r.Err != nil:
			continue
		case r.Detached:
			state = "go on"
		}
		if count[state]++; count[state] == 1 {
			states = append(states, state)
		}
		sum.CostUSD += r.CostUSD
		sum.Unknown = sum.Unknown || r.Unknown || r.Detached || r.Waits
	}
	for i, state := range states {
		states[i] = fmt.Sprintf("%d %s", count[state], state)
	}
	return []string{"in all", strings.Join(states, ", "), "", CostOf(sum), ""}
}

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
func CostOf(r apply.RunOutcome) string {
	switch {
	case !r.Unknown:
		return money.USD(r.CostUSD)
	case r.CostUSD == 0:
		return "unknown"
	}
	return money.USD(r.CostUSD) + " or more"
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

func left(in []apply.Left) []plan.Leftover {
	out := make([]plan.Leftover, 0, len(in))
	for _, l := range in {
		o := plan.Leftover{Kind: l.Kind, RunID: l.RunID, Address: l.Address, ID: l.ID, Note: l.Note, Fix: l.Fix}
		if o.Note == "" {
			o.Note = l.Address
		}
		switch {
		case l.RateUSD > 0:
			o.Hourly = &l.RateUSD
		case l.Monthly > 0:
			o.MonthlyUSD = &l.Monthly
		}
		out = append(out, o)
	}
	return out
}
