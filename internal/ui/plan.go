package ui

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/overbrainer/overbrainer/plan"
)

// Plan shows p to a person: every action and why, what each run would be
// placed on and cost, what moved in the catalog, what is left over, the totals.
func Plan(w io.Writer, p *plan.Plan, look Look) error {
	v := planView{printer: &printer{w: w}, plan: p, look: look}
	v.steps()
	v.staying()
	v.offers()
	v.catalog()
	v.outputs()
	v.leftovers()
	v.checks()
	v.totals()
	return v.err
}

type planView struct {
	*printer
	plan *plan.Plan
	look Look
}

// sign is what stands before an address, and its colour.
func sign(a plan.Action) (mark, color string) {
	switch a {
	case plan.Run, plan.Create:
		return "+", green
	case plan.Adopt:
		return "=", green
	case plan.Rerun:
		return "-/+", magenta
	case plan.Resume, plan.Attach, plan.Collect, plan.Grow, plan.Refresh:
		return "~", magenta
	case plan.Destroy, plan.Sweep:
		return "-", red
	case plan.Forget:
		return ".", dim
	}
	return " ", dim
}

func (v planView) steps() {
	var shown []*plan.Step
	for _, s := range v.plan.Steps {
		if s.Action != plan.NoOp {
			shown = append(shown, s)
		}
	}
	for _, m := range v.plan.Moves {
		v.line(v.look.paint(magenta, "  > "), v.look.Bold(clean(m.From)), " is now ", v.look.Bold(clean(m.To)))
	}
	switch {
	case len(shown) > 0:
	case v.plan.HasChanges():
		v.line("No run and no volume changes.")
		return
	case v.plan.Applyable && v.plan.Destroying && v.plan.HasOrphans():
		v.line("The state has nothing to remove. Of the pods below, which it does not know, those that\nare stopped or have a directory here are deleted.")
		return
	case v.plan.Applyable && v.plan.Destroying:
		v.line("No changes. There is nothing to remove.")
		return
	case v.plan.Applyable && v.plan.RefreshOnly && len(v.plan.Steps) == 0:
		v.line("No changes. The state is empty, so there is nothing to compare.")
		return
	case v.plan.Applyable && v.plan.RefreshOnly:
		v.line("No changes. What the state has is as it says. The configuration was not compared.")
		return
	case v.plan.Applyable:
		v.line("No changes. What the configuration asks for is there.")
		return
	default:
		return
	}
	where := ""
	if v.plan.Project.Simulated {
		where = " on the simulator (nothing is rented, nothing is paid)"
	}
	head := "overbrainer will do this" + where + ":"
	if !slices.ContainsFunc(shown, func(s *plan.Step) bool { return s.Action != plan.Hold }) {
		head = "No changes. Held until you say so:"
		if v.plan.HasChanges() {
			head = "No run and no volume changes. Held until you say so:"
		}
	}
	v.line(v.look.Bold(head))
	before := map[plan.Action]*plan.Step{} // the last one that was shown in full
	for _, s := range shown {
		v.line()
		if !v.step(s, before[s.Action]) {
			before[s.Action] = s
		}
	}
}

// staying names the volumes that the end of everything leaves, with what they
// go on costing.
func (v planView) staying() {
	for _, s := range v.plan.Steps {
		if v.plan.Destroying && s.Type == "volume" && s.Action == plan.NoOp {
			v.line("    ", v.look.Bold(clean(s.Address)), "  ", clean(s.Reason))
		}
	}
}

// step shows one action; before is the last one of its kind above it that was shown in
// full.
// It reports whether this one was told by that.
func (v planView) step(s, before *plan.Step) (alike bool) {
	mark, color := sign(s.Action)
	title := fmt.Sprintf("%s %s", v.look.paint(color, fmt.Sprintf("%3s", mark)), v.look.Bold(clean(s.Address)))
	if 4+width(clean(s.Address))+2+width(verb(s.Action)) <= v.look.Columns() {
		v.line(title, "  ", v.look.paint(color, verb(s.Action)))
	} else {
		v.line(title)
		v.line("      ", v.look.paint(color, verb(s.Action)))
	}
	v.field("because", clean(because(s, fmt.Sprintf("%d inputs", len(s.ChangedInputs)))))
	v.field("changed", changed(s, before))
	if s.Run != nil {
		alike = v.run(s, before)
	}
	if s.Volume != nil {
		v.volume(s)
	}
	return alike
}

// mostChanged is how many of a run's changed inputs are named for people.
const mostChanged = 6

// because is why a step is done, with other words for more changed inputs than
// people read: a plan of a sweep says it for each instance. JSON has all of them.
func because(s *plan.Step, many string) string {
	if len(s.ChangedInputs) <= mostChanged {
		return s.Reason
	}
	return strings.Replace(s.Reason, strings.Join(s.ChangedInputs, ", "), many, 1)
}

// changed names the inputs that changed. Those that many instances share are named
// for the first of them.
func changed(s, before *plan.Step) string {
	if len(s.ChangedInputs) > mostChanged && before != nil && slices.Equal(s.ChangedInputs, before.ChangedInputs) {
		return "as for " + clean(before.Address)
	}
	return clean(plan.List(s.ChangedInputs, mostChanged))
}

func verb(a plan.Action) string {
	switch a {
	case plan.Run:
		return "run"
	case plan.Rerun:
		return "run again"
	case plan.Resume:
		return "resume from its snapshot"
	case plan.Attach:
		return "attach to it"
	case plan.Collect:
		return "collect its results"
	case plan.Hold:
		return "held, not run again by itself"
	case plan.Sweep:
		return "sweep"
	case plan.Refresh:
		return "bring the state in line with what exists"
	}
	return string(a)
}

// field prints "name  text", the text wrapped beside it.
func (v planView) field(name, text string) {
	if text == "" {
		return
	}
	for i, line := range Wrap(text, v.look.Columns()-17) {
		if i > 0 {
			name = ""
		}
		v.line("      ", v.look.paint(dim, pad(name, 9)), "  ", line)
	}
}

func (v planView) outputs() {
	t := Table{Columns: []string{"OUTPUT", "VALUE"}, Indent: "  "}
	for _, name := range sortedKeys(v.plan.Outputs) {
		o := v.plan.Outputs[name]
		switch {
		case o.Sensitive:
			t.Add(name, "(sensitive)")
		case o.Unknown:
			t.Add(name, "(known after apply)")
		default:
			t.Add(name, cut(jsonText(o.Value), v.look.Columns()-30))
		}
	}
	if len(t.Rows) > 0 && v.plan.HasChanges() {
		v.line()
		v.flush(t.Write(v.w, v.look))
	}
}

func (v planView) flush(err error) {
	if v.err == nil {
		v.err = err
	}
}

func (v planView) checks() {
	for _, c := range v.plan.Checks {
		color := red
		switch c.Status {
		case "pass":
			continue
		case "undecided":
			color = magenta
		}
		v.line()
		v.line(v.look.paint(color, "check "+clean(c.Name)+": "+c.Status), " (", clean(c.Where), ")")
		for _, line := range Wrap(clean(c.Message), v.look.Columns()-2) {
			if line != "" {
				v.line("  ", line)
			}
		}
	}
}
