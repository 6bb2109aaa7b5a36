// Command overbrainer plans jobs on rented GPUs, runs them, brings their
// results home and gives the machines back.
//
// This package is flags, wiring, the choice of a view, and exit codes: the one
// place that reads the environment and the clock, that knows concrete types,
// and that exits.
package main

import (
	"errors"
	"os"
	"syscall"
)

// version is stamped by the build.
var version = "dev"

func main() {
	os.Exit(start(os.Args[1:]))
}

// start runs one command line and gives its exit code. The version alone is
// answered before anything else is set up.
func start(args []string) int {
	if len(args) == 1 && (args[0] == "version" || args[0] == "-version" || args[0] == "--version" || args[0] == "-v") {
		takePipes()
		if _, err := os.Stdout.WriteString(versionText() + "\n"); err != nil {
			if !errors.Is(err, syscall.EPIPE) {
				os.Stderr.WriteString("Error: " + err.Error() + "\n")
			}
			return exitError
		}
		return exitOK
	}
	a, err := newApp(args)
	if err != nil {
		return a.fail(err)
	}
	defer a.close()
	if line, yes := a.completing(); yes {
		return a.fail(a.told(a.complete(line)))
	}
	if code, ok := a.serve(); ok {
		return code
	}
	return a.dispatch()
}
