package ui

import (
	"io"
	"sync"
	"time"

	"github.com/overbrainer/overbrainer/apply"
)

// LiveEvents redraws the runs that go on at the bottom of a terminal, with what
// is worth keeping above them. Their time passes also while nothing happens. look
// is asked before each drawing: a terminal changes its size. Below the rows the runs
// are counted, where many are to be followed or removed.
func LiveEvents(w io.Writer, look func() Look, followed, removed int) Events {
	return &live{w: w, ask: look, rows: map[string]*row{}, told: echoes{}, runs: counts{planned: followed + removed, unpriced: followed == 0}}
}

type live struct {
	mu    sync.Mutex
	w     io.Writer
	ask   func() Look
	look  Look // as it was asked for last
	rows  map[string]*row
	told  echoes
	runs  counts
	shown int      // rows that are on the screen
	drawn []string // their lines, below the kept ones
	last  time.Time
	at    time.Time     // of the last event
	heard time.Time     // when it came, by the clock that ticks here
	stop  chan struct{} // ends the ticking; nil before the first event
}

// row is what is known of a run that goes on.
type row struct {
	address, phase string
	since          time.Time
	step, maxSteps int64
	metrics        map[string]float64
	losses         []float64
	spent          spending
	cap            float64
	done, total    int64
	rate           float64
	note           string
	several        several
	lastStep       int64
	changed        time.Time // when its phase did, or trouble began
	trouble        bool
}

func newRow(e apply.Event) row {
	r := row{address: e.Address, since: e.Time}
	if !e.Since.IsZero() && e.Since.Before(e.Time) {
		r.since = e.Since // an earlier command began it
	}
	r.take(e)
	return r
}

// take brings the row up to date.
func (r *row) take(e apply.Event) {
	if e.Phase != "" && e.Phase != r.phase {
		r.phase, r.note = e.Phase, ""
		r.changed, r.trouble = e.Time, false
		r.done, r.total, r.rate = 0, 0, 0
	}
	if e.Step > 0 {
		r.step = e.Step
	}
	if e.MaxSteps > 0 {
		r.maxSteps = e.MaxSteps
	}
	if e.SpentUSD > 0 {
		r.spent = spendingOf(e)
	}
	if e.CapUSD > 0 {
		r.cap = e.CapUSD
	}
	r.news(e)
	switch e.Kind {
	case apply.EventTransfer:
		r.done, r.total, r.rate = e.Done, e.Total, e.Rate
	case apply.EventWaiting:
		r.note = e.Message
	case apply.EventProgress:
		r.metrics, r.note = e.Metrics, "" // it is heard of
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
	if v.stop == nil {
		v.stop = make(chan struct{})
		go v.tick(v.stop)
	}
	v.at, v.heard, v.look = e.Time, time.Now(), v.ask()
	v.told.shorten(&e)
	keep := v.keep(e)
	if len(keep) == 0 && e.Time.Sub(v.last) < redraw && v.shown == len(v.rows) {
		return
	}
	v.last = e.Time
	v.draw(keep)
}

// tick draws the rows anew every second.
func (v *live) tick(stop <-chan struct{}) {
	every := time.NewTicker(time.Second)
	defer every.Stop()
	for {
		select {
		case <-stop:
			return
		case <-every.C:
			v.mu.Lock()
			v.look = v.ask()
			v.draw(nil)
			v.mu.Unlock()
		}
	}
}

func (v *live) Close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.shown, v.drawn = 0, nil
	clear(v.rows)
	if v.stop != nil {
		close(v.stop)
		v.stop = nil
	}
}
