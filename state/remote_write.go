package state

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
)

// keptWrites is how many writes a state remembers: more than others can do
// while one who lost an answer reads back.
const keptWrites = 32

// writing is one batch on its way, over several attempts.
type writing struct {
	r     *RemoteStore
	ctx   context.Context
	tx    Transaction
	old   []byte   // the document there, where it is of an older version
	last  prepared // what was sent last
	tries []try
	// unsure is the last lost answer that reading back has not settled.
	unsure error
}

// try is one write: its ID and what was in it.
type try struct {
	id      string
	updates []*update
}

// stamp gives the write an ID that the state keeps.
func (w *writing) stamp(work *State, accepted []*update) {
	w.tries = append(w.tries, try{id: work.signed(), updates: accepted})
}

// signed puts the ID of a new write into the state, and gives it.
func (s *State) signed() string {
	id := newClaimID()
	kept := s.Writes[max(0, len(s.Writes)-keptWrites+1):]
	s.Writes = append(slices.Clone(kept), id)
	return id
}

// write sends the document. What was sent is not taken back when the caller's
// context ends: the answer is needed to know.
func (w *writing) write(cur loaded, p prepared) (loaded, error) {
	if w.old != nil {
		if _, err := w.r.saveIn(w.r.dir, replacedInfix, w.old); err != nil {
			return cur, &WriteError{Path: w.r.path, Err: err}
		}
	}
	data, err := Encode(p.next)
	if err != nil {
		return cur, err
	}
	w.last = p
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), callTimeout)
	defer cancel()
	if err := w.tx.Write(ctx, data); err != nil {
		var unsure *UnsureError
		if errors.As(err, &unsure) {
			w.unsure = err
		}
		return cur, err
	}
	return loaded{path: cur.path, doc: printOf(data), state: p.next, version: Version}, nil
}

// settle looks for earlier tries in what was read. Those found have landed.
func (w *writing) settle(cur loaded) {
	w.unsure = nil
	if cur.state == nil {
		return
	}
	now := cur.state.shallow()
	for _, t := range w.tries {
		if slices.Contains(cur.state.Writes, t.id) {
			// What was pending before was in it.
			w.r.settled()
			for _, u := range t.updates {
				u.landed, u.err, u.written = true, nil, now
			}
		}
	}
}

// failed is what a transaction that came to nothing means. While the answer to
// a write is outstanding everything is tried again, and so is what a server that
// cannot be reached keeps from being done.
func (w *writing) failed(err error, batch []*update) error {
	waits := w.r.waitsFor(err)
	if waits {
		w.r.away(err)
	}
	switch {
	case w.unsure != nil:
		return &UnsureError{Err: err}
	case waits:
		return &awayError{err}
	}
	return w.r.rescue(err, waiting(batch), w)
}

func waiting(batch []*update) []*update {
	var left []*update
	for _, u := range batch {
		if !u.landed {
			left = append(left, u)
		}
	}
	return left
}

// together gives a context that ends when nobody in the batch waits any more.
func together(batch []*update) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(batch[0].ctx))
	var left atomic.Int64
	left.Store(int64(len(batch)))
	stops := make([]func() bool, 0, len(batch))
	for _, u := range batch {
		stops = append(stops, context.AfterFunc(u.ctx, func() {
			if left.Add(-1) == 0 {
				cancel()
			}
		}))
	}
	return ctx, func() {
		for _, stop := range stops {
			stop()
		}
		cancel()
	}
}

func splitWho(who string) (user, host string) {
	if i := strings.LastIndexByte(who, '@'); i >= 0 {
		return who[:i], who[i+1:]
	}
	return who, ""
}
