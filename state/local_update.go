package state

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
)

// update is one call of Update in the queue.
type update struct {
	ctx     context.Context
	change  func(*State) error
	done    chan struct{}
	written []byte // the document after it
	err     error
}

// Update runs change in a transaction, see Store. Besides what Read fails with
// it fails with *WriteError, *NoLocksError or *LockedError; what change would
// have written is then saved as a copy that the error names, as far as any
// state was ever read.
func (l *LocalStore) Update(ctx context.Context, change func(*State) error) (*State, error) {
	u := &update{ctx: ctx, change: change, done: make(chan struct{})}
	l.mu.Lock()
	l.queue = append(l.queue, u)
	l.mu.Unlock()

	select {
	case l.commit <- struct{}{}:
		l.commitQueue()
		<-l.commit
	case <-u.done:
	case <-ctx.Done():
		if l.withdraw(u) {
			return nil, ctx.Err()
		}
	}
	<-u.done
	if u.err != nil && !errors.Is(u.err, ErrNoChange) {
		return nil, u.err
	}
	return Decode(l.path, u.written)
}

// withdraw takes u out of the queue; false when it is already being written.
func (l *LocalStore) withdraw(u *update) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, q := range l.queue {
		if q == u {
			l.queue = append(l.queue[:i], l.queue[i+1:]...)
			return true
		}
	}
	return false
}

// commitQueue writes everything that waits, in one write where that is
// possible.
func (l *LocalStore) commitQueue() {
	l.mu.Lock()
	batch := l.queue
	l.queue = nil
	l.mu.Unlock()
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
	if err := l.transact(live); err != nil {
		for _, u := range live {
			if u.err == nil || errors.Is(u.err, ErrNoChange) {
				u.err = err
			}
		}
	}
}

// transact does one locked read, change and write.
func (l *LocalStore) transact(batch []*update) error {
	path, err := l.resolve()
	if err != nil {
		return err
	}
	lock, err := l.acquire(filepath.Join(filepath.Dir(path), lockName), l.wait, allGone(batch))
	if err != nil {
		return l.rescue(err, batch)
	}
	defer lock.release()
	cur, err := l.load()
	if err != nil {
		return l.rescue(err, batch)
	}
	untouched := cur.data
	if cur.state == nil {
		cur.state = New(newLineage())
		if untouched, err = Encode(New("")); err != nil {
			return err
		}
	}
	for _, u := range batch {
		u.written = untouched
	}
	return l.commitOn(cur, batch)
}

// commitOn applies the batch to what was loaded and writes the outcome.
func (l *LocalStore) commitOn(cur loaded, batch []*update) error {
	base, err := Encode(cur.state)
	if err != nil {
		return err
	}
	work, accepted, err := applyAll(base, batch)
	if err != nil || len(accepted) == 0 {
		return err
	}
	work.Version, work.Lineage = Version, cur.state.Lineage
	work.OverbrainerVersion, work.Serial = l.version, cur.state.Serial+1
	data, err := Encode(work)
	if err != nil {
		return l.separate(cur, accepted, err)
	}
	if err := l.write(cur, data); err != nil {
		return l.save(&WriteError{Path: l.path, Err: err}, data)
	}
	l.remember(work, data)
	for _, u := range accepted {
		u.written = data
	}
	return nil
}

// separate finds the change that made a state which cannot be written, so that
// it does not take the others with it.
func (l *LocalStore) separate(cur loaded, accepted []*update, err error) error {
	if len(accepted) == 1 {
		accepted[0].err = fmt.Errorf("a change made a state that cannot be written: %w", err)
		return nil
	}
	for _, u := range accepted {
		if err := l.commitOn(cur, []*update{u}); err != nil {
			return err
		}
		if u.err != nil {
			continue
		}
		if cur.state, err = decodeDocument(u.written); err != nil {
			return err
		}
		cur.data, cur.version = u.written, Version
	}
	return nil
}

// applyAll runs the changes one after another. One that fails leaves no trace:
// the others run again on a fresh copy.
func applyAll(base []byte, batch []*update) (*State, []*update, error) {
	accepted := batch
next:
	for {
		work, err := decodeDocument(base)
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

func (l *LocalStore) remember(s *State, data []byte) {
	l.notice(seen{lineage: s.Lineage, serial: s.Serial, digest: sha256.Sum256(data), data: data})
	l.keepPin(s.Lineage)
}

// allGone ends a wait for the lock when nobody in the batch waits any more.
func allGone(batch []*update) func() error {
	return func() error {
		var err error
		for _, u := range batch {
			if err = u.ctx.Err(); err == nil {
				return nil
			}
		}
		return err
	}
}

// newLineage gives 32 random hexadecimal digits.
func newLineage() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	return fmt.Sprintf("%x", b)
}
