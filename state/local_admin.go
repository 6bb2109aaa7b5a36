package state

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// probeRoom is how much the state may grow in one command, for Writable.
const probeRoom = 256 << 10

// Writable proves that a state could be written now: the file there can be
// read, its directory locks, and it has room. Call it before the first effect.
// It leaves nothing behind but the lock file.
func (l *LocalStore) Writable(ctx context.Context) error {
	path, err := l.resolve()
	if err != nil {
		return err
	}
	lock, err := l.acquire(filepath.Join(filepath.Dir(path), lockName), l.wait, whileLive(ctx))
	if err != nil {
		return err
	}
	defer lock.release()
	cur, err := l.load()
	if err != nil {
		return err
	}
	temp := filepath.Join(filepath.Dir(cur.path), tempName)
	_ = os.Remove(temp)
	err = l.sys.write(temp, make([]byte, len(cur.data)+probeRoom))
	_ = os.Remove(temp)
	if err != nil {
		return &WriteError{Path: l.path, Err: err}
	}
	return nil
}

// PushError says why a state was not taken over.
type PushError struct {
	Path            string
	Lineage, Pushed string
	Serial, Behind  uint64
}

func (e *PushError) Error() string {
	if e.Lineage != e.Pushed {
		return fmt.Sprintf("%s is of lineage %s, the state pushed of %s: it belongs to another project", e.Path, e.Lineage, e.Pushed)
	}
	return fmt.Sprintf("%s has serial %d, the state pushed only %d: it is older", e.Path, e.Serial, e.Behind)
}

// Push replaces the whole state by s, with a serial above both. Without force
// it refuses another lineage and an older serial with *PushError. With force
// it replaces a file that cannot be read, too; that one stays as the backup.
func (l *LocalStore) Push(ctx context.Context, s *State, force bool) error {
	path, err := l.resolve()
	if err != nil {
		return err
	}
	lock, err := l.acquire(filepath.Join(filepath.Dir(path), lockName), l.wait, whileLive(ctx))
	if err != nil {
		return err
	}
	defer lock.release()
	cur, err := l.load()
	if err != nil && !force {
		return err
	}
	next, data, err := l.pushed(cur, s, force)
	if err != nil {
		return err
	}
	if cur.path == "" {
		cur.path = path
	}
	if cur.version == 0 {
		cur.version = Version
	}
	if err := l.write(cur, data); err != nil {
		return l.save(err, data)
	}
	l.remember(next, &document{data: data})
	return nil
}
