package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/overbrainer/overbrainer/internal/safetext"
	"github.com/overbrainer/overbrainer/internal/ui"
	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/state"
)

func stateListCommand(a *app) *command {
	asJSON := false
	return &command{
		name:     "state list",
		synopsis: "the addresses in the state",
		usage:    "[-json] [ADDR]",
		text: `Lists every address in the state, or those that ADDR stands for: itself, every
		instance where it has no key, every run or volume where it is run or volume.`,
		example:  "$ overbrainer state list run.sft",
		most:     1,
		register: func(f *flags) { f.boolean(&asJSON, "json", "an array of strings") },
		run: func(ctx context.Context, args []string) error {
			st, err := a.readState(ctx)
			if err != nil {
				return err
			}
			found := []string{}
			for _, address := range st.Addresses() {
				if len(args) == 0 || address == args[0] || strings.HasPrefix(address, args[0]+"[") || strings.HasPrefix(address, args[0]+".") {
					found = append(found, address)
				}
			}
			if len(args) == 1 && len(found) == 0 {
				_, err := entry(st, args[0])
				return err
			}
			if asJSON {
				return ui.JSONLine(a.out, found)
			}
			if len(found) == 0 {
				fmt.Fprintln(a.err, "There are no addresses in the state.")
			}
			for _, address := range found {
				fmt.Fprintln(a.out, safetext.OneLine(address))
			}
			return nil
		},
	}
}

func stateShowCommand(a *app) *command {
	asJSON := false
	return &command{
		name:     "state show",
		synopsis: "one entry of the state",
		usage:    "[-json] ADDR",
		text:     "Shows everything that the state holds of an address.",
		example:  "$ overbrainer state show run.iris",
		least:    1, most: 1,
		register: func(f *flags) { f.boolean(&asJSON, "json", "as JSON") },
		run: func(ctx context.Context, args []string) error {
			st, err := a.readState(ctx)
			if err != nil {
				return err
			}
			r, err := entry(st, args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return ui.JSONLine(a.out, r)
			}
			return ui.Resource(a.out, args[0], r, a.look(os.Stdout))
		},
	}
}

// entry finds an address in the state.
func entry(st *state.State, address string) (*state.Resource, error) {
	if r, ok := st.Resources[address]; ok {
		return r, nil
	}
	p := &problem{code: "no_such_address", message: address + " is not in the state", hint: "overbrainer state list tells what is"}
	if several := instancesOf(address, st.Addresses()); several != "" {
		p.message, p.hint = address+" has several instances: name one", "there are "+several
	} else if near := nearestAddress(address, st.Addresses()); near != "" {
		p.hint = "did you mean " + plan.ShellWord(near) + "?"
	}
	return nil, p
}
