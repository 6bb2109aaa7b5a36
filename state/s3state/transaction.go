package s3state

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/overbrainer/overbrainer/state"
)

// lockTTL is how old a lock gets, by the server's clock, before anybody may end
// it. That is safe: the state itself is written conditionally, so a writer that
// was only slow cannot overwrite what came between.
const lockTTL = 2 * time.Minute

type transaction struct {
	b    *Backend
	lock state.Lock
	tag  string // of the lock
	etag string // of the state that was read, "" = there was none
}

// Begin makes the lock object.
func (b *Backend) Begin(ctx context.Context, lock state.Lock) (state.Transaction, error) {
	data, err := json.Marshal(lock)
	if err != nil {
		return nil, err
	}
	tag, err := b.put(ctx, b.lockKey(), data, condition{absent: true})
	if err != nil {
		if tag, err = b.ours(ctx, lock.ID, err); err != nil {
			return nil, err
		}
	}
	t := &transaction{b: b, lock: lock, tag: tag}
	if err := b.prove(ctx, t); err != nil {
		_ = t.End(ctx)
		return nil, err
	}
	return t, nil
}

// ours looks whose lock is there after one could not be made: it is ours where
// only the answer was lost.
func (b *Backend) ours(ctx context.Context, id string, failure error) (tag string, err error) {
	var unsure *state.UnsureError
	lost := errors.As(failure, &unsure)
	if !lost && !errors.Is(failure, state.ErrMoved) {
		return "", failure
	}
	o, err := b.get(ctx, b.lockKey())
	switch held := decode(o.data); {
	case err != nil:
		return "", err
	case held.ID == id:
		return o.etag, nil
	case o.data == nil && lost:
		return "", unsure.Err
	default: // ended just now, where there is none
		return "", &state.HeldError{Lock: held, Expired: o.data != nil && o.age > lockTTL}
	}
}

// prove asks once for two writes that must be refused, on the lock that we
// hold. A server that does them keeps nobody apart.
func (b *Backend) prove(ctx context.Context, t *transaction) error {
	b.mu.Lock()
	proven := b.proven
	b.mu.Unlock()
	if proven {
		return nil
	}
	for _, ask := range []struct {
		header string
		when   condition
	}{
		{"If-None-Match", condition{absent: true}},
		{"If-Match", condition{etag: `"0123456789abcdef0123456789abcdef"`}},
	} {
		tag, err := b.put(ctx, b.lockKey(), []byte("{}"), ask.when)
		var failed *state.BackendError
		switch {
		case errors.Is(err, state.ErrMoved):
		case err == nil, errors.As(err, &failed) && failed.Trouble == state.Unsuitable:
			if err == nil {
				t.tag = tag // for End
			}
			return b.unsuitable(ask.header)
		default:
			return err
		}
	}
	b.mu.Lock()
	b.proven = true
	b.mu.Unlock()
	return nil
}

const useAnother = "use a server with conditional writes, such as Amazon S3, or another backend"

func (b *Backend) unsuitable(header string) error {
	return &state.BackendError{
		Trouble: state.Unsuitable, Where: b.where,
		Err:  fmt.Errorf("the server does not keep to %s, so two commands could overwrite each other's state", header),
		Hint: useAnother,
	}
}

// Read gets the state with its tag.
func (t *transaction) Read(ctx context.Context) ([]byte, error) {
	o, err := t.b.get(ctx, t.b.cfg.Key)
	t.etag = o.etag
	return o.data, err
}

// Write replaces the state that was read, and only that.
func (t *transaction) Write(ctx context.Context, data []byte) error {
	_, err := t.b.put(ctx, t.b.cfg.Key, data, condition{absent: t.etag == "", etag: t.etag})
	return err
}

// End deletes the lock, unless it is somebody else's by now.
func (t *transaction) End(ctx context.Context) error {
	if err := t.b.remove(ctx, t.b.lockKey(), t.tag); !errors.Is(err, state.ErrMoved) {
		return err
	}
	return nil
}

// Unlock deletes the lock with the ID.
func (b *Backend) Unlock(ctx context.Context, id string) error {
	o, err := b.get(ctx, b.lockKey())
	if err != nil {
		return err
	}
	if held := decode(o.data).ID; o.data == nil || held != id {
		return &state.NoLockError{ID: id, Held: held}
	}
	if err := b.remove(ctx, b.lockKey(), o.etag); !errors.Is(err, state.ErrMoved) {
		return err
	}
	return &state.NoLockError{ID: id}
}

func decode(data []byte) state.Lock {
	var lock state.Lock
	_ = json.Unmarshal(data, &lock)
	return lock
}

// awsDate gives the server's time of an answer.
func awsDate(out *s3.GetObjectOutput) (time.Time, bool) {
	return awsmiddleware.GetServerTime(out.ResultMetadata)
}
