package state

import (
	"errors"
	"fmt"
	"time"
)

// awayError says that nothing was done because the server could not be reached.
// It is tried again.
type awayError struct{ err error }

func (e *awayError) Error() string { return e.err.Error() }

func (e *awayError) Unwrap() error { return e.err }

// unreachable reports whether trying again may help.
func unreachable(err error) bool {
	var failed *BackendError
	return errors.As(err, &failed) && failed.Trouble == Unreachable
}

// waitsFor reports whether a server that cannot be reached is waited for: one
// that was there before, unless it was waited for in vain already.
func (r *RemoteStore) waitsFor(err error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return unreachable(err) && r.seen.state != nil && !r.gaveUp
}

// away tells once that a server is waited for.
func (r *RemoteStore) away(err error) {
	if r.changes(true) {
		r.tell(fmt.Sprintf("%v; it is tried again for %s", err, r.wait.Round(time.Second)))
	}
}

// back tells that a server that was waited for answers again.
func (r *RemoteStore) back() {
	if r.changes(false) {
		r.tell(fmt.Sprintf("state backend %s answers again", r.path))
	}
}

// giveUp lets nobody wait any more until the server answers again.
func (r *RemoteStore) giveUp() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gaveUp = true
}

// changes notes whether the server is away, and reports whether that is news.
func (r *RemoteStore) changes(away bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	news := r.isAway != away
	r.isAway, r.gaveUp = away, r.gaveUp && away
	return news
}
