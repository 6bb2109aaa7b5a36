package state

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Backend is a place elsewhere that keeps one document for several machines.
// Its calls may come concurrently. It retries by itself what is safe to retry.
type Backend interface {
	// Where names the place for messages: a URL or a name without secrets.
	Where() string
	// Read gives the document, nil when there is none. It waits for nobody.
	Read(ctx context.Context) ([]byte, error)
	// Begin opens a transaction, which does not end with ctx, without waiting: *HeldError when another one
	// is open. Nothing may be done before End of the one before.
	Begin(ctx context.Context, lock Lock) (Transaction, error)
	// Unlock ends a lock by force; *NoLockError when none has the ID.
	Unlock(ctx context.Context, id string) error
}

// Transaction is one locked read and write.
type Transaction interface {
	// Read gives the document, nil when there is none.
	Read(ctx context.Context) ([]byte, error)
	// Write replaces what Read gave, after Read and at most once. ErrMoved
	// means that something else lies there by now, or that the lock is lost,
	// and nothing was written; *UnsureError that nobody knows.
	Write(ctx context.Context, data []byte) error
	// End gives the lock back. An error means that it may still be held.
	End(ctx context.Context) error
}

// Lock is who holds a lock, in the form that Terraform's backends use, so that
// what serves those shows it.
type Lock struct {
	ID        string    `json:"ID"`
	Operation string    `json:"Operation"`
	Info      string    `json:"Info"`
	Who       string    `json:"Who"` // user@host
	Version   string    `json:"Version"`
	Created   time.Time `json:"Created"`
	Path      string    `json:"Path"`
}

// process gives what Info says of the holding process.
func (l Lock) process() (pid int, identity string) {
	_, _ = fmt.Sscanf(l.Info, "pid=%d process=%s", &pid, &identity)
	return pid, identity
}

// ErrMoved is what writing gives when another document lies there than was
// read, or the lock is not held any more.
var ErrMoved = errors.New("somebody else has written meanwhile")

// UnsureError says that a write was sent and its answer lost: it may have been
// done, or be done yet.
type UnsureError struct{ Err error }

func (e *UnsureError) Error() string { return "the answer to the write was lost: " + e.Err.Error() }

func (e *UnsureError) Unwrap() error { return e.Err }

// again tells the errors after which a transaction may begin again.
func again(err error) bool {
	var unsure *UnsureError
	return errors.Is(err, ErrMoved) || errors.As(err, &unsure)
}

// HeldError says that a transaction is open.
type HeldError struct {
	Lock Lock
	// Expired: by the server's clock the lock is older than any transaction,
	// and ending it is safe.
	Expired bool
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("locked by %s since %s, lock %s", e.Lock.Who, e.Lock.Created.UTC().Format(time.RFC3339), e.Lock.ID)
}

// NoLockError says that no lock has the ID.
type NoLockError struct {
	ID   string
	Held string // the ID of the lock that is held instead, where that is known
}

func (e *NoLockError) Error() string {
	if e.Held != "" {
		return fmt.Sprintf("no lock has the ID %q; the one that is held has %s", e.ID, e.Held)
	}
	return fmt.Sprintf("no lock has the ID %q", e.ID)
}

// Trouble is the sort of a BackendError.
type Trouble string

// Troubles.
const (
	Unreachable Trouble = "unreachable" // no connection, or a server that fails
	Denied      Trouble = "denied"      // not who may do this
	Missing     Trouble = "missing"     // no such bucket, database, address
	Unsuitable  Trouble = "unsuitable"  // it lacks what keeps writers apart
	Refused     Trouble = "refused"     // anything else it said
)

// BackendError says why a backend cannot be used.
type BackendError struct {
	Trouble Trouble
	Where   string
	Err     error // holds no secret
	// Hint is what to do.
	Hint string
	// Saved names the copy of what was to be written, "" if there is none.
	Saved string
}

func (e *BackendError) Error() string {
	what := map[Trouble]string{
		Unreachable: "cannot be reached", Denied: "denies access", Missing: "is not there",
		Unsuitable: "cannot keep a state", Refused: "refused",
	}[e.Trouble]
	return fmt.Sprintf("state backend %s %s: %v%s", e.Where, what, e.Err, savedNote(e.Saved))
}

func (e *BackendError) Unwrap() error { return e.Err }

func (e *BackendError) savedIn(place string, _ error) { e.Saved = place }
