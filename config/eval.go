package config

import (
	"reflect"

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
	waits    map[string]bool // targets and caps of which a warning was made
	// shared holds the values of parts that are the same wherever they stand.
	shared map[*sharedExpr]cty.Value
}

func (p *program) newSession(base *session, results func(string) (RunResult, bool)) *session {
	return &session{
		p: p, base: base, results: results, plan: cty.DynamicVal,
		values: map[*decl]cty.Value{}, ctxs: map[*exprInfo]*hcl.EvalContext{},
		wholes: map[string]cty.Value{}, shared: map[*sharedExpr]cty.Value{},
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
		ctx.Variables = inst.vars()
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
