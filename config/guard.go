package config

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// meter bounds one evaluation: the time, the rounds of for expressions and
// calls, and the bytes that these make. HCL itself knows no bound, so
// expressions that can multiply are wrapped in guards that ask the meter.
type meter struct {
	ctx   context.Context
	limit time.Duration
	steps int
	bytes int64
	most  struct {
		steps int
		bytes int64
	}
	// over says why the evaluation has to end; "" while it may go on.
	over string
}

// tooMuch ends an evaluation from within. It travels as a panic, for HCL goes
// on after errors, and would go on for as long as the loop has rounds.
type tooMuch struct{ why string }

func newMeter(ctx context.Context, opt *Options) *meter {
	m := &meter{ctx: ctx, limit: opt.Limit}
	m.most.steps = cmp.Or(opt.steps, maxSteps)
	m.most.bytes = cmp.Or(opt.bytes, maxBytes)
	return m
}

// charge counts a step and the bytes that it made, and reports whether the
// evaluation may go on.
func (m *meter) charge(bytes int64) bool {
	m.steps++
	m.bytes += bytes
	switch {
	case m.over != "":
	case m.bytes > m.most.bytes:
		m.over = fmt.Sprintf("its values take more than %d MiB", m.most.bytes>>20)
	case m.steps > m.most.steps:
		m.over = fmt.Sprintf("it takes more than %d steps", m.most.steps)
	case bytes < 1<<16 && m.steps%256 != 0: // asking for the time takes time, too
	case m.ctx.Err() == context.DeadlineExceeded:
		m.over = fmt.Sprintf("it takes longer than %s", m.limit)
	case m.ctx.Err() != nil:
		m.over = "it was interrupted"
	}
	return m.over == ""
}

// grow counts bytes alone.
func (m *meter) grow(bytes int64) {
	m.steps--
	m.step(bytes)
}

// step is charge for where no error can be returned.
func (m *meter) step(bytes int64) {
	if !m.charge(bytes) {
		panic(tooMuch{m.over})
	}
}

// guard wraps the parts of an expression that can multiply: the bodies of for
// expressions and the parts of templates.
func (p *program) guard(expr hclsyntax.Expression) {
	_ = hclsyntax.VisitAll(expr, func(node hclsyntax.Node) hcl.Diagnostics {
		switch e := node.(type) {
		case *hclsyntax.ForExpr:
			e.ValExpr = p.guarded(e.ValExpr, true)
			if e.CondExpr != nil {
				e.CondExpr = p.guarded(e.CondExpr, true)
			}
		case *hclsyntax.TemplateExpr:
			for i, part := range e.Parts {
				e.Parts[i] = p.guarded(part, false)
			}
		}
		return nil
	})
}

func (p *program) guarded(expr hclsyntax.Expression, round bool) hclsyntax.Expression {
	if _, literal := expr.(*hclsyntax.LiteralValueExpr); literal && !round {
		return expr
	}
	if _, already := expr.(guardedExpr); already {
		return expr
	}
	return guardedExpr{expr, p, round}
}

// guardedExpr is an expression that tells the meter each time it is evaluated.
type guardedExpr struct {
	hclsyntax.Expression
	p *program
	// round: it is a round of a loop, and counts as a step.
	round bool
}

func (g guardedExpr) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if g.round {
		g.p.meter.step(64)
	}
	v, diags := g.Expression.Value(ctx)
	g.p.meter.grow(weight(v))
	return v, diags
}

// weight estimates the bytes that a value adds, its elements left out: they
// were weighed when they were made.
func weight(v cty.Value) int64 {
	v, _ = v.Unmark()
	if !v.IsKnown() || v.IsNull() {
		return 16
	}
	switch ty := v.Type(); {
	case ty == cty.String:
		return int64(len(v.AsString())) + 16
	case ty.IsTupleType() || ty.IsObjectType() || ty.IsCollectionType():
		return 16 + 32*int64(v.LengthInt())
	}
	return 16
}
