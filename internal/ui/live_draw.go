package ui

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/clipperhouse/displaywidth"

	"github.com/overbrainer/overbrainer/apply"
	"github.com/overbrainer/overbrainer/internal/safetext"
)

// Lines that are drawn over must not be wrapped by a terminal that takes their
// characters for wider than they are taken for here: it cuts them.
const (
	noWrap = "\x1b[?7l"
	wraps  = "\x1b[?7h"
)

// draw writes the lines to keep where the rows were, and the rows below them.
func (v *live) draw(keep []string) {
	var b strings.Builder
	up := v.above()
	if up > 0 {
		// Line by line: tmux takes a screen that is cleared from its first line on
		// for one to keep in its history.
		fmt.Fprintf(&b, "\x1b[%dA\r%s\x1b[%dA", up, strings.Repeat("\x1b[2K\x1b[B", up), up)
	}
	for _, line := range keep {
		b.WriteString(line + "\n")
	}
	lines := v.screen(v.at.Add(time.Since(v.heard)))
	v.shown, v.drawn = len(v.rows), nil
	if len(lines) > 0 {
		b.WriteString(noWrap)
		for _, l := range lines {
			b.WriteString(v.look.Bold(l.name) + l.text + "\n")
			v.drawn = append(v.drawn, l.name+l.text)
		}
		b.WriteString(wraps)
	}
	if up > 0 {
		b.WriteString("\x1b[J")
	}
	if b.Len() > 0 {
		fmt.Fprint(v.w, b.String())
	}
}

// above counts the lines of the screen that the rows take now. A terminal that
// has become narrower has broken those that are too long for it.
func (v *live) above() int {
	n := 0
	for _, line := range v.drawn {
		n++
		used := 0
		for g := displaywidth.StringGraphemes(line); v.look.Width > 0 && g.Next(); used += g.Width() {
			if used+g.Width() > v.look.Width {
				n, used = n+1, 0
			}
		}
	}
	return n
}

// drawing is a line of a row: the name that it is about, where it begins with
// that, and the rest.
type drawing struct{ name, text string }

// screen gives the lines of all rows: whole where the screen is high enough for
// that, else one for each, and a number for those that find no place. Below them
// are the counts, where there are some.
func (v *live) screen(now time.Time) []drawing {
	var whole, short, below []drawing
	var rows []*row
	most := v.look.rows()
	if text := v.runs.text(v.rows, now); text != "" {
		for _, line := range Wrap(text, v.room()) {
			below = append(below, drawing{text: cut(line, v.room())})
		}
		below = below[:min(len(below), most-1)]
		most -= len(below)
	}
	for _, address := range slices.Sorted(maps.Keys(v.rows)) {
		r := v.rows[address]
		one, fits := v.line(r, now)
		rows, short = append(rows, r), append(short, one)
		if !r.grown(!fits, v.room()) {
			whole = append(whole, one)
		} else {
			whole = append(whole, v.lines(r, now)...)
		}
	}
	if len(whole) <= most {
		return append(whole, below...)
	}
	if n := len(short) - most; n > 0 {
		shown := first(rows, most-1)
		chosen := short[:0]
		for i, r := range rows {
			if shown[r.address] {
				chosen = append(chosen, short[i])
			}
		}
		short = append(chosen, drawing{text: fmt.Sprintf("and %d more", n+1)})
	}
	return append(short, below...)
}

// room is how many columns a line may take. The last one stays free: some
// terminals wrap there already.
func (v *live) room() int {
	if v.look.Width == 0 {
		return v.look.Columns() - 1
	}
	return v.look.Width - 1
}

