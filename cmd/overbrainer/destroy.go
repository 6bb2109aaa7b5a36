package main

import (
	"context"

	"github.com/overbrainer/overbrainer/apply"
	"github.com/overbrainer/overbrainer/internal/ui"
)

func destroyCommand(a *app) *command {
	o := planning{destroy: true}
	var ef effects
	var auto, discard, takeOver bool
	return &command{
		name:     "destroy",
		synopsis: "collect what has ended, then remove every pod and secret",
		usage:    "[flags]",
		text: `Brings home the results of runs that have ended, then removes every pod, stray
		and secret of the project, and shows that they are gone; also pods whose run
		the state does not know, where they are stopped or their directory is here.
		Directories below runs/ stay. Volumes stay, too, unless -volumes is given and the volume has
		retain = false.`,
		example: "$ overbrainer destroy -auto-approve",
		exits:   []int{exitLocked, exitInterrupted},
		register: func(f *flags) {
			f.boolean(&auto, "auto-approve", "do not ask")
			f.boolean(&o.volumes, "volumes", "also volumes with retain = false")
			f.boolean(&discard, "discard-results", "do not collect results first")
			f.boolean(&takeOver, "take-over", "end the work of other processes on what is removed")
			ef.register(f)
			o.registerEnding(f)
		},
		run: func(ctx context.Context, _ []string) error {
			if !auto && !a.asks(o.ask) {
				return noTerminal("whether everything is to be removed", "-auto-approve")
			}
			p, pl, err := a.makePlan(ctx, o)
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
			if pl.HasChanges() || pl.HasOrphans() {
				if err := a.confirm(ctx, auto, ui.Consent(pl)); err != nil {
					return err
				}
			}
			return p.execute(ef, pl, func(e *apply.Engine) (apply.Outcome, error) {
				return e.Destroy(ctx, pl, apply.DestroyOptions{
					Targets: o.targets, LockTimeout: ef.lockTimeout, DiscardResults: discard, Volumes: o.volumes, TakeOver: takeOver,
				})
			})
		},
	}
}
