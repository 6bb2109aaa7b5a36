//go:build !unix

package main

import "os/exec"

// detach does nothing: a process outlives its parent here anyway.
func detach(*exec.Cmd) {}
