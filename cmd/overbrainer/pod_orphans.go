package main

import (
	"context"
	"os"

	"github.com/overbrainer/overbrainer/internal/ui"
	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/providers"
)

// orphanWarnings says which pods nobody looks after.
func orphanWarnings(a *app, rows []podRow) {
	for _, r := range rows {
		if !r.Orphan || a.json {
			continue
		}
		text := "pod " + r.PodID + ": " + r.Note
		if r.RateUSD != nil {
			text += ", " + ui.Rates(*r.RateUSD, r.MonthlyUSD)
		}
		if r.Fix != "" {
			text += "; ends with: " + r.Fix
		}
		a.warn(text)
	}
}

// secretWarnings says which account secrets of the project nothing needs.
func secretWarnings(ctx context.Context, acc *account, pods []providers.Pod) {
	a := acc.app
	if a.json || !acc.rented[acc.name].Description.Has(providers.CapSecrets) {
		return
	}
	list, err := acc.provider.ListSecrets(ctx, "")
	if err != nil {
		a.warn("the account's secrets could not be read: " + err.Error())
		return
	}
	for _, s := range plan.OrphanedSecrets(acc.st, pods, list, a.now().Add(-acc.freshPod(acc.name))) {
		a.warn("account secret " + s.Name + ": of run " + s.RunID + ", which the state does not know any more; ends with: overbrainer sweep")
	}
}

// warn tells a person something on the standard error.
func (a *app) warn(text string) {
	p := ui.Problem{Message: text}
	_ = p.Warn(a.err, a.look(os.Stderr))
}
