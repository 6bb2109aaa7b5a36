package state

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// probeRoom is how much the state may grow in one command, for Writable. A
// journal takes as much again as the document.
const probeRoom = 256 << 10

// Writable proves that a state could be written now: the file there can be
// read, its directory locks, and it has room. Call it before the first effect.
// It leaves nothing behind but the lock file.
func (l *LocalStore) Writable(ctx context.Context) error {
	cur, release, err := l.locked(ctx)
	if err != nil {
		return err
	}
	defer release()
	temp := filepath.Join(filepath.Dir(cur.path), tempName)
	_ = os.Remove(temp)
	err = l.sys.write(temp, make([]byte, 2*cur.doc.size+probeRoom))
	_ = os.Remove(temp)
	if err != nil {
		return &WriteError{Path: l.path, Err: err}
	}
	return nil
}

// locked reads what is there under the lock, which release ends.
func (l *LocalStore) locked(ctx context.Context) (cur loaded, release func(), err error) {
	path, err := l.resolve()
	if err != nil {
		return cur, nil, err
	}
	lock, err := l.acquire(filepath.Join(filepath.Dir(path), lockName), l.wait, whileLive(ctx))
	if err != nil {
		return cur, nil, err
	}
	if cur, err = l.load(); err != nil {
		lock.release()
		return cur, nil, err
	}
	return cur, func() { lock.release() }, nil
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
	cur, unread := l.load()
	if unread != nil && !force {
		return unread
	}
	next, err := l.pushed(cur, s, force)
	if err != nil {
		return err
	}
	if cur.path == "" {
		cur.path = path
	}
	if cur.version == 0 {
		cur.version = Version
	}
	was := cur
	if unread != nil {
		was.journal = "" // what cannot be read stays as it lies there
	}
	l.backup(was)
	after, err := l.writeWhole(cur, next, false)
	if err != nil {
		if data, encoding := Encode(next); encoding == nil {
			return l.saveData(err, data)
		}
		return err
	}
	l.remember(after)
	l.settled()
	return nil
}

// Session lets the store keep a journal, see Sessions. The error of end says
// that the state still lies in two files: it is whole, and the next command that
// writes puts it together.
func (l *LocalStore) Session() (end func(context.Context) error) {
	l.mu.Lock()
	l.sessions++
	l.mu.Unlock()
	return func(ctx context.Context) error {
		l.mu.Lock()
		l.sessions--
		last := l.sessions == 0
		l.mu.Unlock()
		if !last || l.lastSeen().journal == "" {
			return nil
		}
		return l.rest(ctx)
	}
}

func (l *LocalStore) inSession() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sessions > 0
}

// rest writes a state that has a journal as one document.
func (l *LocalStore) rest(ctx context.Context) error {
	cur, release, err := l.locked(ctx)
	if err != nil {
		return err
	}
	defer release()
	if cur.journal == "" {
		return nil
	}
	after, err := l.writeWhole(cur, cur.state, false)
	if err == nil {
		l.remember(after)
	}
	return err
}
