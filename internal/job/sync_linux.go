package job

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// syncAll makes durable what was written to the file system that holds a directory.
func syncAll(dir *os.Root) error {
	f, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.Syncfs(int(f.Fd())); err != nil {
		return fmt.Errorf("write the file system of %s to its disk: %w", dir.Name(), err)
	}
	return nil
}
