package ui

import (
	"fmt"
	"sync"
	"time"

	"github.com/overbrainer/overbrainer/apply"
)

const (
	// mostQueued and mostBytes are how much of logs and progress waits to be shown.
	mostQueued, mostBytes = 4096, 4 << 20
	// readerPatience is for how long more of it waits for room.
	readerPatience = 2 * time.Second
)

// Queue shows events by a view of which nobody waits for the reader: a pager, or a
// terminal that hangs, delays neither results nor deletions. What a slow reader does
// not take within readerPatience of logs and progress is left out, and told.
func Queue(v Events) Events {
	q := &queue{view: v, news: make(chan struct{}, 1), room: make(chan struct{}), done: make(chan struct{})}
	go q.show()
	return q
}

type queue struct {
	view Events
	news chan struct{} // something was queued, or the queue was closed
	done chan struct{}

	mu      sync.Mutex
	events  []apply.Event
	bytes   int           // of their lines
	room    chan struct{} // closed when the queue is taken to be shown
	stuck   bool          // nobody reads
	missing int           // left out since it is
	closed  bool
}

func (q *queue) Event(e apply.Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch e.Kind {
	case apply.EventLog, apply.EventProgress, apply.EventTransfer:
		if q.full() && !q.stuck {
			q.await()
		}
		if q.full() {
			q.stuck = true
			q.missing++
			return
		}
	}
	q.events, q.bytes = append(q.events, e), q.bytes+len(e.Line)
	q.wake()
}

func (q *queue) full() bool { return len(q.events) >= mostQueued || q.bytes >= mostBytes }

// await waits for room, for a while. mu is held, and given up meanwhile.
func (q *queue) await() {
	room := q.room
	q.mu.Unlock()
	defer q.mu.Lock()
	t := time.NewTimer(readerPatience)
	defer t.Stop()
	select {
	case <-room:
	case <-t.C:
	}
}

func (q *queue) wake() {
	select {
	case q.news <- struct{}{}:
	default:
	}
}

// show shows what is queued until the queue is closed and empty.
func (q *queue) show() {
	defer close(q.done)
	for {
		q.mu.Lock()
		events, closed := q.events, q.closed
		if q.missing > 0 {
			events = append(events, apply.Event{Time: events[len(events)-1].Time, Kind: apply.EventWarning, Message: fmt.Sprintf(
				"%d lines of logs and progress are left out here, because nobody read them for %s; the logs are in the directories of the runs", q.missing, readerPatience)})
		}
		q.events, q.bytes, q.stuck, q.missing = nil, 0, false, 0
		close(q.room)
		q.room = make(chan struct{})
		q.mu.Unlock()
		for _, e := range events {
			q.view.Event(e)
		}
		if closed {
			return
		}
		<-q.news
	}
}

// Close shows what is left, and ends the view.
func (q *queue) Close() {
	q.mu.Lock()
	q.closed = true
	q.wake()
	q.mu.Unlock()
	<-q.done
	q.view.Close()
}
