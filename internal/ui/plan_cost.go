package ui

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/overbrainer/overbrainer/internal/money"
	"github.com/overbrainer/overbrainer/plan"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func jsonText(v any) string { return clean(rawJSON(v)) }

// catalog tells what moved since the last plan or apply.
func (v planView) catalog() {
	if len(v.plan.CatalogDiff) == 0 {
		return
	}
	v.line()
	title := "Moved in the catalog"
	if since := v.plan.CatalogDiff[0].Since; since != nil {
		title += " since " + since.UTC().Format("2006-01-02 15:04 MST")
	}
	v.line(v.look.Bold(title + ":"))
	const most = 20
	for i, c := range v.plan.CatalogDiff {
		if i == most {
			v.line(fmt.Sprintf("  and %d more (plan -json has them all)", len(v.plan.CatalogDiff)-most))
			return
		}
		what := clean(c.GPUType)
		if c.GPUCount > 1 {
			what = fmt.Sprintf("%d × %s", c.GPUCount, what)
		}
		if c.Target != "" {
			what = strings.TrimSpace(clean(c.Target) + " " + what)
		}
		if c.DataCenter != "" {
			what += " in " + clean(c.DataCenter)
		}
		if c.Field == "offered" {
			words := "is offered now"
			if c.After == false {
				words = "is no longer offered"
			}
			v.line("  ", what, " ", words)
			continue
		}
		v.line("  ", what, ": ", clean(c.Field), " ", moved(c.Field, c.Before), " -> ", moved(c.Field, c.After))
	}
}

func moved(field string, value any) string {
	switch x := value.(type) {
	case nil:
		if field == "price" {
			return "unknown"
		}
		return "none"
	case float64:
		if field == "price" {
			return money.Price(x)
		}
	case *float64:
		if field == "price" {
			return price(x)
		}
	case string:
		return clean(x)
	}
	return jsonText(value)
}

// leftovers are things that exist, and may bill, outside the steps.
func (v planView) leftovers() { v.flush(Leftovers(v.w, v.plan.Leftovers, v.look)) }

// totals ends the plan with what it comes to.
func (v planView) totals() {
	counts := map[string]int{}
	for _, s := range v.plan.Steps {
		counts[kind(s.Action)]++
	}
	v.line()
	var parts []string
	for _, k := range []string{"to run", "to attach or collect", "to create", "to change", "to remove", "held"} {
		if counts[k] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[k], k))
		}
	}
	if len(parts) > 0 {
		v.line(v.look.Bold("Plan: " + strings.Join(parts, ", ") + "."))
	}
	c := v.plan.Cost
	most := usd(c.MaxUSD)
	if c.Unbounded != "" {
		most = "unbounded: " + clean(c.Unbounded)
	}
	if counts["to run"] > 0 || counts["to attach or collect"] > 0 || c.Unbounded != "" {
		v.total("most it may cost", most)
		for _, line := range Wrap(clean(c.Basis), v.look.Columns()-6) {
			if line != "" {
				v.line("    ", v.look.paint(dim, line))
			}
		}
		v.total("expected", usd(c.ExpectedUSD))
		when := "while it runs"
		if counts["to run"]+counts["to attach or collect"] > 1 {
			when = "all at once"
		}
		v.total(when, price(c.HourlyUSD)+" an hour")
	}
	if c.MonthlyStorageUSD == nil || *c.MonthlyStorageUSD > 0 {
		v.total("storage", usd(c.MonthlyStorageUSD)+" a month")
	}
	for _, name := range sortedKeys(c.SpentUSD) {
		v.total("spent so far", money.USD(c.SpentUSD[name])+" under "+clean(name))
	}
	if !v.plan.Applyable {
		v.line(v.look.paint(red, "This plan cannot be applied."))
	}
}

func (v planView) total(name, value string) {
	lines := Wrap(value, v.look.Columns()-22)
	for i, line := range lines {
		if i > 0 {
			name = ""
		}
		v.line("  ", pad(name, 18), line)
	}
}

func kind(a plan.Action) string {
	switch a {
	case plan.Run, plan.Rerun, plan.Resume:
		return "to run"
	case plan.Attach, plan.Collect:
		return "to attach or collect"
	case plan.Create, plan.Adopt:
		return "to create"
	case plan.Grow, plan.Refresh:
		return "to change"
	case plan.Destroy, plan.Forget, plan.Sweep:
		return "to remove"
	case plan.Hold:
		return "held"
	}
	return ""
}
