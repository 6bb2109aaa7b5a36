package main

import (
	"context"
	"fmt"
	"time"

	"github.com/overbrainer/overbrainer/internal/ui"
	"github.com/overbrainer/overbrainer/plan"
)

func planCommand(a *app) *command {
	var o planning
	var asJSON, detailed bool
	var given func(flag string) bool
	var out, markdown string
	var wait time.Duration
	parallelism := 10
	return &command{
		name:     "plan",
		synopsis: "what would be done, on which GPU, for how much",
		usage:    "[flags]",
		text: `Compares the configuration with the state, the live catalog and what exists,
		and tells what apply would do: each action and why, the GPU each run would be
		placed on, its price, what bounds it, and the most all of it may cost. It
		changes nothing.`,
		example: "$ overbrainer plan\n$ overbrainer plan -out=p && overbrainer apply p",
		exits:   []int{exitChanges, exitLocked},
		register: func(f *flags) {
			f.text(&out, "out", "FILE", "write the plan for apply FILE")
			f.boolean(&asJSON, "json", "one document on one line")
			f.boolean(&detailed, "detailed-exitcode", "exit with 2 when there are changes")
			f.boolean(&o.destroy, "destroy", "plan the end of everything")
			f.text(&markdown, "markdown", "FILE", "write a summary for a pull request comment; - writes it in place of the plan")
			f.duration(&wait, "lock-timeout", "accepted as everywhere; a plan holds nothing and waits for nobody")
			f.positive(&parallelism, "parallelism", "N", "accepted as everywhere; a plan decides itself")
			o.register(f)
			given = f.given
		},
		run: func(ctx context.Context, _ []string) error {
			switch {
			case given("markdown") && markdown == "":
				return &usageError{text: "-markdown names no file"}
			case asJSON && markdown == standardStream:
				return &usageError{text: "-json and -markdown=- both take the standard output"}
			}
			if given("out") {
				switch out {
				case "":
					return &usageError{text: "-out names no file"}
				case standardStream:
					return &usageError{text: "-out=-: a plan is written to a file", hint: "overbrainer plan -json writes it to the standard output"}
				}
				if err := a.mayBecomePlan(out); err != nil {
					return err
				}
			}
			p, err := a.prepare(ctx, o, nil)
			if err != nil {
				return err
			}
			defer p.close()
			pl, err := p.plan(ctx, o)
			if err != nil {
				return err
			}
			p.warnSecrets(pl)
			alone := markdown == standardStream
			if alone {
				err = p.warnPlan(pl)
			} else {
				err = p.showPlan(pl, asJSON)
			}
			if err != nil {
				return err
			}
			if markdown != "" {
				if _, err := a.writeNamed(ctx, markdown, []byte(ui.Markdown(pl))); err != nil {
					return err
				}
			}
			if err := unapplyable(pl); err != nil {
				return err
			}
			if out != "" {
				if err := p.writePlan(out, pl, asJSON || alone); err != nil {
					return err
				}
			}
			if detailed && (pl.HasChanges() || pl.Destroying && pl.HasOrphans()) {
				return status(exitChanges)
			}
			return nil
		},
	}
}

// showPlan writes a plan for whoever reads it. Errors in it are told by
// unapplyable.
func (p *project) showPlan(pl *plan.Plan, asJSON bool) error {
	if asJSON {
		if err := pl.WriteJSON(p.app.out); err != nil {
			return err
		}
		_, err := fmt.Fprintln(p.app.out)
		return err
	}
	if err := ui.Plan(p.app.out, pl, p.app.outLook()); err != nil {
		return err
	}
	return p.warnPlan(pl)
}

// warnPlan tells a person what is to be known beside a plan.
func (p *project) warnPlan(pl *plan.Plan) error {
	var warnings []plan.Diagnostic
	for _, d := range pl.Diagnostics {
		if d.Severity != "error" {
			warnings = append(warnings, d)
		}
	}
	if len(warnings) == 0 {
		return nil
	}
	fmt.Fprintln(p.app.err)
	return ui.WriteDiagnostics(p.app.err, warnings, p.app.errLook())
}
