//go:build unix

package statetest

import (
	"context"
	"errors"
	"os"
	"syscall"

	"github.com/overbrainer/overbrainer/state"
)

// crashIn updates the count of "crash" and kills this process on the way.
func crashIn(b state.Backend, moment string) error {
	dir, err := os.MkdirTemp("", "crash")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	change := Count("crash")
	if moment == "before" {
		change = func(*state.State) error { die(); return nil }
	}
	store := state.Remote(dying{b}, state.RemoteOptions{Dir: dir, Version: "test", Holder: holder()})
	if _, err := store.Update(context.Background(), change); err != nil {
		return err
	}
	return errors.New("it lived through")
}

func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// dying is a backend whose process is killed when it gives a lock back.
type dying struct{ state.Backend }

func (d dying) Begin(ctx context.Context, lock state.Lock) (state.Transaction, error) {
	tx, err := d.Backend.Begin(ctx, lock)
	if err != nil {
		return nil, err
	}
	return dyingTransaction{tx}, nil
}

type dyingTransaction struct{ state.Transaction }

func (dyingTransaction) End(context.Context) error { die(); return nil }
