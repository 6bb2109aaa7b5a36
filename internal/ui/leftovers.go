package ui

import (
	"fmt"
	"io"

	"github.com/overbrainer/overbrainer/internal/money"
	"github.com/overbrainer/overbrainer/plan"
)

// Leftovers lists what exists outside a plan's steps, what it costs an hour, a
// day and a month, and the command that ends it.
func Leftovers(w io.Writer, left []plan.Leftover, look Look) error {
	if len(left) == 0 {
		return nil
	}
	p := &printer{w: w}
	p.line()
	p.line(look.Bold("Left over:"))
	for _, l := range left {
		name := l.ID
		if name == "" {
			name = l.RunID
		}
		cost := ""
		switch {
		case l.MonthlyUSD != nil && l.Hourly != nil:
			cost = Rates(*l.Hourly, l.MonthlyUSD)
		case l.MonthlyUSD != nil:
			cost = money.USD(*l.MonthlyUSD) + " a month"
		case l.Hourly == nil && (l.Kind == "secret" || l.Kind == "unanswered"):
		case l.Hourly == nil:
			cost = "at an unknown price"
		case *l.Hourly > 0:
			cost = Rates(*l.Hourly, nil)
		}
		p.line("  ", look.paint(magenta, pad(l.Kind, 10)), " ", look.Bold(clean(name)))
		for _, text := range []string{clean(l.Note), cost} {
			for _, line := range Wrap(text, look.Columns()-13) {
				if line != "" {
					p.line("             ", line)
				}
			}
		}
		if l.Fix != "" {
			p.line("             ends with: ", look.Bold(clean(l.Fix)))
		}
	}
	return p.err
}

// Rates says what something costs an hour, a day and a month, in USD; monthly
// is given for what is billed by the month.
func Rates(hourly float64, monthly *float64) string {
	hourly = money.Rate(hourly)
	month := hourly * hoursAMonth
	if monthly != nil {
		month = *monthly
	}
	return fmt.Sprintf("%s an hour, %s a day, %s a month", money.Price(hourly), money.USD(hourly*24), money.USD(month))
}
