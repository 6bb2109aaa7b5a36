package ui

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/overbrainer/overbrainer/apply"
	"github.com/overbrainer/overbrainer/internal/safetext"
)

// LiveEvents redraws one line for each run at the bottom of a terminal, with
// what is worth keeping above them.
func LiveEvents(w io.Writer, look Look) Events {
	return &live{w: w, look: look, rows: map[string]*row{}}
}

type live struct {
	mu    sync.Mutex
	w     io.Writer
	look  Look
	rows  map[string]*row
	drawn int // lines that are on the screen below the kept ones
	last  time.Time
}

// row is what is known of a run that goes on.
type row struct {
	address, phase string
	since          time.Time
	step, maxSteps int64
	metrics        map[string]float64
	losses         []float64
	spent, cap     float64
	done, total    int64
	rate           float64
	note           string
	lastStep       int64
}

func newRow(e apply.Event) row {
	r := row{address: e.Address, since: e.Time}
	r.take(e)
	return r
}

// take brings the row up to date.
func (r *row) take(e apply.Event) {
	if e.Phase != "" && e.Phase != r.phase {
		r.phase, r.note = e.Phase, ""
		r.done, r.total, r.rate = 0, 0, 0
	}
	if e.Step > 0 {
		r.step = e.Step
	}
	if e.MaxSteps > 0 {
		r.maxSteps = e.MaxSteps
	}
	if e.SpentUSD > 0 {
		r.spent = e.SpentUSD
	}
	if e.CapUSD > 0 {
		r.cap = e.CapUSD
	}
	switch e.Kind {
	case apply.EventTransfer:
		r.done, r.total, r.rate = e.Done, e.Total, e.Rate
	case apply.EventWaiting:
		r.note = e.Message
	case apply.EventProgress:
		r.metrics = e.Metrics
		if loss, ok := e.Metrics["loss"]; ok && (e.Step > r.lastStep || r.lastStep == 0) {
			r.losses, r.lastStep = append(r.losses, loss), e.Step
			if len(r.losses) > 200 {
				r.losses = r.losses[100:]
			}
		}
	}
}

// redraw is how often mere progress is drawn at most.
const redraw = 80 * time.Millisecond

func (v *live) Event(e apply.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	keep := v.keep(e)
	if keep == "" && e.Time.Sub(v.last) < redraw && v.drawn == len(v.rows) {
		return
	}
	v.last = e.Time
	var b strings.Builder
	if v.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\r\x1b[J", v.drawn)
	}
	if keep != "" {
		b.WriteString(keep + "\n")
	}
	v.drawn = 0
	for _, address := range slices.Sorted(maps.Keys(v.rows)) {
		if v.drawn == 30 {
			break
		}
		b.WriteString(v.draw(v.rows[address], e.Time) + "\n")
		v.drawn++
	}
	fmt.Fprint(v.w, b.String())
}

// keep brings the rows up to date and gives the line to keep, if any.
func (v *live) keep(e apply.Event) string {
	if e.Address != "" && e.Kind != apply.EventRemoved {
		r := v.rows[e.Address]
		if r == nil {
			n := newRow(e)
			r = &n
			v.rows[e.Address] = r
		}
		r.take(e)
	}
	name := v.look.Bold(strings.TrimSpace(prefix(e)))
	room := v.look.Columns() - width(clean(e.Address)) - 1
	text := cut(sentence(e), max(room, 20))
	switch e.Kind {
	case apply.EventProgress, apply.EventTransfer, apply.EventPhase, apply.EventWaiting:
		return ""
	case apply.EventLog:
		return name + " " + v.look.paint(dim, cut("| "+safetext.OneLine(e.Line), max(room, 20)))
	case apply.EventEnded:
		delete(v.rows, e.Address)
		color := green
		if e.State != "succeeded" {
			color = red
		}
		return name + " " + v.look.paint(color, sentence(e))
	case apply.EventFailed:
		delete(v.rows, e.Address)
		return name + " " + v.look.paint(red, sentence(e))
	case apply.EventSkipped, apply.EventDetached:
		delete(v.rows, e.Address)
		return name + " " + v.look.paint(yellow, sentence(e))
	case apply.EventWarning:
		return strings.TrimSpace(name + " " + v.look.paint(yellow, sentence(e)))
	}
	return strings.TrimSpace(name + " " + text)
}

// draw is one row within the screen's width.
func (v *live) draw(r *row, now time.Time) string {
	left := clean(r.address) + "  " + Span(now.Sub(r.since))
	text := status(*r)
	if r.note != "" {
		text += ": " + clean(r.note)
	}
	graph := ""
	switch {
	case r.total > 0:
		graph = bar(float64(r.done), float64(r.total), 12)
	case r.maxSteps > 0 && r.step > 0:
		graph = bar(float64(r.step), float64(r.maxSteps), 12)
		if len(r.losses) > 2 && v.look.Columns() >= 100 {
			graph += " " + spark(r.losses, 16)
		}
	}
	room := v.look.Columns() - 1
	if r.total == 0 && width(left+graph+text)+4 > room {
		graph = "" // the words have the step as well, and the money, which must be seen
	}
	line := left + "  " + graph
	if graph != "" {
		line += "  "
	}
	line = cut(line+text, room)
	return v.look.paint(cyan, line)
}

func (v *live) Close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.drawn = 0
	clear(v.rows)
}
