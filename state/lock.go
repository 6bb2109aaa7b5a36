package state

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// LockHolder is what a process writes of itself into the lock file while it
// holds the lock. It is there for messages only: the lock is the kernel's, so
// data left behind by a dead process blocks nobody.
type LockHolder struct {
	Who   string    `json:"who"`
	Host  string    `json:"host"`
	PID   int       `json:"pid"`
	Since time.Time `json:"since"`
}

// How often a held lock is tried again: it is held for milliseconds.
const (
	lockPollFirst = 2 * time.Millisecond
	lockPollMost  = 50 * time.Millisecond
)

// fileLock is a held transaction lock.
type fileLock struct{ file *os.File }

// release gives the lock back. The file stays: removing it would let two
// processes lock two files of one name.
func (l *fileLock) release() {
	_ = l.file.Truncate(0)
	_ = l.file.Close()
}

// acquire takes the lock at path, waiting up to wait for another holder, or
// until giveUp says that nobody needs it any more.
func (l *LocalStore) acquire(path string, wait time.Duration, giveUp func() error) (*fileLock, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, &WriteError{Path: l.path, Err: err}
	}
	began := time.Now()
	pause := lockPollFirst
	for {
		err := l.sys.flock(file)
		if err == nil {
			l.sign(file)
			return &fileLock{file: file}, nil
		}
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			_ = file.Close()
			return nil, &NoLocksError{Dir: filepath.Dir(path), Err: err}
		}
		if err := giveUp(); err != nil {
			_ = file.Close()
			return nil, err
		}
		left := wait - time.Since(began)
		if left <= 0 {
			holder := readHolder(file)
			_ = file.Close()
			return nil, &LockedError{Path: path, Waited: wait, Holder: holder}
		}
		time.Sleep(min(pause, left))
		pause = min(pause*2, lockPollMost)
	}
}

// sign writes who holds the lock; nothing depends on it.
func (l *LocalStore) sign(file *os.File) {
	holder := l.holder
	if holder.PID == 0 {
		return
	}
	holder.Since = time.Now()
	if data, err := json.Marshal(holder); err == nil {
		_ = file.Truncate(0)
		_, _ = file.WriteAt(data, 0)
	}
}

func readHolder(file *os.File) LockHolder {
	var h LockHolder
	data := make([]byte, 4096)
	n, err := file.ReadAt(data, 0)
	if err != nil && err != io.EOF {
		return h
	}
	_ = json.Unmarshal(data[:n], &h)
	return h
}

// whileLive is a giveUp that ends with the context.
func whileLive(ctx context.Context) func() error {
	return func() error { return ctx.Err() }
}
