//go:build !crash

package remote

import "context"

// Mark stands at the places of a command and of a transfer at which the crash
// matrix ends the process: once when it is called and once when what it returns
// is called. Here it does nothing.
func Mark(context.Context, string) func() { return unmarked }

func unmarked() {}
