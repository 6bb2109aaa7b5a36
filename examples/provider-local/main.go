//go:build linux

// Command overbrainer-provider-local rents processes of this machine: a
// complete provider by others, and the worked example of
// docs/provider-protocol.md. It uses only what any author can import.
//
// A pod is a directory that stands for the pod's file system, a program that
// holds the pod's processes (see hold), and the machine's own sshd for this
// user. Pods outlive the command that made them, as those of a cloud do.
package main

import (
	"os"

	"github.com/overbrainer/overbrainer/providers/plugin"
)

// version is the provider's, set when it is built.
var version = "0.1.0"

func main() {
	if len(os.Args) == 3 && os.Args[1] == holdCommand {
		os.Exit(hold(os.Args[2]))
	}
	os.Exit(plugin.Serve(newLocal()))
}
