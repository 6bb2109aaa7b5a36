package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/overbrainer/overbrainer/config"
	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/state"
)

func stateMvCommand(a *app) *command {
	return &command{
		name:     "state mv",
		synopsis: "give an entry of the state another address",
		usage:    "FROM TO",
		text: `Renames an entry, after a block was renamed in the configuration, so that
		what is there is not run again. (A moved block does the same for everybody.)`,
		example: "$ overbrainer state mv run.train run.sft",
		exits:   []int{exitLocked},
		least:   2, most: 2,
		run: func(ctx context.Context, args []string) error {
			from := args[0]
			kind, to, ok := config.Address(args[1])
			_, err := a.store(0).Update(state.Touching(ctx, from, to), func(st *state.State) error {
				r, err := entry(st, from)
				if err != nil {
					return err
				}
				if !ok || kind != r.Type {
					return &usageError{text: fmt.Sprintf("%q is no address of a %s", args[1], r.Type), hint: fmt.Sprintf(`it looks like %s.NAME or '%[1]s.NAME["KEY"]'`, r.Type)}
				}
				if _, taken := st.Resources[to]; taken {
					return &problem{code: "address_taken", message: to + " is in the state already"}
				}
				if err := a.unclaimed(st, from, to); err != nil {
					return err
				}
				delete(st.Resources, from)
				st.Resources[to] = r
				return nil
			})
			if err == nil {
				fmt.Fprintf(a.out, "%s is now %s.\n", from, to)
			}
			return err
		},
	}
}

// unclaimed refuses addresses that a process works on.
func (a *app) unclaimed(st *state.State, addresses ...string) error {
	const operation = "edit"
	id, _, err := st.Claim(addresses, operation, holder(), a.now())
	if err != nil {
		return err
	}
	st.Release(id)
	return nil
}

func stateRmCommand(a *app) *command {
	force := false
	return &command{
		name:     "state rm",
		synopsis: "forget an entry of the state, which goes on to exist",
		usage:    "[-force] ADDR...",
		text: `Takes entries out of the state without touching what they stand for. A run
		that still has a pod, a secret or results on the pod is refused without
		-force: nobody would know of it any more.`,
		example: "$ overbrainer state rm volume.cache",
		exits:   []int{exitLocked},
		least:   1, most: -1,
		register: func(f *flags) { f.boolean(&force, "force", "also what still holds a pod or a secret") },
		run: func(ctx context.Context, args []string) error {
			_, err := a.store(0).Update(state.Touching(ctx, args...), func(st *state.State) error {
				for _, address := range args {
					r, err := entry(st, address)
					if err != nil {
						return err
					}
					if err := a.unclaimed(st, address); err != nil {
						return err
					}
					if r.Run != nil && !force {
						for _, run := range r.Run.Runs {
							if run.Holds() {
								return &problem{code: "holds", address: address, id: run.ID,
									message: fmt.Sprintf("%s: run %s still has a pod, a secret or something unfinished", address, run.ID),
									hint:    "overbrainer destroy -target=" + plan.ShellWord(address) + " ends it; -force forgets it all the same"}
							}
						}
					}
					delete(st.Resources, address)
				}
				return nil
			})
			if err == nil {
				for _, address := range args {
					fmt.Fprintf(a.out, "%s is forgotten.\n", address)
				}
			}
			return err
		},
	}
}

func statePullCommand(a *app) *command {
	return &command{
		name:     "state pull",
		synopsis: "the whole state as JSON",
		text:     "Prints the state as it is stored.",
		example:  "$ overbrainer state pull > copy.json",
		run: func(ctx context.Context, _ []string) error {
			st, err := a.readState(ctx)
			if err != nil {
				return err
			}
			data, err := state.Encode(st)
			if err != nil {
				return err
			}
			asJSON := a.json
			a.json = true // as it is: only known secrets are masked
			_, err = a.out.Write(data)
			a.json = asJSON
			return err
		},
	}
}

func statePushCommand(a *app) *command {
	force := false
	return &command{
		name:     "state push",
		synopsis: "replace the whole state",
		usage:    "[-force] FILE",
		text: `Takes over a state from FILE (- is the standard input), with a serial above
		both. A state of another project, or an older one, is refused without -force.
		The one before stays as a backup.`,
		example: "$ overbrainer state push overbrainer.state.pending-4711-0.json",
		exits:   []int{exitLocked},
		least:   1, most: 1,
		register: func(f *flags) { f.boolean(&force, "force", "take it over whatever it is") },
		run: func(ctx context.Context, args []string) error {
			data, err := a.readFile(ctx, args[0])
			if err != nil {
				return err
			}
			st, err := state.Decode(args[0], data)
			if err != nil {
				return err
			}
			store := a.store(0)
			if err := store.Push(ctx, st, force); err != nil {
				return err
			}
			fmt.Fprintf(a.out, "%s holds it now.\n", store.Where())
			if path := a.path(args[0]); slices.Contains(store.Rescued(), path) {
				// A copy of what could not be written has done its duty.
				_ = os.Remove(path)
			}
			return nil
		},
	}
}

// readFile reads a file named on the command line, - being the standard input.
func (a *app) readFile(ctx context.Context, name string) ([]byte, error) {
	if name == "-" {
		return typed(ctx, func() ([]byte, error) { return io.ReadAll(a.in) })
	}
	data, err := os.ReadFile(a.path(name))
	if err != nil {
		return nil, &problem{code: "file", message: fmt.Sprintf("%s: %v", name, reason(err))}
	}
	return data, nil
}
