package ui

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/overbrainer/overbrainer/apply"
)

// held is a view whose reader does not read until it is let.
type held struct {
	let    chan struct{}
	shown  []apply.Event
	closed bool
}

func (h *held) Event(e apply.Event) {
	<-h.let
	h.shown = append(h.shown, e)
}
func (h *held) Close() { h.closed = true }

// TestNobodyReads: whoever tells events waits for a reader for a bounded time, nothing
// but logs and progress is left out, and that is told.
func TestNobodyReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		view := &held{let: make(chan struct{})}
		q := Queue(view)
		began := time.Now()
		const lines, phases = 3 * mostQueued, 500
		for i := range lines {
			q.Event(apply.Event{Kind: apply.EventLog, Address: "run.a", Line: fmt.Sprint(i)})
		}
		for i := range phases {
			q.Event(apply.Event{Kind: apply.EventPhase, Address: "run.b", Message: fmt.Sprint(i)})
		}
		if took := time.Since(began); took > 2*readerPatience {
			t.Errorf("telling took %s", took)
		}
		close(view.let)
		q.Close()
		logs, seen, warned := 0, 0, ""
		for _, e := range view.shown {
			switch e.Kind {
			case apply.EventLog:
				if e.Line != fmt.Sprint(logs) {
					t.Fatalf("line %s after %d others", e.Line, logs)
				}
				logs++
			case apply.EventPhase:
				if e.Message != fmt.Sprint(seen) {
					t.Fatalf("phase %s after %d others", e.Message, seen)
				}
				seen++
			case apply.EventWarning:
				warned += e.Message
			}
		}
		if seen != phases || logs < mostQueued || !strings.HasPrefix(warned, fmt.Sprintf("%d lines of logs and progress are left out", lines-logs)) || !view.closed {
			t.Errorf("%d phases, %d lines, closed %v: %q", seen, logs, view.closed, warned)
		}
	})
}

// TestSlowReaderMissesNothing that it takes in time.
func TestSlowReaderMissesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		view := &held{let: make(chan struct{})}
		go func() {
			for range 3 * mostQueued {
				time.Sleep(100 * time.Microsecond)
				view.let <- struct{}{}
			}
		}()
		q := Queue(view)
		for i := range 3 * mostQueued {
			q.Event(apply.Event{Kind: apply.EventLog, Line: fmt.Sprint(i)})
		}
		q.Close()
		for i, e := range view.shown {
			if e.Line != fmt.Sprint(i) {
				t.Fatalf("line %s at %d", e.Line, i)
			}
		}
		if len(view.shown) != 3*mostQueued {
			t.Errorf("%d lines", len(view.shown))
		}
	})
}
