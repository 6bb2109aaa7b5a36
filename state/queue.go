package state

import (
	"context"
	"errors"
	"fmt"
)

// update is one call of Update in the queue.
type update struct {
	ctx     context.Context
	change  func(*State) error
	done    chan struct{}
	written *document // after it
	landed  bool      // it is in what was written
	err     error
}

// medium is how a document gets to where it lies.
type medium interface {
	// stamp marks the state that is about to be written with these updates.
	stamp(work *State, accepted []*update)
	// write replaces what was loaded. An error that is errMoved or an
	// *UnsureError lets the transaction begin again.
	write(cur loaded, data []byte) error
}

// enqueue runs change in a transaction with whatever else waits. Whoever comes
// first writes for all; transact does it for a batch.
func (c *core) enqueue(ctx context.Context, change func(*State) error, transact func([]*update) error) (*State, error) {
	u := &update{ctx: ctx, change: change, done: make(chan struct{})}
	c.mu.Lock()
	c.queue = append(c.queue, u)
	c.mu.Unlock()

	select {
	case c.commit <- struct{}{}:
		c.commitQueue(transact)
		<-c.commit
	case <-u.done:
	case <-ctx.Done():
		if c.withdraw(u) {
			return nil, ctx.Err()
		}
	}
	<-u.done
	if u.err != nil && !errors.Is(u.err, ErrNoChange) {
		return nil, u.err
	}
	return u.written.lend(c.path)
}

// withdraw takes u out of the queue; false when it is already being written.
func (c *core) withdraw(u *update) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, q := range c.queue {
		if q == u {
			c.queue = append(c.queue[:i], c.queue[i+1:]...)
			return true
		}
	}
	return false
}

// commitQueue writes everything that waits, in one write where that is
// possible.
func (c *core) commitQueue(transact func([]*update) error) {
	c.mu.Lock()
	batch := c.queue
	c.queue = nil
	c.mu.Unlock()
	defer func() {
		for _, u := range batch {
			close(u.done)
		}
	}()

	live := make([]*update, 0, len(batch))
	for _, u := range batch {
		if u.err = u.ctx.Err(); u.err == nil {
			live = append(live, u)
		}
	}
	if len(live) == 0 {
		return
	}
	if err := transact(live); err != nil {
		for _, u := range live {
			if !u.landed && (u.err == nil || errors.Is(u.err, ErrNoChange)) {
				u.err = err
			}
		}
	}
}

// commitOn applies the batch to what was loaded and writes the outcome.
func (c *core) commitOn(cur loaded, batch []*update, m medium) error {
	untouched := cur.data
	var err error
	if cur.state == nil {
		if cur.state = c.fresh(); cur.state.Lineage == "" {
			cur.state.Lineage = newLineage()
		}
		if untouched, err = Encode(c.fresh()); err != nil {
			return err
		}
	}
	before := &document{data: untouched}
	for _, u := range batch {
		u.written, u.err = before, nil
	}
	return c.commitTo(cur, batch, m)
}

func (c *core) commitTo(cur loaded, batch []*update, m medium) error {
	work, accepted, err := applyAll(func() (*State, error) { return cur.state.copy(), nil }, batch)
	if err != nil || len(accepted) == 0 {
		return err
	}
	work.Version, work.Lineage = Version, cur.state.Lineage
	work.OverbrainerVersion, work.Serial = c.version, cur.state.Serial+1
	m.stamp(work, accepted)
	withhold(work)
	data, err := Encode(work)
	if err != nil {
		return c.separate(cur, accepted, m, err)
	}
	if err := m.write(cur, data); err != nil {
		if again(err) {
			return err
		}
		return c.save(err, data)
	}
	after := &document{data: data}
	c.remember(work, after)
	for _, u := range accepted {
		u.written, u.landed = after, true
	}
	return nil
}

// separate finds the change that made a state which cannot be written, so that
// it does not take the others with it.
func (c *core) separate(cur loaded, accepted []*update, m medium, err error) error {
	if len(accepted) == 1 {
		accepted[0].err = fmt.Errorf("a change made a state that cannot be written: %w", err)
		return nil
	}
	for _, u := range accepted {
		if err := c.commitTo(cur, []*update{u}, m); err != nil {
			return err
		}
		if u.err != nil {
			continue
		}
		if cur.state, err = decodeDocument(u.written.data); err != nil {
			return err
		}
		cur.data, cur.version = u.written.data, Version
	}
	return nil
}

// applyAll runs the changes one after another on what base gives. One that fails
// leaves no trace: the others run again on a fresh copy.
func applyAll(base func() (*State, error), batch []*update) (*State, []*update, error) {
	accepted := batch
next:
	for {
		work, err := base()
		if err != nil {
			return nil, nil, err
		}
		for i, u := range accepted {
			if u.err = u.change(work); u.err != nil {
				rest := append([]*update{}, accepted[:i]...)
				accepted = append(rest, accepted[i+1:]...)
				continue next
			}
			work.fill()
		}
		return work, accepted, nil
	}
}
