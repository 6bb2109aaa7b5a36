package plugin

import "syscall"

// wakeWithParent lets the kernel continue a child that someone stopped when its
// parent ends: a stopped process cannot see that its lifeline is cut. A child
// that runs does not notice.
func wakeWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGCONT }
