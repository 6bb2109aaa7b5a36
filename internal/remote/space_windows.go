package remote

import (
	"fmt"

	"golang.org/x/sys/windows"
)

// FreeBytes is how many bytes this user may still write to the volume that
// holds dir, which must exist; quotas count.
func FreeBytes(dir string) (int64, error) {
	name, err := windows.UTF16PtrFromString(dir)
	var free uint64
	if err == nil {
		err = windows.GetDiskFreeSpaceEx(name, &free, nil, nil)
	}
	if err != nil {
		return 0, fmt.Errorf("free space of %s: %w", dir, err)
	}
	return int64(free), nil
}
