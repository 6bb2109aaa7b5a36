package config

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

var secretReflect = reflect.TypeFor[Secret]()

// session is one evaluation of a program: with the results known at one
// moment. What does not hang on results is taken from the base session.
type session struct {
	p        *program
	base     *session // nil: this is it
	results  func(address string) (RunResult, bool)
	plan     cty.Value
	values   map[*decl]cty.Value
	ctxs     map[*exprInfo]*hcl.EvalContext
	wholes   map[string]cty.Value // declared instances by address
	expanded map[*decl]map[any]*instance
	diags    hcl.Diagnostics
}

func (p *program) newSession(base *session, results func(string) (RunResult, bool)) *session {
	return &session{
		p: p, base: base, results: results, plan: cty.DynamicVal,
		values: map[*decl]cty.Value{}, ctxs: map[*exprInfo]*hcl.EvalContext{},
		wholes: map[string]cty.Value{},
	}
}

func (s *session) report(diags ...*hcl.Diagnostic) {
	for _, d := range diags {
		if d != nil {
			s.diags = append(s.diags, d)
		}
	}
}

// value gives what expressions see of a declaration.
func (s *session) value(d *decl) cty.Value {
	if s.base != nil && !d.late {
		return s.base.value(d)
	}
	if v, known := s.values[d]; known {
		return v
	}
	v := brokenVal
	if !d.bad && !d.failed {
		v = s.compute(d)
	}
	s.values[d] = v
	return v
}

func (s *session) compute(d *decl) cty.Value {
	switch d.kind {
	case "local":
		v, _ := s.eval(d.expr, nil)
		return v
	case "secret":
		if secret := s.p.cfg.Secrets[d.name]; secret != nil {
			return cty.CapsuleVal(secretType, secret)
		}
	case "volume":
		return s.volumeValue(d)
	case "target":
		return s.p.targetValue(d)
	case "cap":
		return s.p.capValue(d)
	case "run":
		return s.runValue(d)
	}
	return brokenVal
}

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

// eval computes an expression. A value that could not be computed is broken,
// and its fault is reported.
func (s *session) eval(expr hclsyntax.Expression, inst *instance) (cty.Value, bool) {
	return s.evalWith(expr, inst, nil)
}

func (s *session) evalWith(expr hclsyntax.Expression, inst *instance, extra map[string]cty.Value) (cty.Value, bool) {
	info := s.p.info[expr]
	if info == nil || info.bad {
		return brokenVal, false
	}
	ctx := s.context(info)
	if info.each && inst != nil {
		ctx = ctx.NewChild()
		ctx.Variables = inst.vars
	}
	if extra != nil {
		ctx = ctx.NewChild()
		ctx.Variables = extra
	}
	v, diags := s.protect(expr, ctx)
	if len(diags) > 0 {
		s.report(s.redact(diags, info, expr, inst, extra)...)
	}
	if diags.HasErrors() {
		return brokenVal, false
	}
	if d := checkNumbers(v, expr.Range()); d != nil {
		s.report(d)
		return brokenVal, false
	}
	return v, true
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

// context holds exactly what the expression refers to, so that its cost does
// not grow with the configuration.
func (s *session) context(info *exprInfo) *hcl.EvalContext {
	if ctx := s.ctxs[info]; ctx != nil {
		return ctx
	}
	roots := map[string]map[string]cty.Value{}
	for _, d := range info.refs {
		if roots[d.kind] == nil {
			roots[d.kind] = map[string]cty.Value{}
		}
		roots[d.kind][d.name] = s.value(d)
	}
	vars := map[string]cty.Value{
		"path":        s.p.pathValue(),
		"overbrainer": cty.ObjectVal(map[string]cty.Value{"version": cty.StringVal(s.p.opt.Version)}),
		"plan":        s.plan,
	}
	for kind, values := range roots {
		vars[kind] = cty.ObjectVal(values)
	}
	ctx := &hcl.EvalContext{Variables: vars, Functions: s.p.functions}
	s.ctxs[info] = ctx
	return ctx
}

func (p *program) pathValue() cty.Value {
	cwd := p.opt.Cwd
	if cwd == "" {
		cwd = p.dir
	}
	return cty.ObjectVal(map[string]cty.Value{
		"root": cty.StringVal("."),
		"cwd":  cty.StringVal(cwd).Mark(local),
	})
}

// plainSummaries are the faults whose details hold only what is written in the
// configuration. The details of all others may quote values.
var plainSummaries = []string{
	"Unsupported attribute", "Unknown variable", "Call to unknown function", "Not enough function arguments",
	"Too many function arguments", "Invalid operand", "Null condition", "Incorrect condition type",
	"Inconsistent conditional result types", "Iteration over null value", "Iteration over non-iterable value",
	"Splat of null value", "Attempt to get attribute from null value", "Attempt to index null value",
	"expression cannot be computed",
}

// redact takes details away that could quote a sensitive value.
func (s *session) redact(diags hcl.Diagnostics, info *exprInfo, expr hclsyntax.Expression, inst *instance, extra map[string]cty.Value) hcl.Diagnostics {
	secretive := ""
	for _, d := range info.refs {
		if v := s.value(d); deep(v, sensitive) {
			secretive = d.addr()
		}
	}
	if info.each && inst != nil {
		for _, v := range inst.vars {
			if deep(v, sensitive) {
				secretive = "each.value"
			}
		}
	}
	for _, v := range extra {
		if deep(v, sensitive) {
			secretive = "a value"
		}
	}
	if secretive == "" {
		secretive = callsSensitive(expr)
	}
	for _, d := range diags {
		if d.Subject == nil {
			d.Subject = expr.Range().Ptr()
		}
		if secretive != "" && !slices.Contains(plainSummaries, d.Summary) {
			d.Detail = fmt.Sprintf("what is wrong exactly is not shown, for the expression uses %s, which is sensitive", secretive)
		} else {
			d.Detail = s.explain(d, expr)
		}
	}
	return diags
}

// callsSensitive reports a call of sensitive(): what it takes is not shown.
func callsSensitive(expr hclsyntax.Expression) string {
	found := ""
	_ = hclsyntax.VisitAll(expr, func(node hclsyntax.Node) hcl.Diagnostics {
		if call, ok := node.(*hclsyntax.FunctionCallExpr); ok && (call.Name == "sensitive" || call.Name == "nonsensitive") {
			found = "a value"
		}
		return nil
	})
	return found
}

// explain adds a hint to HCL's own message.
func (s *session) explain(d *hcl.Diagnostic, expr hclsyntax.Expression) string {
	detail := voice(d.Detail)
	if d.Summary == "Invalid index" {
		for _, trav := range expr.Variables() {
			if len(trav) < 3 || trav[2].SourceRange() != *d.Subject {
				continue
			}
			step, ok := trav[1].(hcl.TraverseAttr)
			if !ok {
				continue
			}
			if to := s.p.decls[trav.RootName()+"."+step.Name]; to != nil && to.repeated {
				addr := addressOf(trav)
				return hint(addr+" does not exist", didYouMean(addr, s.p.addresses(to), ""))
			}
		}
	}
	const limit = 2000
	if len(detail) > limit {
		detail = detail[:limit] + " …"
	}
	return detail
}

func deep(v cty.Value, m mark) bool {
	return v.HasMarkDeep(m)
}
