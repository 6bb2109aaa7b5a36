package ui

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/overbrainer/overbrainer/apply"
	"github.com/overbrainer/overbrainer/internal/safetext"
)

// draw writes the lines to keep where the rows were, and the rows below them.
func (v *live) draw(keep []string) {
	var b strings.Builder
	if v.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\r\x1b[J", v.drawn)
	}
	for _, line := range keep {
		b.WriteString(line + "\n")
	}
	lines := v.screen(v.at.Add(time.Since(v.heard)))
	for _, line := range lines {
		b.WriteString(v.look.paint(cyan, line) + "\n")
	}
	v.shown, v.drawn = len(v.rows), len(lines)
	if b.Len() > 0 {
		fmt.Fprint(v.w, b.String())
	}
}

// screen gives the lines of all rows: whole where the screen is high enough for
// that, else one for each, and a number for those that find no place.
func (v *live) screen(now time.Time) []string {
	var whole, short []string
	for _, address := range slices.Sorted(maps.Keys(v.rows)) {
		lines := v.lines(v.rows[address], now)
		whole, short = append(whole, lines...), append(short, lines[0])
	}
	most := v.look.rows()
	if len(whole) <= most {
		return whole
	}
	if n := len(short) - most; n > 0 {
		short = append(short[:most-1], fmt.Sprintf("and %d more", n+1))
	}
	return short
}

// lines draws one row within the screen's width: on one line where it fits, else
// on the first who, how long, where and how much, and below it what is done.
func (v *live) lines(r *row, now time.Time) []string {
	room := v.look.Columns() - 1
	name, took := clean(r.address), "  "+Span(now.Sub(r.since))+"  "
	graph := r.graph()
	if graph != "" {
		graph += "  "
	}
	text := status(*r)
	if r.note != "" {
		text += ": " + clean(r.note)
	}
	if line := name + took + graph + text; width(line) <= room {
		return []string{line}
	}
	head := took + join(clean(r.phase), r.money())
	lines := []string{cut(name, max(room-width(head), 10)) + head}
	detail := join(r.work()...)
	if r.note != "" {
		detail = strings.TrimPrefix(detail+": "+clean(r.note), ": ")
	}
	if detail = graph + detail; detail == "" {
		return lines
	}
	for _, line := range Wrap(detail, room-4) {
		lines = append(lines, "    "+cut(line, room-4))
	}
	return lines
}

// graph draws how far a row has come, and its losses.
func (r *row) graph() string {
	switch {
	case r.total > 0:
		return bar(float64(r.done), float64(r.total), 12)
	case r.maxSteps > 0 && r.step > 0 && len(r.losses) > 2:
		return bar(float64(r.step), float64(r.maxSteps), 12) + " " + spark(r.losses, 16)
	case r.maxSteps > 0 && r.step > 0:
		return bar(float64(r.step), float64(r.maxSteps), 12)
	case len(r.losses) > 2:
		return spark(r.losses, 16)
	}
	return ""
}

// keep brings the rows up to date and gives the lines to keep, if any.
func (v *live) keep(e apply.Event) []string {
	if e.Address != "" && e.Kind != apply.EventRemoved {
		r := v.rows[e.Address]
		if r == nil {
			n := newRow(e)
			r = &n
			v.rows[e.Address] = r
		}
		r.take(e)
	}
	name := strings.TrimSpace(prefix(e))
	room := max(v.look.Columns()-width(name)-1, 20)
	switch e.Kind {
	case apply.EventProgress, apply.EventTransfer, apply.EventPhase, apply.EventWaiting:
		return nil
	case apply.EventLog:
		return []string{v.look.Bold(name) + " " + v.look.paint(dim, cut("| "+safetext.OneLine(e.Line), room))}
	case apply.EventEnded, apply.EventFailed:
		delete(v.rows, e.Address)
		if e.State == "succeeded" {
			return v.whole(name, green, sentence(e))
		}
		return v.whole(name, red, sentence(e))
	case apply.EventSkipped, apply.EventDetached:
		delete(v.rows, e.Address)
		return v.whole(name, yellow, sentence(e))
	case apply.EventWarning:
		return v.whole(name, yellow, sentence(e))
	}
	return []string{strings.TrimSpace(v.look.Bold(name) + " " + cut(sentence(e), room))}
}

// whole is text that nobody may miss, broken at words, behind the name of what
// it is about.
func (v *live) whole(name, color, text string) []string {
	lines := Wrap(name+" "+text, v.look.Columns())
	for i, line := range lines {
		if rest, ok := strings.CutPrefix(line, name); ok && i == 0 {
			lines[i] = v.look.Bold(name) + v.look.paint(color, rest)
		} else {
			lines[i] = v.look.paint(color, line)
		}
	}
	return lines
}
