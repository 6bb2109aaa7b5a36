package state

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"
)

// Names in the project's directory.
const (
	// FileName is the state of the local backend.
	FileName = "overbrainer.state.json"

	backupSuffix = ".backup"
	lockName     = ".overbrainer.state.lock"
	tempName     = ".overbrainer.state.tmp"
	pinName      = ".overbrainer/lineage"
)

// DefaultLockTimeout is how long a transaction waits for another one when
// nothing else is asked. Transactions take milliseconds.
const DefaultLockTimeout = 10 * time.Second

// LocalStore keeps the state in a file of the project's directory. Its methods
// may be called concurrently, by several processes too. Updates that arrive
// while another one is being written share the next write.
type LocalStore struct {
	core
	wait   time.Duration
	holder LockHolder
	sys    system
	// journalFrom is the size of a document, in bytes, that gets a journal.
	journalFrom int
	// sessions are those that go on, guarded by mu.
	sessions int
	// wrote: the state before the command is the backup already, or there was none.
	wrote atomic.Bool
}

// system is what the operating system does, replaced in tests that need it to
// fail.
type system struct {
	flock   func(*os.File) error
	write   func(path string, data []byte) error // new file, durable, mode 0600
	append  func(path string, at int64, data []byte) error
	rename  func(from, to string) error
	syncDir func(dir string) error
}

// Option adjusts a LocalStore.
type Option func(*LocalStore)

// LockTimeout sets how long a transaction waits for another process; 0 = not
// at all.
func LockTimeout(d time.Duration) Option { return func(l *LocalStore) { l.wait = d } }

// HeldBy names this process to others that wait for it.
func HeldBy(h ClaimHolder) Option {
	return func(l *LocalStore) { l.holder = LockHolder{Who: h.Who, Host: h.Host, PID: h.PID} }
}

// Rescue says where a state goes that can be written neither to its file nor
// beside it: a file in tempDir ("" = none), else lastResort (nil = nowhere).
func Rescue(tempDir string, lastResort io.Writer) Option {
	return func(l *LocalStore) { l.tempDir, l.lastResort = tempDir, lastResort }
}

// JournalFrom sets the size of a document, in bytes, from which on a session
// keeps a journal; without it 64 KiB, since smaller ones are soon written whole.
func JournalFrom(size int) Option { return func(l *LocalStore) { l.journalFrom = size } }

// Local gives the store of the project in dir. version is overbrainer's own,
// recorded in what it writes. Nothing is read or made yet.
func Local(dir, version string, opts ...Option) *LocalStore {
	l := &LocalStore{
		core: newCore(dir, filepath.Join(dir, FileName), version),
		wait: DefaultLockTimeout, journalFrom: 64 << 10,
		sys: system{flock: flock, write: writeDurable, append: appendDurable, rename: rename, syncDir: syncDir},
	}
	l.writeFile = func(path string, data []byte) error { return l.sys.write(path, data) }
	for _, opt := range opts {
		opt(l)
	}
	return l
}

// Where gives the path of the state file.
func (l *LocalStore) Where() string { return l.path }

// Read gives the state as it is. Without a file it is empty, with serial 0 and
// no lineage. It takes no lock: a state is replaced as a whole, and what is
// added to its journal is added as a whole.
//
// Errors: *ReadError, *DamagedError, *NewerError, *ReplacedError.
func (l *LocalStore) Read(ctx context.Context) (*State, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	cur, err := l.load()
	if err != nil {
		return nil, err
	}
	if cur.state == nil {
		return l.fresh(), nil
	}
	return cur.state.shallow(), nil
}

// resolve follows links, so that a state that is linked to is replaced where
// it lies. A link to nowhere is an error, not a missing state.
func (l *LocalStore) resolve() (string, error) {
	info, err := os.Lstat(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return l.path, nil
	}
	if err != nil {
		return "", &ReadError{Path: l.path, Err: err}
	}
	if info.Mode()&fs.ModeSymlink == 0 {
		return l.path, nil
	}
	real, err := filepath.EvalSymlinks(l.path)
	if err != nil {
		return "", &ReadError{Path: l.path, Err: fmt.Errorf("it is a link to something that is not there: %w", cause(err))}
	}
	return real, nil
}
