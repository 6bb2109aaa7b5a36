package config

import (
	"maps"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// names are those that stand for another value in each instance or round.
type names map[string]bool

// Names that no identifier can have.
const (
	splatted = "*" // the element of a splat
	opaque   = "?" // what is not looked into
)

// share wraps the parts of an expression that are the same in every instance of
// a block and every round of a loop, so that they are computed once: a call that
// is given a set of a thousand strings takes milliseconds. Only calls and loops
// are worth it.
func (p *program) share(expr hclsyntax.Expression, sc scope) {
	bound := names{"each": true, "count": true}
	for _, name := range sc.extra {
		bound[name] = true
	}
	p.vary(expr, bound)
}

// vary gives the bound names that an expression uses, and whether computing it
// may cost much. Parts that use none in an expression that does are wrapped.
func (p *program) vary(expr hclsyntax.Expression, bound names) (uses names, costly bool) {
	switch e := expr.(type) {
	case guardedExpr:
		return p.vary(e.Expression, bound)
	case *hclsyntax.LiteralValueExpr:
		return nil, false
	case *hclsyntax.ScopeTraversalExpr:
		if root := e.Traversal.RootName(); bound[root] {
			return names{root: true}, false
		}
		return nil, false
	case *hclsyntax.AnonSymbolExpr:
		return names{splatted: true}, false
	case *hclsyntax.ForExpr:
		return p.varyFor(e, bound), true
	case *hclsyntax.SplatExpr:
		return p.varyLoop(bound, names{splatted: true}, &e.Source, &e.Each), true
	}
	parts, known := partsOf(expr)
	if !known {
		return names{opaque: true}, true
	}
	call, isCall := expr.(*hclsyntax.FunctionCallExpr)
	uses, costly = p.varyParts(bound, parts, isCall && call.Name == "contains")
	return uses, costly || isCall
}

// varyParts looks at the parts of one expression. The first may be one that is
// searched.
func (p *program) varyParts(bound names, parts []*hclsyntax.Expression, searched bool) (uses names, costly bool) {
	uses = names{}
	var same []*hclsyntax.Expression
	var list *hclsyntax.Expression
	for i, part := range parts {
		used, much := p.vary(*part, bound)
		maps.Copy(uses, used)
		costly = costly || much
		switch {
		case len(used) > 0:
		case i == 0 && searched:
			list = part
		case much:
			same = append(same, part)
		}
	}
	if len(uses) > 0 {
		p.wrap(same...)
		if list != nil {
			p.wrapAs(list, true)
		}
	}
	return uses, costly
}

func (p *program) varyFor(e *hclsyntax.ForExpr, bound names) names {
	own := names{e.ValVar: true}
	bodies := []*hclsyntax.Expression{&e.ValExpr}
	if e.KeyVar != "" {
		own[e.KeyVar] = true
	}
	if e.KeyExpr != nil {
		bodies = append(bodies, &e.KeyExpr)
	}
	if e.CondExpr != nil {
		bodies = append(bodies, &e.CondExpr)
	}
	return p.varyLoop(bound, own, &e.CollExpr, bodies...)
}

// varyLoop looks at a loop over a collection, whose bodies know its own names
// as well. What is the same in each round is wrapped whatever is around it.
func (p *program) varyLoop(bound, own names, over *hclsyntax.Expression, bodies ...*hclsyntax.Expression) names {
	inner := maps.Clone(bound)
	maps.Copy(inner, own)
	uses := names{}
	for _, body := range bodies {
		used, much := p.vary(*body, inner)
		if len(used) == 0 && much {
			p.wrap(body)
		}
		maps.Copy(uses, used)
	}
	maps.DeleteFunc(uses, func(name string, _ bool) bool { return own[name] })
	used, much := p.vary(*over, bound)
	if len(used) == 0 && len(uses) > 0 && much {
		p.wrap(over)
	}
	maps.Copy(uses, used)
	return uses
}

// partsOf gives the places of an expression's direct parts.
func partsOf(expr hclsyntax.Expression) (parts []*hclsyntax.Expression, known bool) {
	list := func(exprs []hclsyntax.Expression) []*hclsyntax.Expression {
		for i := range exprs {
			parts = append(parts, &exprs[i])
		}
		return parts
	}
	switch e := expr.(type) {
	case *hclsyntax.FunctionCallExpr:
		return list(e.Args), true
	case *hclsyntax.TupleConsExpr:
		return list(e.Exprs), true
	case *hclsyntax.TemplateExpr:
		return list(e.Parts), true
	case *hclsyntax.ObjectConsExpr:
		for i := range e.Items {
			parts = append(parts, &e.Items[i].KeyExpr, &e.Items[i].ValueExpr)
		}
		return parts, true
	case *hclsyntax.ObjectConsKeyExpr:
		return append(parts, &e.Wrapped), true
	case *hclsyntax.TemplateWrapExpr:
		return append(parts, &e.Wrapped), true
	case *hclsyntax.TemplateJoinExpr:
		return append(parts, &e.Tuple), true
	case *hclsyntax.ParenthesesExpr:
		return append(parts, &e.Expression), true
	case *hclsyntax.RelativeTraversalExpr:
		return append(parts, &e.Source), true
	case *hclsyntax.UnaryOpExpr:
		return append(parts, &e.Val), true
	case *hclsyntax.BinaryOpExpr:
		return append(parts, &e.LHS, &e.RHS), true
	case *hclsyntax.IndexExpr:
		return append(parts, &e.Collection, &e.Key), true
	case *hclsyntax.ConditionalExpr:
		return append(parts, &e.Condition, &e.TrueResult, &e.FalseResult), true
	}
	return nil, false
}

// wrap makes parts shared ones. A guard stays outside: whoever uses the value
// again makes something of it again. A key stays the literal that it may be.
func (p *program) wrap(parts ...*hclsyntax.Expression) {
	for _, part := range parts {
		p.wrapAs(part, false)
	}
}

func (p *program) wrapAs(part *hclsyntax.Expression, listed bool) {
	switch e := (*part).(type) {
	case guardedExpr:
		p.wrapAs(&e.Expression, listed)
		*part = e
	case *hclsyntax.ObjectConsKeyExpr:
		p.wrapAs(&e.Wrapped, listed)
	default:
		*part = &sharedExpr{Expression: e, p: p, listed: listed}
	}
}

// sharedExpr is an expression that is computed once in a session, when it is
// needed first. What fails is computed again each time, and fails again.
type sharedExpr struct {
	hclsyntax.Expression
	p *program
	// listed: a set is given as the list of its elements. A call sorts a set
	// several times, and whether a value is in it is the same question.
	listed bool
}

func (e *sharedExpr) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if v, known := e.p.shared[e]; known {
		return v, nil
	}
	v, diags := e.Expression.Value(ctx)
	if e.listed {
		v = listed(v)
	}
	if len(diags) == 0 {
		e.p.shared[e] = v
	}
	return v, diags
}

// listed gives a set as a list, and everything else as it is.
func listed(v cty.Value) cty.Value {
	set, marks := v.Unmark()
	if !set.Type().IsSetType() || set.IsNull() || !set.IsKnown() || set.LengthInt() == 0 {
		return v
	}
	return cty.ListVal(set.AsValueSlice()).WithMarks(marks)
}
