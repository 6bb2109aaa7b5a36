package ui

import (
	"fmt"
	"strings"

	"github.com/overbrainer/overbrainer/plan"
)

// Markdown sums a plan up for a comment on a pull request.
func Markdown(p *plan.Plan) string {
	var b strings.Builder
	counts := map[string]int{}
	for _, s := range p.Steps {
		counts[kind(s.Action)]++
	}
	b.WriteString("### overbrainer plan: " + clean(p.Project.Name) + "\n\n")
	var parts []string
	for _, k := range []string{"to run", "to attach or collect", "to create", "to change", "to remove", "held"} {
		if counts[k] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[k], k))
		}
	}
	if len(parts) == 0 {
		b.WriteString("No changes.\n")
	} else {
		b.WriteString("**" + strings.Join(parts, ", ") + "**\n")
	}
	if p.Project.Simulated {
		b.WriteString("\nOn the simulator: nothing is rented, nothing is paid.\n")
	}
	most := usd(p.Cost.MaxUSD)
	if p.Cost.Unbounded != "" {
		most = "unbounded (" + clean(p.Cost.Unbounded) + ")"
	}
	fmt.Fprintf(&b, "\n| most it may cost | expected | an hour | storage a month |\n|---:|---:|---:|---:|\n| %s | %s | %s | %s |\n",
		cell(most), usd(p.Cost.ExpectedUSD), price(p.Cost.HourlyUSD), usd(p.Cost.MonthlyStorageUSD))
	markdownSteps(&b, p)
	for _, c := range p.Checks {
		if c.Status != "pass" {
			fmt.Fprintf(&b, "\n**check `%s`: %s** (%s) %s\n", clean(c.Name), c.Status, clean(c.Where), cell(c.Message))
		}
	}
	for _, d := range p.Diagnostics {
		fmt.Fprintf(&b, "\n**%s:** %s\n", d.Severity, cell(d.Summary))
	}
	if !p.Applyable {
		b.WriteString("\n**This plan cannot be applied.**\n")
	}
	return b.String()
}

func markdownSteps(b *strings.Builder, p *plan.Plan) {
	const most = 200
	n := 0
	for _, s := range p.Steps {
		if s.Action == plan.NoOp {
			continue
		}
		if n == 0 {
			b.WriteString("\n| | address | why | GPU | $/h | at most |\n|---|---|---|---|---:|---:|\n")
		}
		if n++; n > most {
			continue
		}
		gpu, rate := "", ""
		for _, o := range p.Offers[s.Address] {
			if o.Chosen {
				gpu, rate = o.GPUType, price(o.PriceUSD)
			}
		}
		max := ""
		if starts(s.Action) {
			max = usd(s.Cost.MaxUSD)
		}
		fmt.Fprintf(b, "| %s | `%s` | %s | %s | %s | %s |\n", s.Action, cell(s.Address), cell(because(s, plan.List(s.ChangedInputs, mostChanged))), cell(gpu), rate, max)
	}
	if n > most {
		fmt.Fprintf(b, "\nand %d more\n", n-most)
	}
	markdownEstimates(b, p)
}

// markdownEstimates says once for each target what its model is estimated to
// need, with the parts.
func markdownEstimates(b *strings.Builder, p *plan.Plan) {
	said := map[string]bool{}
	for _, s := range p.Steps {
		if s.Run == nil || !starts(s.Action) || s.Run.Target.Estimate == nil || said[s.Run.Target.Address] {
			continue
		}
		said[s.Run.Target.Address] = true
		fmt.Fprintf(b, "\n`%s` needs at least %d GB of VRAM, estimated: %s\n", cell(s.Run.Target.Address), s.Run.Target.VRAMFloorGB, cell(s.Run.Target.Estimate.String()))
	}
}

// cell makes text safe within a Markdown table.
func cell(s string) string {
	return strings.NewReplacer("|", "\\|", "<", "&lt;", "`", "'").Replace(clean(s))
}
