//go:build unix

package state

import (
	"errors"
	"os"
	"syscall"
)

// flock takes the lock of an open file without waiting: EWOULDBLOCK where
// another process holds it. The kernel gives it back when the process ends.
func flock(file *os.File) error {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}

// rename puts a file in the place of another one, at once.
func rename(from, to string) error { return os.Rename(from, to) }

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
