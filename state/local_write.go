package state

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// write replaces the state file: a new file beside it, made durable, takes its
// name. The one before stays as the backup. The caller holds the lock.
func (l *LocalStore) write(cur loaded, data []byte) error {
	if err := l.replace(cur, data); err != nil {
		return &WriteError{Path: l.path, Err: err}
	}
	return nil
}

func (l *LocalStore) replace(cur loaded, data []byte) error {
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
	if rename(temp, backup) != nil {
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
