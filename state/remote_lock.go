package state

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"time"
)

// begin waits for the lock, and gives its ID. One whose holder is dead, as far
// as can be told, is ended.
func (r *RemoteStore) begin(ctx context.Context) (Transaction, string, error) {
	lock := Lock{
		ID: newClaimID(), Operation: "update", Version: r.version, Path: filepath.Base(r.dir),
		Who:     r.holder.Who + "@" + r.holder.Host,
		Info:    fmt.Sprintf("pid=%d process=%s", r.holder.PID, r.holder.Process),
		Created: time.Now().UTC(),
	}
	for wait := r.patience(); ; {
		tx, err := r.beginOnce(ctx, lock)
		var held *HeldError
		if !errors.As(err, &held) {
			return tx, lock.ID, err
		}
		if held.Expired || r.dead(held.Lock) {
			var gone *NoLockError
			if err := r.backend.Unlock(ctx, held.Lock.ID); err == nil || errors.As(err, &gone) {
				continue
			}
		}
		if !wait.pause(ctx) {
			if err := ctx.Err(); err != nil {
				return nil, "", err
			}
			return nil, "", r.locked(held.Lock)
		}
	}
}

func (r *RemoteStore) beginOnce(ctx context.Context, lock Lock) (Transaction, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return r.backend.Begin(ctx, lock)
}

func readIn(ctx context.Context, tx Transaction) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return tx.Read(ctx)
}

func (r *RemoteStore) locked(l Lock) error {
	pid, _ := l.process()
	who, host := splitWho(l.Who)
	return &LockedError{Path: r.path, Waited: r.wait, ID: l.ID, Holder: LockHolder{Who: who, Host: host, PID: pid, Since: l.Created}}
}

// dead reports whether nobody stands behind a lock: it is one that we failed to
// give back, or was left by a process of this machine that is no more.
func (r *RemoteStore) dead(l Lock) bool {
	r.mu.Lock()
	left := r.unended[l.ID]
	r.mu.Unlock()
	if left {
		return true
	}
	pid, identity := l.process()
	if _, host := splitWho(l.Who); pid == 0 || host != r.holder.Host {
		return false
	}
	alive := r.holder.Alive
	if alive == nil {
		alive = ProcessAlive
	}
	return !alive(pid, identity)
}

// end gives the lock back, even when nobody waits any more.
func (r *RemoteStore) end(ctx context.Context, tx Transaction, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	if tx.End(ctx) != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.unended[id] = true
	}
}

// patience is how long something is tried again, with growing pauses.
type patience struct {
	until time.Time
	next  time.Duration
}

func (r *RemoteStore) patience() *patience {
	return &patience{until: time.Now().Add(r.wait), next: remotePollFirst}
}

// pause waits a little; false when there is no time left or nobody waits.
func (p *patience) pause(ctx context.Context) bool {
	left := time.Until(p.until)
	if left <= 0 || ctx.Err() != nil {
		return false
	}
	// Half of it at random, so that those who wait do not meet again.
	d := min(p.next/2+rand.N(p.next/2), left)
	p.next = min(p.next*2, remotePollMost)
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
