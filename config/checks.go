package config

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// Status is the outcome of a check.
type Status string

// Outcomes. Only StatusPass is a pass.
const (
	StatusPass      Status = "pass"
	StatusFail      Status = "fail"
	StatusUndecided Status = "undecided" // hangs on a run to come
	StatusError     Status = "error"     // the condition could not be computed
)

// Check is the outcome of a check block: that of its worst assertion.
type Check struct {
	Name    string
	Status  Status
	Message string
	// Range is the condition that decided, or the block.
	Range hcl.Range
}

// EvalChecks decides the check blocks over a view of the plan, an object with
// the attributes that expressions find under `plan`, and the results that are
// known. Amounts of money in the view that are null or unknown are unknown, and
// a condition that needs one fails.
func (c *Config) EvalChecks(planView cty.Value, results map[string]RunResult) []Check {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.prog.later(results)
	s.plan = planOf(planView)
	var out []Check
	over := s.bounds(func() {
		for _, d := range c.prog.ofKind("check") {
			out = append(out, s.check(d))
		}
	})
	for _, d := range over {
		out = append(out, Check{Name: "evaluation", Status: StatusError, Message: d.Detail})
	}
	return out
}

// verdict is the outcome of one condition.
type verdict struct {
	status  Status
	message string
	diags   hcl.Diagnostics
	rng     hcl.Range
}

var severity = map[Status]int{StatusPass: 0, StatusUndecided: 1, StatusFail: 2, StatusError: 3}

// check decides one check block.
func (s *session) check(d *decl) Check {
	out := Check{Name: d.name, Status: StatusPass, Range: d.rng}
	r := s.reader(d, nil)
	before := len(s.diags)
	if d.bad {
		return Check{Name: d.name, Status: StatusError, Message: "it is part of a circle of references", Range: d.rng}
	}
	for _, n := range r.nested("assert") {
		v := s.assertWith(n.body, n.extra)
		if severity[v.status] > severity[out.Status] {
			out.Status, out.Message, out.Range = v.status, v.message, v.rng
		}
	}
	if r.failed {
		out.Status = StatusError
		if len(s.diags) > before {
			out.Message = s.diags[before].Detail
		}
	}
	return out
}

func (s *session) assert(body *hclsyntax.Body) verdict { return s.assertWith(body, nil) }

// assertWith evaluates a condition and, where it does not hold, its message.
func (s *session) assertWith(body *hclsyntax.Body, extra map[string]cty.Value) verdict {
	attr := body.Attributes["condition"]
	if attr == nil {
		return verdict{status: StatusError, message: "there is no condition"}
	}
	rng := attr.Expr.Range()
	fail := func(summary, detail string) verdict {
		return verdict{status: StatusError, message: detail, rng: rng, diags: hcl.Diagnostics{at(rng, summary, detail)}}
	}
	before := len(s.diags)
	raw, ok := s.evalWith(attr.Expr, nil, extra)
	if !ok {
		found := append(hcl.Diagnostics(nil), s.diags[before:]...)
		s.diags = s.diags[:before]
		v := verdict{status: StatusError, message: "the condition cannot be computed", rng: rng, diags: found}
		if len(found) > 0 {
			v.message += ": " + voice(found[0].Detail)
		}
		return v
	}
	v, t := unmark(raw)
	switch {
	case t.broken:
		return verdict{status: StatusError, message: "the condition uses a value that has a fault", rng: rng}
	case v.IsNull():
		return fail("condition is null", "the condition is null, which is neither true nor false")
	}
	b, err := convert.Convert(v, cty.Bool)
	if err != nil {
		return fail("wrong type", fmt.Sprintf("the condition must be true or false, and this is %s", friendly(v)))
	}
	switch {
	case !b.IsKnown() && (t.planned || overRuns(attr.Expr) && (len(t.sources) == 0 || unbounded(s.plan))):
		return verdict{status: StatusFail, message: hint(s.message(body, extra), "a price or cost that the condition needs is not known, and what is not known does not pass"), rng: rng}
	case !b.IsKnown():
		return verdict{status: StatusUndecided, message: undecided(t), rng: rng}
	case b.False():
		return verdict{status: StatusFail, message: s.message(body, extra), rng: rng}
	}
	return verdict{status: StatusPass, rng: rng}
}

func undecided(t traits) string {
	if len(t.sources) == 0 {
		return "it is decided once the runs have ended"
	}
	return fmt.Sprintf("it is decided once %s has ended", list(t.sources))
}

// message evaluates error_message; one that is sensitive is not shown.
func (s *session) message(body *hclsyntax.Body, extra map[string]cty.Value) string {
	attr := body.Attributes["error_message"]
	if attr == nil {
		return ""
	}
	before := len(s.diags)
	raw, ok := s.evalWith(attr.Expr, nil, extra)
	s.diags = s.diags[:before]
	if !ok {
		return "the condition does not hold, and its error_message cannot be computed"
	}
	v, t := unmark(raw)
	if t.sensitive {
		return "the condition does not hold; its error_message uses a sensitive value and is not shown"
	}
	text, err := convert.Convert(v, cty.String)
	if err != nil || !text.IsKnown() || text.IsNull() {
		return "the condition does not hold"
	}
	return text.AsString()
}

// checkBlock looks at a check block, without deciding it.
func (s *session) checkBlock(d *decl) {
	s.p.cfg.Checks = append(s.p.cfg.Checks, &CheckBlock{Name: d.name, Range: d.rng})
	if len(d.block.Body.Blocks) == 0 {
		s.report(at(d.rng, "no assert", fmt.Sprintf("%s needs an assert block: %s", d.addr(), d.schema.blocks["assert"].example)))
	}
}
