package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/overbrainer/overbrainer/apply"
	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/state"
)

func runAcceptCommand(a *app) *command {
	var in inputs
	var wait time.Duration
	return &command{
		name:     "run accept",
		synopsis: "take the present inputs for those of the last result",
		usage:    "ADDR",
		text: `Records that the last result stands although inputs have changed since: after a
		change that cannot matter (a comment in train.py), the next plan does not run it
		again. Of a run that did not succeed it is its snapshot that stands, and the run
		goes on from it with the inputs as they are now. Where the plan names a newer
		checkpoint that is not known to be whole, that one is taken for whole, if the
		inputs have not changed.`,
		example: "$ overbrainer run accept run.iris",
		exits:   []int{exitLocked},
		least:   1, most: 1,
		register: func(f *flags) {
			f.duration(&wait, "lock-timeout", "how long to wait for what another process works on")
			in.register(f)
		},
		run: func(ctx context.Context, args []string) error {
			p, err := a.open(ctx, in, reading{})
			if err != nil {
				return err
			}
			defer p.close()
			p.warn()
			address, run, err := findRun(p.st, args[0])
			if err != nil {
				return err
			}
			want := p.cfg.Run(address)
			switch {
			case want == nil:
				return &problem{code: "no_such_run", address: address, message: address + " is not in the configuration any more"}
			case run.Phase != state.Succeeded && (!run.Phase.Ended() || run.Checkpoint() == nil && run.Doubtful() == nil):
				return &problem{code: "no_result", address: address, id: run.ID, message: address + " has no result and no snapshot to keep: it is " + string(run.Phase)}
			case want.Fingerprint == "":
				return &problem{code: "late", address: address, message: address + " hangs on results that are not known: " + strings.Join(want.Late, ", ")}
			case want.Fingerprint == run.Fingerprint && !run.TakesDoubtful(want.Fingerprint):
				_, err := fmt.Fprintln(a.out, address+" has not changed.")
				return err
			}
			engine, err := p.engine(effects{}, nil, func(apply.Event) {}, nil)
			if err != nil {
				return err
			}
			if err := engine.Accept(ctx, address, plan.RunSpecOf(want), apply.Options{LockTimeout: wait}); err != nil {
				return err
			}
			if run.Phase != state.Succeeded {
				c := run.Checkpoint()
				if run.TakesDoubtful(want.Fingerprint) {
					c = run.Doubtful()
				}
				_, err = fmt.Fprintf(a.out, "The snapshot of step %d of run %s stands for the present inputs of %s.\n", c.Step, c.RunID, address)
				return err
			}
			_, err = fmt.Fprintf(a.out, "The result of run %s stands for the present inputs of %s.\n", run.ID, address)
			return err
		},
	}
}
