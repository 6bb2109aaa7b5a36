package state_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/overbrainer/overbrainer/state"
	"github.com/overbrainer/overbrainer/state/statetest"
)

func TestLocalStore(t *testing.T) {
	statetest.Run(t, func(t *testing.T) statetest.Place {
		dir := t.TempDir()
		return statetest.Place{
			Open: func() state.Store { return state.Local(dir, "test") },
			Put: func(t *testing.T, data []byte) {
				if err := os.WriteFile(filepath.Join(dir, state.FileName), data, 0o600); err != nil {
					t.Fatal(err)
				}
				// The next command is of a checkout that knows nothing yet.
				if err := state.Forget(dir); err != nil {
					t.Fatal(err)
				}
			},
			Crash: func(t *testing.T, moment string) {
				cmd := exec.Command(os.Args[0])
				cmd.Env = append(os.Environ(), "STATE_TEST_HELPER="+strings.Join([]string{"crash-" + moment, dir}, "|"))
				err := cmd.Run()
				if exit, ok := err.(*exec.ExitError); !ok || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
					t.Fatalf("the process was not killed: %v", err)
				}
			},
		}
	})
}
