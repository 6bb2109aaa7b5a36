package main

import (
	"context"

	"github.com/overbrainer/overbrainer/apply"
	"github.com/overbrainer/overbrainer/internal/ui"
	"github.com/overbrainer/overbrainer/plan"
)

func applyCommand(a *app) *command {
	var o planning
	var ef effects
	var auto, detach bool
	return &command{
		name:     "apply",
		synopsis: "rent, run, bring home, give back",
		usage:    "[flags] [FILE]",
		text: `Makes a plan, asks, and executes it: rents a pod for each run, starts the job
		and follows it, brings its verified results home, and ends the pod. With a plan
		FILE it executes exactly that plan, without asking.

		Before a job exists Ctrl-C deletes its pod. Once it runs, Ctrl-C only leaves it:
		the pod guards itself, and the next apply attaches to it.`,
		example: "$ overbrainer apply\n$ overbrainer apply -auto-approve -json | jq -c 'select(.type == \"ended\")'",
		exits:   []int{exitJobFailed, exitLocked, exitNoCapacity, exitInterrupted},
		most:    1,
		register: func(f *flags) {
			f.boolean(&auto, "auto-approve", "do not ask")
			f.boolean(&detach, "detach", "leave every job as soon as it was started")
			ef.register(f)
			o.register(f)
		},
		run: func(ctx context.Context, args []string) error {
			if len(args) == 1 {
				if err := o.none(); err != nil {
					return err
				}
			}
			if len(args) == 0 && !auto && !a.asks(o.ask) {
				return noTerminal("whether this plan is to be applied", "-auto-approve, or a plan file")
			}
			opt := apply.Options{Detach: detach, LockTimeout: ef.lockTimeout}
			var p *project
			var pl *plan.Plan
			var err error
			if len(args) == 1 {
				p, pl, err = a.openPlan(ctx, args[0], o)
				auto = true
			} else {
				p, pl, err = a.makePlan(ctx, o)
			}
			if err != nil {
				return err
			}
			defer func() { p.close() }()
			if !ef.json {
				if err := p.showPlan(pl, false); err != nil {
					return err
				}
			}
			if err := unapplyable(pl); err != nil {
				return err
			}
			if err := a.requireSecrets(pl); err != nil {
				return err
			}
			opt.Exactly = len(args) == 1
			if pl.HasChanges() {
				if err := a.confirm(ctx, auto, ui.Consent(pl)); err != nil {
					return err
				}
			}
			return p.execute(ef, pl, func(e *apply.Engine) (apply.Outcome, error) { return e.Apply(ctx, pl, opt) })
		},
	}
}

// makePlan reads everything and plans.
func (a *app) makePlan(ctx context.Context, o planning) (*project, *plan.Plan, error) {
	p, err := a.prepare(ctx, o, nil)
	if err != nil {
		return nil, nil, err
	}
	pl, err := p.plan(ctx, o)
	if err != nil {
		p.close()
		return nil, nil, err
	}
	return p, pl, nil
}
