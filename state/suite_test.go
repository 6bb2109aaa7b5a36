package state_test

import (
	"context"
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
	t.Run("whole", func(t *testing.T) {
		suite(t, func(dir string) state.Store { return state.Local(dir, "test") })
	})
	t.Run("with journals", func(t *testing.T) {
		suite(t, func(dir string) state.Store {
			store := state.Local(dir, "test", state.JournalFrom(0))
			_ = store.Session()
			return naming{store}
		})
	})
}

// naming says of each change that it alters no resource, where that is so.
type naming struct{ state.Store }

func (n naming) Update(ctx context.Context, change func(*state.State) error) (*state.State, error) {
	s, err := n.Store.Update(state.Touching(ctx), change)
	if err != nil && strings.Contains(err.Error(), "did not name it") {
		return n.Store.Update(ctx, change)
	}
	return s, err
}

func suite(t *testing.T, open func(dir string) state.Store) {
	statetest.Run(t, func(t *testing.T) statetest.Place {
		dir := t.TempDir()
		return statetest.Place{
			Open: func() state.Store { return open(dir) },
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
