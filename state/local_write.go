package state

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// write replaces the state file: a new file beside it, made durable, takes its
// name. The one before stays as the backup. The caller holds the lock.
func (l *LocalStore) write(cur loaded, data []byte) error {
	dir := filepath.Dir(cur.path)
	temp := filepath.Join(dir, tempName)
	_ = os.Remove(temp) // of a process that was killed while it wrote
	if err := l.sys.write(temp, data); err != nil {
		_ = os.Remove(temp)
		return err
	}
	if cur.data != nil {
		keepBackup(cur.path, cur.path+backupSuffix)
		if cur.version < Version {
			keepBackup(cur.path, fmt.Sprintf("%s.v%d%s", cur.path, cur.version, backupSuffix))
		}
	}
	if err := l.sys.rename(temp, cur.path); err != nil {
		_ = os.Remove(temp)
		return err
	}
	return l.sys.syncDir(dir)
}

// keepBackup lets backup name what path names now. A backup that cannot be
// kept does not stop a write: recording what exists matters more.
func keepBackup(path, backup string) {
	temp := backup + ".tmp"
	_ = os.Remove(temp)
	if err := os.Link(path, temp); err != nil {
		data, err := os.ReadFile(path)
		if err != nil || writeDurable(temp, data) != nil {
			_ = os.Remove(temp)
			return
		}
	}
	_ = os.Chmod(temp, 0o600)
	if os.Rename(temp, backup) != nil {
		_ = os.Remove(temp)
	}
}

// writeDurable makes a new file of mode 0600, whatever the umask, and returns
// when its contents are on the disk.
func writeDurable(path string, data []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err = file.Chmod(0o600); err == nil {
		if _, err = file.Write(data); err == nil {
			err = file.Sync()
		}
	}
	return errors.Join(err, file.Close())
}

// syncDir makes a rename durable. File systems that cannot sync a directory
// say so and are believed.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil
	}
	return errors.Join(err, d.Close())
}

// rescue saves what the batch would have written on the newest state that was
// seen, when a transaction failed before it came to writing.
func (l *LocalStore) rescue(failure error, batch []*update) error {
	l.mu.Lock()
	base := l.seen.data
	l.mu.Unlock()
	if base == nil || errors.Is(failure, context.Canceled) || errors.Is(failure, context.DeadlineExceeded) {
		return failure
	}
	work, accepted, err := applyAll(base, batch)
	if err != nil || len(accepted) == 0 {
		return failure
	}
	work.OverbrainerVersion = l.version
	work.Serial++
	data, err := Encode(work)
	if err != nil {
		return failure
	}
	return l.save(failure, data)
}

// save puts the pending document beside the state file, else into the
// temporary directory, else prints it, and names the place in the error.
func (l *LocalStore) save(failure error, data []byte) error {
	saved, err := l.saveCopy(data)
	var write *WriteError
	var replaced *ReplacedError
	var locked *LockedError
	var noLocks *NoLocksError
	switch {
	case errors.As(failure, &write):
		write.Saved, write.SaveErr = saved, err
	case errors.As(failure, &replaced):
		replaced.Saved = saved
	case errors.As(failure, &locked):
		locked.Saved = saved
	case errors.As(failure, &noLocks):
		noLocks.Saved = saved
	default:
		return &WriteError{Path: l.path, Err: failure, Saved: saved, SaveErr: err}
	}
	return failure
}

func (l *LocalStore) saveCopy(data []byte) (string, error) {
	var errs []error
	for _, dir := range []string{l.dir, l.tempDir} {
		if dir == "" {
			continue
		}
		path, err := l.saveIn(dir, data)
		if err == nil {
			return path, nil
		}
		errs = append(errs, err)
	}
	if l.lastResort != nil {
		if _, err := l.lastResort.Write(data); err == nil {
			return "standard error", nil
		} else {
			errs = append(errs, err)
		}
	}
	return "", errors.Join(errs...)
}

// rescueInfix marks the copies of states that could not be written.
const rescueInfix = ".pending-"

func (l *LocalStore) saveIn(dir string, data []byte) (string, error) {
	for i := 0; ; i++ {
		name := fmt.Sprintf("%s%s%d-%d.json", strings.TrimSuffix(FileName, ".json"), rescueInfix, os.Getpid(), i)
		path := filepath.Join(dir, name)
		err := l.sys.write(path, data)
		if err == nil {
			return path, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			_ = os.Remove(path)
			return "", err
		}
	}
}

// Rescued lists copies beside the state that were saved because it could not
// be written, oldest name first. They are never read back by themselves.
func (l *LocalStore) Rescued() []string {
	found, _ := filepath.Glob(filepath.Join(l.dir, strings.TrimSuffix(FileName, ".json")+rescueInfix+"*.json"))
	return found
}
