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
	written *State // after it
	landed  bool   // it is in what was written
	err     error
}

// medium is how a state gets to where it lies.
type medium interface {
	// stamp marks the state that is about to be written with these updates.
	stamp(work *State, accepted []*update)
	// write puts what was prepared in the place of what was loaded, and gives
	// what lies there then. An error that is errMoved or an *UnsureError lets
	// the transaction begin again.
	write(cur loaded, p prepared) (loaded, error)
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
	return u.written, nil
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
	before := cur.state
	if before == nil {
		before = c.fresh()
		if cur.state = before; before.Lineage == "" {
			cur.state = New(newLineage())
		}
	}
	before = before.shallow()
	for _, u := range batch {
		u.written, u.err = before, nil
	}
	_, err := c.commitTo(cur, batch, m)
	return err
}

func (c *core) commitTo(cur loaded, batch []*update, m medium) (loaded, error) {
	p, err := c.prepare(cur.state, batch, m)
	switch {
	case err != nil:
		return c.separate(cur, p.accepted, m, err)
	case len(p.accepted) == 0:
		return cur, nil
	}
	after, err := m.write(cur, p)
	if err != nil {
		if again(err) {
			return cur, err
		}
		return cur, c.save(err, p)
	}
	c.remember(after)
	c.settled()
	written := after.state.shallow()
	for _, u := range p.accepted {
		u.written, u.landed = written, true
	}
	return after, nil
}

// separate finds the change that made a state which cannot be written, so that
// it does not take the others with it.
func (c *core) separate(cur loaded, accepted []*update, m medium, err error) (loaded, error) {
	if len(accepted) == 1 {
		accepted[0].err = fmt.Errorf("a change made a state that cannot be written: %w", err)
		return cur, nil
	}
	for _, u := range accepted {
		if cur, err = c.commitTo(cur, []*update{u}, m); err != nil {
			return cur, err
		}
	}
	return cur, nil
}
