package state

import (
	"context"
	"path/filepath"
)

// Update runs change in a transaction, see Store. Besides what Read fails with
// it fails with *WriteError, *NoLocksError or *LockedError; what change would
// have written is then saved as a copy that the error names, as far as any
// state was ever read.
func (l *LocalStore) Update(ctx context.Context, change func(*State) error) (*State, error) {
	return l.enqueue(ctx, change, l.transact)
}

// transact does one locked read, change and write.
func (l *LocalStore) transact(batch []*update) error {
	path, err := l.resolve()
	if err != nil {
		return err
	}
	lock, err := l.acquire(filepath.Join(filepath.Dir(path), lockName), l.wait, allGone(batch))
	if err != nil {
		return l.rescue(err, batch, l)
	}
	defer lock.release()
	cur, err := l.load()
	if err != nil {
		return l.rescue(err, batch, l)
	}
	return l.commitOn(cur, batch, l)
}

// stamp leaves the state as it is: a file's write is seen to be done or not.
func (l *LocalStore) stamp(*State, []*update) {}

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
