//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// detach lets a process outlive this one and the terminal.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
