package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/overbrainer/overbrainer/state"
)

func forceUnlockCommand(a *app) *command {
	force := false
	return &command{
		name:     "force-unlock",
		synopsis: "end a claim whose holder is gone",
		usage:    "[-force] ID",
		text: `Ends the claim that another process holds on addresses. It asks first, since
		two processes working on one run can both rent a pod for it. A claim ends by
		itself three minutes after its holder's last word, and at once where the
		holder was a process of this machine that is no more. The lock of a backend,
		which is held for one write, is ended by its ID too.`,
		example: "$ overbrainer force-unlock 7f3c2a",
		least:   1, most: 1,
		register: func(f *flags) { f.boolean(&force, "force", "do not ask") },
		run: func(ctx context.Context, args []string) error {
			if !force && !a.asks(true) {
				return noTerminal("whether the claim is to be ended", "-force")
			}
			freed, err := a.unlock(ctx, args[0], force)
			if err != nil {
				return err
			}
			if freed == nil {
				fmt.Fprintln(a.out, "The lock is ended.")
				return nil
			}
			fmt.Fprintf(a.out, "The claim is ended: %s.\n", strings.Join(freed, ", "))
			return nil
		},
	}
}

// unlock ends the claim with the ID and gives its addresses, or a backend's lock
// with it, which covers none. It asks once it knows that there may be one.
func (a *app) unlock(ctx context.Context, id string, force bool) ([]string, error) {
	store := a.store(0)
	st, err := store.Read(ctx)
	if err != nil {
		return nil, err
	}
	// Only looking takes no lock; whoever left one may be the reason to be here.
	_, missing := st.ForceUnlock(id)
	if missing != nil && !store.locks() {
		return nil, noSuchClaim(id, missing)
	}
	if err := a.confirm(ctx, force, "The process that holds the claim must not be at work any more.\n"); err != nil {
		return nil, err
	}
	if missing == nil {
		var freed []string
		_, err := store.Update(state.Touching(ctx), func(st *state.State) (err error) {
			freed, err = st.ForceUnlock(id)
			return err
		})
		return freed, err
	}
	var none *state.NoLockError
	if err := store.Unlock(ctx, id); !errors.As(err, &none) {
		return nil, err
	}
	if none.Held != "" {
		return nil, &problem{code: "no_such_claim", id: id, message: fmt.Sprintf("no claim and no lock has the ID %q: nothing was ended", id),
			hint: "the lock that is held has the ID " + none.Held}
	}
	return nil, noSuchClaim(id, missing)
}

func noSuchClaim(id string, missing error) error {
	return &problem{code: "no_such_claim", message: missing.Error(), id: id, hint: "overbrainer show lists the claims there are"}
}

// noTerminal is the refusal to ask where nobody can answer.
func noTerminal(what, flag string) error {
	return &problem{code: "input", message: "it would ask " + what + ", and there is no terminal to ask on",
		hint: "give " + flag}
}
