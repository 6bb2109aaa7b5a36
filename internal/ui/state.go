package ui

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/overbrainer/overbrainer/internal/money"
	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/state"
)

// State shows everything the state holds to a person.
func State(w io.Writer, st *state.State, look Look) error {
	p := &printer{w: w}
	addresses := st.Addresses()
	switch {
	case len(addresses) > 0:
	case len(st.Claims) == 0 && len(st.Spend) == 0 && len(st.Outputs) == 0:
		p.line("The state is empty: nothing was applied yet, or everything was destroyed.")
		return p.err
	default:
		p.line("The state has no run and no volume: nothing was applied yet, or everything was destroyed.")
	}
	for i, address := range addresses {
		if i > 0 {
			p.line()
		}
		if err := Resource(w, address, st.Resources[address], look); err != nil {
			return err
		}
	}
	if len(st.Claims) > 0 {
		p.line()
		p.line(look.Bold("Worked on now:"))
		for _, address := range sortedKeys(st.Claims) {
			c := st.Claims[address]
			p.line(fmt.Sprintf("  %s  %s by %s@%s (pid %d), claim %s, until %s", clean(address), clean(c.Operation),
				clean(c.Who), clean(c.Host), c.PID, clean(c.ID), stamp(c.Expires)))
		}
	}
	if len(st.Spend) > 0 {
		p.line()
		p.line(look.Bold("Spent by runs that have ended:"))
		for _, name := range sortedKeys(st.Spend) {
			spend := st.Spend[name]
			p.line(fmt.Sprintf("  %s under %s, by %s", money.USD(spend.USD), clean(name), count(spend.Runs, "run")))
		}
	}
	if len(st.Outputs) > 0 {
		p.line()
		p.line(look.Bold("Outputs:"))
		if p.err == nil {
			p.err = Outputs(w, st.Outputs)
		}
	}
	return p.err
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }

// Resource shows one entry of the state.
func Resource(w io.Writer, address string, r *state.Resource, look Look) error {
	p := &printer{w: w}
	p.line(look.Bold(clean(address)), "  ", r.Type, " of provider ", clean(r.Provider))
	if v := r.Volume; v != nil {
		managed := "adopted by its ID: never deleted"
		if v.Managed {
			managed = "made by overbrainer"
			if v.Retain {
				managed += ", retained"
			}
		}
		p.attribute("id", v.ID)
		p.attribute("name", v.Name)
		p.attribute("size", fmt.Sprintf("%d GB in %s", v.SizeGB, v.DataCenter))
		p.attribute("type", v.Type)
		p.attribute("origin", managed)
		p.attribute("pending", v.Pending)
		if v.MonthlyUSD > 0 {
			p.attribute("cost", money.USD(v.MonthlyUSD)+" a month")
		}
	}
	if r.Run != nil {
		for _, run := range r.Run.Runs {
			p.run(run, run.ID == r.Run.Current, look)
		}
	}
	return p.err
}

func (p *printer) attribute(name, value string) {
	if value != "" {
		p.line("    ", pad(name, 11), " ", clean(value))
	}
}

func (p *printer) run(run *state.Run, current bool, look Look) {
	which := "earlier run"
	if current {
		which = "run"
	}
	p.line("  ", which, " ", look.Bold(clean(run.ID)), "  ", phase(run))
	p.attribute("message", run.Message)
	p.attribute("dir", run.Dir)
	p.attribute("fingerprint", cut(run.Fingerprint, 16))
	if run.GPUType != "" {
		p.attribute("ran on", strings.TrimSuffix(run.GPUType+" in "+run.DataCenter, " in "))
	}
	if run.StartedAt != nil {
		p.attribute("started", stamp(*run.StartedAt))
	}
	if run.EndedAt != nil {
		p.attribute("ended", stamp(*run.EndedAt))
	}
	basis := run.CostBasis
	if basis == "" {
		basis = "estimated"
	}
	p.attribute("cost", money.USD(run.CostUSD)+" ("+basis+")")
	if run.Retrieved {
		p.attribute("results", fmt.Sprintf("%s, %s, verified", count(run.ResultFiles, "file"), Bytes(run.ResultBytes)))
	}
	if s := run.Snapshot; s != nil {
		p.attribute("snapshot", fmt.Sprintf("%s (step %d, %s)", s.Path, s.Step, s.Reason))
	}
	if s := run.Unproven; s != nil {
		p.attribute("unproven", fmt.Sprintf("%s (step %d), not known to be whole", s.Path, s.Step))
	}
	if c := run.From; c != nil {
		p.attribute("went on", fmt.Sprintf("from step %d of run %s", c.Step, clean(c.RunID)))
	}
	if len(run.Metrics) > 0 {
		var parts []string
		for _, k := range sortedKeys(run.Metrics) {
			parts = append(parts, k+" "+number(run.Metrics[k]))
		}
		p.attribute("metrics", plan.List(parts, 8))
	}
	if pod := run.Pod; pod != nil {
		text := fmt.Sprintf("%s, %s", pod.ID, pod.State)
		if !pod.Gone() {
			if pod.RateUSD > 0 {
				text += ", " + money.Price(pod.RateUSD+pod.DiskUSD) + " an hour"
			}
			if pod.Deadline != nil {
				text += ", until " + stamp(*pod.Deadline)
			}
		}
		p.attribute("pod", text)
	}
	for _, s := range run.Strays {
		p.attribute("stray", fmt.Sprintf("%s since %s", s.PodID, stamp(s.Since)))
	}
	for _, s := range run.Secrets {
		p.attribute("secret", s.Name)
	}
}

// phase words where a run is and why.
func phase(run *state.Run) string {
	return StateWords(string(run.Phase), string(run.Reason), run.ExitCode)
}
