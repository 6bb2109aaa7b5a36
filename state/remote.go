package state

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"
)

// RemoteStore keeps the state in a Backend. Like LocalStore it may be used
// concurrently, notices a document that was replaced under it, and saves what
// cannot be written in the project's directory.
//
// Each write carries an ID that the state keeps among its last ones. When an
// answer is lost, reading back tells whether the write was done, even where
// others have written since: it is neither repeated nor reported as lost.
type RemoteStore struct {
	core
	backend Backend
	wait    time.Duration
	holder  ClaimHolder
	// unended are the locks of ours that could not be given back: the server
	// may hold them yet. Guarded by mu.
	unended map[string]bool
	// isAway: the server cannot be reached, and that was told; gaveUp: it was
	// waited for in vain. Guarded by mu.
	isAway, gaveUp bool
	tell           func(string)
}

// RemoteOptions are what a RemoteStore needs to know of its surroundings.
type RemoteOptions struct {
	Dir     string // the project's, for what is saved
	Version string // overbrainer's own, recorded in what it writes
	// Wait is how long a transaction waits for others, and for a server that
	// does not answer; 0 = DefaultRemoteWait.
	Wait   time.Duration
	Holder ClaimHolder
	// TempDir and LastResort are as in Rescue.
	TempDir    string
	LastResort interface{ Write([]byte) (int, error) }
	// Tell says that a server is waited for, and that it is back; optional.
	Tell func(string)
}

// DefaultRemoteWait is how long a transaction waits when nothing else is asked.
const DefaultRemoteWait = 30 * time.Second

// How often a lock or a lost answer is tried again.
const (
	remotePollFirst = 50 * time.Millisecond
	remotePollMost  = 2 * time.Second
	// endTimeout is for giving a lock back after the caller's context ended.
	endTimeout = 10 * time.Second
	// callTimeout is for one call: more than the largest state takes on a slow
	// line, and an end where a connection has died without a word.
	callTimeout = 3 * time.Minute
)

// Remote gives the store on a backend. Nothing is read or made yet.
func Remote(b Backend, o RemoteOptions) *RemoteStore {
	r := &RemoteStore{core: newCore(o.Dir, b.Where(), o.Version), backend: b, wait: o.Wait, holder: o.Holder, unended: map[string]bool{}, tell: o.Tell}
	if r.tell == nil {
		r.tell = func(string) {}
	}
	r.tempDir, r.lastResort = o.TempDir, o.LastResort
	if r.wait <= 0 {
		r.wait = DefaultRemoteWait
	}
	return r
}

// Where names the backend, without secrets.
func (r *RemoteStore) Where() string { return r.path }

// Read gives the state as it is, see Store. It waits for no lock, but for a
// server that was there before.
//
// Errors: *BackendError, *DamagedError, *NewerError, *ReplacedError.
func (r *RemoteStore) Read(ctx context.Context) (*State, error) {
	for wait := r.patience(); ; {
		st, err := r.readOnce(ctx)
		if err == nil {
			r.back()
		}
		if !r.waitsFor(err) {
			return st, err
		}
		r.away(err)
		if !wait.pause(ctx) {
			r.giveUp()
			return nil, err
		}
	}
}

func (r *RemoteStore) readOnce(ctx context.Context) (*State, error) {
	before := r.lastSeen()
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	data, err := r.backend.Read(ctx)
	if err != nil {
		return nil, err
	}
	cur, err := r.decode(data, before)
	if err != nil {
		return nil, err
	}
	if cur.state == nil {
		return r.fresh(), nil
	}
	return cur.state.shallow(), nil
}

// Update runs change in a transaction, see Store. Besides what Read fails with
// it fails with *LockedError and *WriteError; what change would have written is
// then saved as a copy that the error names.
func (r *RemoteStore) Update(ctx context.Context, change func(*State) error) (*State, error) {
	return r.enqueue(ctx, change, r.transact)
}

// transact writes a batch, as often as it takes to know that it is written.
func (r *RemoteStore) transact(batch []*update) error {
	ctx, cancel := together(batch)
	defer cancel()
	w := &writing{r: r}
	for wait := r.patience(); ; {
		err := r.attempt(ctx, batch, w)
		var gone *awayError
		away := errors.As(err, &gone)
		if !again(err) && !away {
			return err
		}
		if wait.pause(ctx) {
			continue
		}
		if away {
			r.giveUp()
			return r.rescue(gone.err, waiting(batch), w)
		}
		if len(w.tries) == 0 || w.last.next == nil {
			return err // nothing was sent
		}
		// What was sent last is what may have been written.
		return r.save(&WriteError{Path: r.path, Err: err, Unsure: w.unsure != nil}, w.last, w.tries[len(w.tries)-1].id)
	}
}

// attempt does one transaction on what has not landed yet.
func (r *RemoteStore) attempt(ctx context.Context, batch []*update, w *writing) error {
	tx, id, err := r.begin(ctx)
	if err != nil {
		return w.failed(err, batch)
	}
	defer r.end(ctx, tx, id)
	before := r.lastSeen()
	data, err := readIn(ctx, tx)
	if err != nil {
		return w.failed(err, batch)
	}
	cur, err := r.decode(data, before)
	if err != nil {
		return w.failed(err, batch)
	}
	r.back()
	w.settle(cur)
	w.ctx, w.tx, w.old = ctx, tx, nil
	if cur.version < Version {
		w.old = data
	}
	left := waiting(batch)
	if len(left) == 0 {
		return nil
	}
	return r.commitOn(cur, left, w)
}

// Push replaces the whole state by s, see LocalStore.Push. What it replaces by
// force is first saved in the project's directory.
func (r *RemoteStore) Push(ctx context.Context, s *State, force bool) error {
	tx, id, err := r.begin(ctx)
	if err != nil {
		return err
	}
	defer r.end(ctx, tx, id)
	before := r.lastSeen()
	data, err := readIn(ctx, tx)
	if err != nil {
		return err
	}
	cur, err := r.decode(data, before)
	if err != nil && !force {
		return err
	}
	next, err := r.pushed(cur, s, force)
	if err != nil {
		return err
	}
	out, err := Encode(next)
	if err != nil {
		return err
	}
	if data != nil && sha256.Sum256(data) != sha256.Sum256(out) {
		if _, err := r.saveIn(r.dir, replacedInfix, data); err != nil {
			return &WriteError{Path: r.path, Err: fmt.Errorf("the state there cannot be saved first: %w", err)}
		}
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := tx.Write(ctx, out); err != nil {
		var unsure *UnsureError
		return r.saveData(&WriteError{Path: r.path, Err: err, Unsure: errors.As(err, &unsure)}, out)
	}
	r.remember(loaded{path: r.path, doc: printOf(out), state: next, version: Version})
	r.settled()
	return nil
}

// Unlock ends a transaction's lock by force.
func (r *RemoteStore) Unlock(ctx context.Context, id string) error { return r.backend.Unlock(ctx, id) }
