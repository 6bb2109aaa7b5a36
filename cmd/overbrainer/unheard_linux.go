package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// outputClosed reports whether the program was started without a standard
// output (`>&-`). In the place of a standard file that is closed the Go runtime
// opens /dev/null for reading and writing, lest another file gets its number.
// Whoever throws output away opens it for writing only, as a shell does, or
// gives the same open file to standard input or error, too, as daemons do.
func outputClosed() bool {
	var out, null unix.Stat_t
	if unix.Fstat(1, &out) != nil || unix.Stat(os.DevNull, &null) != nil || out.Mode&unix.S_IFMT != unix.S_IFCHR || out.Rdev != null.Rdev {
		return false
	}
	mode, err := unix.FcntlInt(1, unix.F_GETFL, 0)
	if err != nil || mode&unix.O_ACCMODE != unix.O_RDWR {
		return false
	}
	return !sameFile(1, 0) && !sameFile(1, 2)
}

// sameFile reports whether two descriptors share one open file; also where
// that cannot be told.
func sameFile(a, b uintptr) bool {
	const kcmpFile = 0
	pid := uintptr(os.Getpid())
	order, _, errno := unix.Syscall6(unix.SYS_KCMP, pid, pid, kcmpFile, a, b, 0)
	return errno != 0 || order == 0
}
