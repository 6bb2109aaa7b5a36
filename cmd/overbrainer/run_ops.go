package main

import (
	"context"

	"github.com/overbrainer/overbrainer/apply"
)

// runOp is a command that does one thing to one run.
type runOp struct {
	name, synopsis, text, example string
	do                            func(ctx context.Context, e *apply.Engine, name string, opt apply.Options) (apply.Outcome, error)
}

func (o runOp) command(a *app) *command {
	var in inputs
	ef := effects{oneRun: true}
	return &command{
		name: o.name, synopsis: o.synopsis, usage: "[flags] ADDR|RUN", text: o.text, example: o.example,
		exits: []int{exitJobFailed, exitLocked, exitInterrupted},
		least: 1, most: 1,
		register: func(f *flags) { ef.register(f); in.register(f) },
		run: func(ctx context.Context, args []string) error {
			p, err := a.open(ctx, in, reading{ending: true})
			if err != nil {
				return err
			}
			defer func() { p.close() }()
			address, run, err := findRun(p.st, args[0])
			if err != nil {
				return err
			}
			if err := p.configure(ctx, map[string]bool{p.st.Resources[address].Provider: true}); err != nil {
				return err
			}
			p.warn()
			return p.execute(ef, nil, func(e *apply.Engine) (apply.Outcome, error) {
				return o.do(ctx, e, run.ID, apply.Options{LockTimeout: ef.lockTimeout})
			})
		},
	}
}

func runAttachCommand(a *app) *command {
	return runOp{
		name: "run attach", synopsis: "follow a run that goes on, or collect what has ended",
		text: `Follows the job until it ends, brings its results home and ends its pod, as
		the apply that started it would have done. Ctrl-C leaves the job running.`,
		example: "$ overbrainer run attach 'run.sft[\"low\"]'",
		do: func(ctx context.Context, e *apply.Engine, name string, opt apply.Options) (apply.Outcome, error) {
			return e.Attach(ctx, name, opt)
		},
	}.command(a)
}

func runStopCommand(a *app) *command {
	return runOp{
		name: "run stop", synopsis: "ask a run to save itself and stop",
		text: `Asks the job for a snapshot, waits for it, brings it home and ends the pod. The
		next apply resumes from it. The job has to support it (snapshot block).`,
		example: "$ overbrainer run stop run.iris",
		do: func(ctx context.Context, e *apply.Engine, name string, opt apply.Options) (apply.Outcome, error) {
			return e.Stop(ctx, name, opt)
		},
	}.command(a)
}

func runCancelCommand(a *app) *command {
	return runOp{
		name: "run cancel", synopsis: "end a run's job now",
		text: `Ends the job's processes, brings home what there is and ends the pod. The run
		does not run again by itself.`,
		example: "$ overbrainer run cancel run.iris",
		do: func(ctx context.Context, e *apply.Engine, name string, opt apply.Options) (apply.Outcome, error) {
			return e.Cancel(ctx, name, opt)
		},
	}.command(a)
}

func podRmCommand(a *app) *command {
	var in inputs
	var ef effects
	var force, auto bool
	var provider string
	return &command{
		name:     "pod rm",
		synopsis: "delete the pods of a run",
		usage:    "[-force] [-auto-approve] RUN",
		text: `Deletes every pod of a run, kept ones and strays included, and shows that they
		are gone. A run that goes on keeps the pod it trains on, and a run that is not
		in this project's state is not touched, unless -force says so.`,
		example: "$ overbrainer pod rm iris-20260101-120000-abcd1234",
		exits:   []int{exitLocked, exitInterrupted},
		least:   1, most: 1,
		register: func(f *flags) {
			f.boolean(&force, "force", "also a run that goes on, or is not known here")
			f.boolean(&auto, "auto-approve", "do not ask")
			providerFlag(f, &provider)
			ef.register(f)
			in.register(f)
		},
		run: func(ctx context.Context, args []string) error {
			id := args[0]
			if !auto && !a.asks(in.ask) {
				return noTerminal("whether the pods of "+id+" are to be deleted", "-auto-approve")
			}
			acc, err := a.lookAtWith(ctx, in, provider, reading{ending: true, blind: force})
			if err != nil {
				return err
			}
			defer func() { acc.close() }()
			_, run, unknown := findRun(acc.st, id)
			if unknown == nil {
				id = run.ID
			}
			// Of an unknown run nothing is deleted without -force.
			refused := unknown != nil && !force
			if err := a.confirm(ctx, auto || refused, "Every pod of run "+id+" is deleted. Results that are only there are lost.\n"); err != nil {
				return err
			}
			return acc.execute(ef, nil, func(e *apply.Engine) (apply.Outcome, error) {
				return e.RemovePods(ctx, id, force, apply.Options{LockTimeout: ef.lockTimeout})
			})
		},
	}
}

func sweepCommand(a *app) *command {
	var in inputs
	var ef effects
	auto := false
	return &command{
		name:     "sweep",
		synopsis: "delete pods past their bounds, and secrets no pod needs",
		usage:    "[-auto-approve]",
		text: `Deletes this project's pods that are past the last of their bounds and 5
		minutes, and account secrets of its runs that no pod needs any more; nothing
		else. It says of each other pod until when it is left. For cron and CI: a second
		guard beside the one on each pod.`,
		example: "$ overbrainer sweep -auto-approve",
		exits:   []int{exitLocked, exitInterrupted},
		register: func(f *flags) {
			f.boolean(&auto, "auto-approve", "do not ask")
			ef.register(f)
			in.register(f)
		},
		run: func(ctx context.Context, _ []string) error {
			if !auto && !a.asks(in.ask) {
				return noTerminal("whether what is past its bounds is to be deleted", "-auto-approve")
			}
			p, err := a.open(ctx, in, reading{ending: true})
			if err != nil {
				return err
			}
			defer func() { p.close() }()
			if err := p.connect(ctx); err != nil {
				return err
			}
			p.warn()
			if err := a.confirm(ctx, auto, "Pods of this project that are past the last of their bounds are deleted, and secrets no pod needs.\n"); err != nil {
				return err
			}
			return p.execute(ef, nil, func(e *apply.Engine) (apply.Outcome, error) {
				return e.Sweep(ctx, apply.Options{LockTimeout: ef.lockTimeout})
			})
		},
	}
}
