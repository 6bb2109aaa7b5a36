package state

import (
	"os/signal"
	"syscall"
)

// signalIgnoreXFSZ lets a write past the file size limit fail instead of
// killing the process.
func signalIgnoreXFSZ() { signal.Ignore(syscall.SIGXFSZ) }
