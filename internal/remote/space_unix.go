//go:build unix

package remote

import (
	"fmt"
	"syscall"
)

// FreeBytes is how many bytes an unprivileged user may still write to the file
// system that holds dir, which must exist.
func FreeBytes(dir string) (int64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, fmt.Errorf("free space of %s: %w", dir, err)
	}
	return int64(st.Bavail) * int64(st.Bsize), nil
}
