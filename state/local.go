package state

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
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
	dir, path, version string
	wait               time.Duration
	holder             LockHolder
	tempDir            string
	lastResort         io.Writer
	sys                system

	commit chan struct{} // held by whoever writes

	mu    sync.Mutex
	queue []*update
	seen  seen
}

// seen is the newest state that this process met, to notice when the file is
// replaced under it.
type seen struct {
	lineage string
	serial  uint64
	digest  [sha256.Size]byte
	data    []byte
}

// system is what the operating system does, replaced in tests that need it to
// fail.
type system struct {
	flock   func(*os.File) error
	write   func(path string, data []byte) error // new file, durable, mode 0600
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

// Local gives the store of the project in dir. version is overbrainer's own,
// recorded in what it writes. Nothing is read or made yet.
func Local(dir, version string, opts ...Option) *LocalStore {
	l := &LocalStore{
		dir: dir, path: filepath.Join(dir, FileName), version: version,
		wait:   DefaultLockTimeout,
		commit: make(chan struct{}, 1),
		sys:    system{flock: flock, write: writeDurable, rename: os.Rename, syncDir: syncDir},
	}
	for _, opt := range opts {
		opt(l)
	}
	return l
}

// Where gives the path of the state file.
func (l *LocalStore) Where() string { return l.path }

// Read gives the state as it is. Without a file it is empty, with serial 0 and
// no lineage. It takes no lock: a state is replaced as a whole.
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
		return New(""), nil
	}
	return cur.state, nil
}

// loaded is a state file as it was read.
type loaded struct {
	path    string // the real file, links resolved
	data    []byte
	state   *State // nil: there is no file
	version int    // that the file had
}

// load reads the file and compares it with what was seen before.
func (l *LocalStore) load() (loaded, error) {
	l.mu.Lock()
	before := l.seen
	l.mu.Unlock()
	path, err := l.resolve()
	if err != nil {
		return loaded{}, err
	}
	cur := loaded{path: path}
	cur.data, err = os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return cur, l.compare(cur, before)
	case err != nil:
		return cur, &ReadError{Path: l.path, Err: err}
	}
	cur.state, cur.version, err = decodeUpgrading(l.path, cur.data, upgrades())
	if err != nil {
		return cur, err
	}
	return cur, l.compare(cur, before)
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

// compare detects a file that was replaced since want was seen, and remembers
// the newest.
func (l *LocalStore) compare(cur loaded, want seen) error {
	replaced := &ReplacedError{Path: l.path, WantLineage: want.lineage, WantSerial: want.serial}
	if cur.state == nil {
		if want.lineage != "" {
			return replaced
		}
		return nil
	}
	s := cur.state
	replaced.Lineage, replaced.Serial = s.Lineage, s.Serial
	digest := sha256.Sum256(cur.data)
	switch {
	case want.lineage == "":
		if pinned := l.pinned(); pinned != "" && pinned != s.Lineage {
			replaced.WantLineage, replaced.Pin = pinned, l.pin()
			return replaced
		}
	case want.lineage != s.Lineage, s.Serial < want.serial, s.Serial == want.serial && digest != want.digest:
		return replaced
	}
	l.notice(seen{lineage: s.Lineage, serial: s.Serial, digest: digest, data: cur.data})
	return nil
}

// notice remembers a state unless a newer one was met meanwhile.
func (l *LocalStore) notice(s seen) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen.lineage != s.lineage || s.serial >= l.seen.serial {
		l.seen = s
	}
}

func (l *LocalStore) pin() string { return filepath.Join(l.dir, filepath.FromSlash(pinName)) }

// pinned gives the lineage that this checkout used last, "" if unknown.
func (l *LocalStore) pinned() string {
	data, err := os.ReadFile(l.pin())
	if err != nil || len(data) > 256 {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// keepPin remembers the lineage for later commands. It is a convenience: a
// checkout without it works.
func (l *LocalStore) keepPin(lineage string) {
	if l.pinned() == lineage {
		return
	}
	if err := os.MkdirAll(filepath.Dir(l.pin()), 0o755); err == nil {
		_ = os.WriteFile(l.pin(), []byte(lineage+"\n"), 0o644)
	}
}
