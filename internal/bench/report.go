package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// report is what is printed.
type report struct {
	out  io.Writer
	told map[string]bool // goals of which something was said
}

// table prints a title and rows, of which the first is the heading.
func (r *report) table(title string, rows ...[]string) {
	fmt.Fprintf(r.out, "\n%s\n", title)
	w := tabwriter.NewWriter(r.out, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(w, "  "+strings.Join(row, "\t"))
	}
	_ = w.Flush()
}

// bound is one condition of a goal.
type bound struct {
	what  string // what is compared: "scp", "rss"; may be empty
	value float64
	least bool // value must be at least limit, not at most
	limit float64
	unit  string // "x" for a ratio, "ms", "MB"
}

// times says how many times as fast as a peer something is.
func times(peer string, ratio, least float64) bound {
	return bound{what: peer, value: ratio, least: true, limit: least, unit: "x"}
}

// atMost bounds a value from above.
func atMost(what string, value, limit float64, unit string) bound {
	return bound{what: what, value: value, limit: limit, unit: unit}
}

func (b bound) met() bool {
	if b.least {
		return b.value >= b.limit
	}
	return b.value <= b.limit
}

// goal prints the line of a goal. It is met when all its bounds are.
func (r *report) goal(name string, bounds ...bound) {
	var figures, targets []string
	verdict := "met"
	for _, b := range bounds {
		sign := "<="
		if b.least {
			sign = ">="
		}
		figures = append(figures, fmt.Sprintf("%s%.3g%s", prefix(b.what), b.value, b.unit))
		targets = append(targets, fmt.Sprintf("%s%s%g%s", prefix(b.what), sign, b.limit, b.unit))
		if !b.met() {
			verdict = "missed"
		}
	}
	r.line(name, strings.Join(figures, ","), strings.Join(targets, ","), verdict)
}

func prefix(what string) string {
	if what == "" {
		return ""
	}
	return what + ":"
}

// unknown prints the line of a goal that could not be measured, unless it has
// one already.
func (r *report) unknown(name string) {
	if !r.told[name] {
		r.line(name, "-", "-", "missed")
	}
}

func (r *report) line(name, figure, target, verdict string) {
	if r.told == nil {
		r.told = map[string]bool{}
	}
	r.told[name] = true
	fmt.Fprintln(r.out, "goal", name, figure, target, verdict)
}

// median of values, of which there is at least one.
func median[T cmp.Ordered](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[(len(sorted)-1)/2]
}

// ratio of two durations.
func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

// show rounds a duration to what can be trusted of it.
func show(d time.Duration) string {
	if d < time.Second {
		return d.Round(100 * time.Microsecond).String()
	}
	return d.Round(10 * time.Millisecond).String()
}

// mb shows bytes in MB of 1,000,000.
func mb(bytes int64) string { return fmt.Sprintf("%.1f MB", float64(bytes)/1e6) }