// line draws one row on one line: with everything where that fits, which it
// reports, else with as much as there is room for, the money before all.
func (v *live) line(r *row, now time.Time) (d drawing, whole bool) {
	name, took := r.begins(now)
	room := v.room() - width(name+took)
	all := status(*r, now)
	if r.note != "" {
		all += ": " + clean(r.note)
	}
	if graph := r.graph(); graph != "" {
		all = graph + "  " + all
	}
	if width(all) <= room {
		return drawing{name, took + all}, true
	}
	work := r.work()
	text := join(clean(r.phase), r.money(now))
	for n := len(work); n > 0; n-- {
		if more := join(clean(r.phase), join(work[:n]...), r.money(now)); width(more) <= room {
			text = more
			break
		}
	}
	const least = 20 // of a note that says anything
	if left := room - width(text) - 2; r.note != "" && left >= least {
		text += ": " + cut(clean(r.note), left)
	}
	return v.fit(name, took+text), false
}

// lines draws one row on several: on the first who, how long, where and how much,
// and below it what is done.
func (v *live) lines(r *row, now time.Time) []drawing {
	name, took := r.begins(now)
	lines := []drawing{v.fit(name, took+join(clean(r.phase), r.money(now)))}
	detail := join(r.work()...)
	if r.note != "" {
		detail = strings.TrimPrefix(detail+": "+clean(r.note), ": ")
	}
	if graph := r.graph(); graph != "" {
		detail = graph + "  " + detail
	}
	if detail == "" {
		return lines
	}
	const indent = "    "
	room := v.room() - len(indent)
	for _, line := range Wrap(detail, room) {
		lines = append(lines, drawing{text: indent + cut(line, room)})
	}
	return lines
}

// grown reports whether a row takes several lines: once its text was too long for one
// it goes on doing so, in as many columns, until its phase changes. What comes and goes
// in it would else move all rows below it again and again.
func (r *row) grown(tooLong bool, room int) bool {
	if tooLong {
		r.several = several{room, r.phase}
	}
	return r.several == several{room, r.phase}
}

// several is when a row takes several lines: in how many columns, in which phase.
type several struct {
	room  int
	phase string
}

// begins is what every line of a row begins with.
func (r *row) begins(now time.Time) (name, took string) {
	return clean(r.address), "  " + Span(now.Sub(r.since)) + "  "
}

// fit shortens a name to what the text after it leaves of a line, and both where
// that is next to nothing.
func (v *live) fit(name, text string) drawing {
	name = cut(name, max(v.room()-width(text), 10))
	return drawing{name, cut(text, v.room()-width(name))}
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
	v.runs.take(e)
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
		if e.Kind == apply.EventWaiting && e.Address == "" { // it is about the command
			return v.whole(name, magenta, sentence(e))
		}
		return nil
	case apply.EventLog:
		return []string{v.look.Bold(name) + " " + v.look.paint(dim, cut("| "+strings.ReplaceAll(safetext.OneLine(e.Line), "\t", "    "), room))}
	case apply.EventEnded, apply.EventFailed:
		delete(v.rows, e.Address)
		if e.State == "succeeded" {
			return v.whole(name, green, sentence(e))
		}
		return v.whole(name, red, sentence(e))
	case apply.EventSkipped, apply.EventDetached:
		delete(v.rows, e.Address)
		if v.runs.planned > few {
			return nil // they are counted, and told at the end
		}
		return v.whole(name, magenta, sentence(e))
	case apply.EventWarning:
		return v.whole(name, magenta, sentence(e))
	case apply.EventCreating, apply.EventCreated, apply.EventDeleted: // they tell money
		return v.whole(name, "", sentence(e))
	case apply.EventRemoved:
		if leftState(e) {
			delete(v.rows, e.Address)
		}
	}
	return []string{strings.TrimSpace(v.look.Bold(name) + " " + cut(sentence(e), room))}
}

// whole is text that nobody may miss, broken at words, behind the name of what
// it is about.
func (v *live) whole(name, color, text string) []string {
	lines := Wrap(strings.TrimSpace(name+" "+text), v.look.Columns())
	for i, line := range lines {
		if rest, ok := strings.CutPrefix(line, name); ok && i == 0 {
			lines[i] = v.look.Bold(name) + v.look.paint(color, rest)
		} else {
			lines[i] = v.look.paint(color, line)
		}
	}
	return lines
}
