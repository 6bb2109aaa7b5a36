package sim

import "os"

// Reexec runs PodInit and exits where this process was started to hold a pod:
// its arguments begin with "sim pod-init". A test that calls Serve in its own
// process does this first in its TestMain, a binary where it reads its
// commands.
func Reexec() {
	if len(os.Args) > 2 && os.Args[1] == "sim" && os.Args[2] == "pod-init" {
		os.Exit(PodInit(os.Args[3:]))
	}
}
