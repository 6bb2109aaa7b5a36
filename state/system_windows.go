package state

import (
	"errors"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/windows"
)

// lockAt is the byte that stands for the file: far behind its content, since a
// locked byte can be read by nobody else, and others read who holds the lock.
const lockAt = 1 << 30

// flock takes the lock of an open file without waiting: EWOULDBLOCK where
// another process holds it. The kernel gives it back when the process ends.
func flock(file *os.File) error {
	at := windows.Overlapped{OffsetHigh: lockAt}
	err := windows.LockFileEx(windows.Handle(file.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return syscall.EWOULDBLOCK
	}
	return err
}

// renamePatience is how long a reader of the old file may be in the way.
const renamePatience = 2 * time.Second

// rename puts a file in the place of another one, at once. A file that somebody
// has open, a reader or a virus scanner, cannot be replaced: it is tried again.
func rename(from, to string) error {
	pause := time.Millisecond
	for began := time.Now(); ; pause = min(2*pause, 50*time.Millisecond) {
		err := os.Rename(from, to)
		busy := errors.Is(err, windows.ERROR_SHARING_VIOLATION) || errors.Is(err, windows.ERROR_ACCESS_DENIED)
		if !busy || time.Since(began) > renamePatience {
			return err
		}
		time.Sleep(pause)
	}
}

// syncDir has nothing to do: NTFS journals its directories, and a handle of one
// cannot be flushed.
func syncDir(string) error { return nil }
