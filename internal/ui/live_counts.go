package ui

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/overbrainer/overbrainer/apply"
	"github.com/overbrainer/overbrainer/internal/money"
)

// few is how many runs need no counting: each has a row.
const few = 5

// phases are those of a run in the order in which it goes through them; behind them
// is how it ended, of which the first two are always told.
var (
	phases = []string{"waiting", "placing", "booting", "uploading", "starting", "training", "evaluating", "finalizing", "retrieving", "ending"}
	ends   = []string{"done", "failed", "stopped", "cancelled", interrupted, "skipped", waiting, "left running"}
)

// counts are the runs of an execution.
type counts struct {
	planned  int                 // how many there are to be
	unpriced bool                // what they have cost is not told: not all of them tell it
	ended    map[string]string   // one of ends, or not begun, by address
	spent    map[string]spending // by run ID
}

// spending is what a run had cost at a moment, and what an hour of it costs since.
type spending struct {
	usd, hourly float64
	at          time.Time
}

func spendingOf(e apply.Event) spending {
	return spending{e.SpentUSD, e.RateUSD * cmp.Or(e.Speed, 1), e.Time}
}

// by is what it comes to, an estimate.
func (s spending) by(now time.Time) float64 {
	return s.usd + s.hourly*max(0, now.Sub(s.at).Hours())
}

// take notes what an event says of a run.
func (c *counts) take(e apply.Event) {
	if !strings.HasPrefix(e.Address, "run.") {
		return
	}
	if c.ended == nil {
		c.ended, c.spent = map[string]string{}, map[string]spending{}
	}
	switch {
	case e.RunID != "" && e.SpentUSD > 0:
		c.spent[e.RunID] = spendingOf(e)
	case e.Kind == apply.EventEnded: // and what it cost is not known here
		c.spent[e.RunID] = spending{usd: c.spent[e.RunID].by(e.Time)}
	}
	switch {
	case e.Kind == apply.EventEnded && e.State == succeeded, leftState(e):
		c.ended[e.Address] = "done"
	case e.Kind == apply.EventEnded:
		c.ended[e.Address] = endOf(e.State, e.Reason)
	case e.State == apply.StateNotBegun:
		c.ended[e.Address] = e.State
	case e.Kind == apply.EventFailed:
		c.ended[e.Address] = "failed"
	case e.Kind == apply.EventSkipped:
		c.ended[e.Address] = "skipped"
	case e.Kind == apply.EventDetached && e.State != "":
		c.ended[e.Address] = waiting
	case e.Kind == apply.EventDetached:
		c.ended[e.Address] = "left running"
	case e.Kind == apply.EventPhase: // another run of the address
		delete(c.ended, e.Address)
	}
}

// leftState tells the end of what was to be removed.
func leftState(e apply.Event) bool { return e.Kind == apply.EventRemoved && e.Phase == "done" }

// text says what all runs have cost by now, and how many there are in each phase; ""
// where they are few. The money comes first: what is too long for a screen loses its
// end.
func (c *counts) text(rows map[string]*row, now time.Time) string {
	if c.planned <= few {
		return ""
	}
	in, going := map[string]int{}, 0
	for address, r := range rows {
		if strings.HasPrefix(address, "run.") && c.ended[address] == "" {
			going++
			in[cmp.Or(clean(r.phase), phases[0])]++
		}
	}
	for _, how := range c.ended {
		in[how]++
	}
	total := max(c.planned, going+len(c.ended))
	in[apply.StateNotBegun] += total - going - len(c.ended)
	order := slices.Concat([]string{apply.StateNotBegun}, phases, ends)
	for _, other := range slices.Sorted(maps.Keys(in)) {
		if !slices.Contains(order, other) {
			order = slices.Insert(order, 1+len(phases), other)
		}
	}
	var parts []string
	for _, name := range order {
		if n := in[name]; n > 0 || name == ends[0] || name == ends[1] {
			parts = append(parts, fmt.Sprintf("%d %s", n, name))
		}
	}
	text := fmt.Sprintf("%d runs", total)
	if !c.unpriced {
		spent := 0.0
		for _, s := range c.spent {
			spent += s.by(now)
		}
		text += ", about " + money.USD(spent) + " so far"
	}
	return text + ": " + strings.Join(parts, ", ")
}

// first gives the rows to show where n have a place: those in trouble before all,
// then those whose phase changed last. They stay in the order of their addresses.
func first(rows []*row, n int) map[string]bool {
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b *row) int {
		if a.trouble != b.trouble {
			return cmp.Compare(fromBool(b.trouble), fromBool(a.trouble))
		}
		return b.changed.Compare(a.changed)
	})
	shown := map[string]bool{}
	for _, r := range rows[:min(n, len(rows))] {
		shown[r.address] = true
	}
	return shown
}

func fromBool(b bool) int {
	if b {
		return 1
	}
	return 0
}

// news notes what makes a row worth a place where there are more than the screen has.
func (r *row) news(e apply.Event) {
	switch {
	case e.Kind == apply.EventWarning, e.Kind == apply.EventUnavailable, e.Kind == apply.EventWaiting && e.Phase == "":
		r.trouble, r.changed = true, e.Time // such a wait is for none of the phases
	case e.Kind == apply.EventProgress:
		r.trouble = false
	}
}
