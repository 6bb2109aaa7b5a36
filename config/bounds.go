package config

import (
	"context"
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// checkNumbers refuses numbers that are so large that text made of them could
// exhaust the machine, and what dividing by zero leaves.
func checkNumbers(v cty.Value, rng hcl.Range) *hcl.Diagnostic {
	for _, part := range cty.DeepValues(v) {
		part, _ = part.Unmark()
		if part.Type() != cty.Number || !part.IsKnown() || part.IsNull() {
			continue
		}
		f := part.AsBigFloat()
		if f.IsInf() {
			return at(rng, "no finite number", "the result is not finite, as after a division by zero")
		}
		if exp := f.MantExp(nil); exp > maxBits || exp < -maxBits {
			return at(rng, "number too large", fmt.Sprintf("a number may have %d binary digits", maxBits))
		}
	}
	return nil
}

// protect evaluates and turns a panic of a library into a diagnostic. One that
// is the meter's goes on upwards.
func (s *session) protect(expr hclsyntax.Expression, ctx *hcl.EvalContext) (v cty.Value, diags hcl.Diagnostics) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case tooMuch:
			panic(tooMuchAt{r, expr.Range()})
		case tooMuchAt:
			panic(r)
		default:
			v = brokenVal
			diags = hcl.Diagnostics{at(expr.Range(), "expression cannot be computed", "computing this expression failed in a way that is a fault of overbrainer; please report it with the expression")}
		}
	}()
	s.p.meter.step(0)
	s.p.shared = s.shared
	v, diags = expr.Value(ctx)
	s.p.meter.step(0) // a function that was stopped could only return an error
	return v, diags
}

// tooMuchAt says which expression went over the bounds.
type tooMuchAt struct {
	tooMuch
	rng hcl.Range
}

// bounds runs an evaluation under a new meter and turns the meter's panic into
// a diagnostic.
func (s *session) bounds(f func()) (diags hcl.Diagnostics) {
	ctx, cancel := context.WithTimeout(s.p.ctx, s.p.opt.Limit)
	defer cancel()
	s.p.meter = newMeter(ctx, s.p.opt)
	defer func() {
		switch r := recover().(type) {
		case nil:
		case tooMuchAt:
			diags = hcl.Diagnostics{at(r.rng, "evaluation takes too much", "this expression was given up: "+r.why)}
		case tooMuch:
			diags = hcl.Diagnostics{plain("evaluation takes too much", r.why)}
		default:
			panic(r)
		}
	}()
	f()
	return nil
}
