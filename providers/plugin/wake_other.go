//go:build unix && !linux

package plugin

import "syscall"

// wakeWithParent does nothing: this system does not tell children of their
// parent's end. A child that someone stopped ends once it is continued.
func wakeWithParent(*syscall.SysProcAttr) {}
