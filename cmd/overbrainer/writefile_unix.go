//go:build unix

package main

import (
	"os"
	"syscall"
)

// shared reports whether a file has other names, or another owner than a new one
// would have: what a rename would take from it.
func shared(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && (st.Nlink > 1 || int(st.Uid) != os.Geteuid())
}
