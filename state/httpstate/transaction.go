package httpstate

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"

	"github.com/overbrainer/overbrainer/state"
)

type transaction struct {
	b    *Backend
	lock state.Lock
}

func (t *transaction) Read(ctx context.Context) ([]byte, error) { return t.b.Read(ctx) }

// Write sends the state under the lock's ID, by which a server tells a holder
// whose lock was ended.
func (t *transaction) Write(ctx context.Context, data []byte) error {
	answer, err := t.b.send(ctx, t.b.cfg.UpdateMethod, withID(t.b.cfg.Address, t.lock.ID), data)
	if err != nil {
		return &state.UnsureError{Err: t.b.unreachable(err)}
	}
	switch answer.status {
	case http.StatusOK, http.StatusCreated, http.StatusAccepted, http.StatusNoContent:
		return nil
	case http.StatusConflict, http.StatusLocked, http.StatusPreconditionFailed:
		return state.ErrMoved
	}
	failure := t.b.refused("writing the state", answer)
	if answer.status >= 500 { // it may have come after the effect
		return &state.UnsureError{Err: failure}
	}
	return failure
}

// End unlocks. What fails leaves a lock that names this process.
func (t *transaction) End(ctx context.Context) error {
	err := t.b.release(ctx, t.lock.ID)
	var gone *state.NoLockError
	if errors.As(err, &gone) {
		return nil
	}
	return err
}

// withID adds the lock's ID to an address, as the protocol has it.
func withID(address, id string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	q := u.Query()
	q.Set("ID", id)
	u.RawQuery = q.Encode()
	return u.String()
}

func encode(lock state.Lock) []byte {
	data, _ := json.Marshal(lock) // strings and a time
	return data
}

// decode reads who holds the lock. Servers that say nothing of it leave it
// unknown.
func decode(body []byte) state.Lock {
	var lock state.Lock
	_ = json.Unmarshal(body, &lock)
	return lock
}
