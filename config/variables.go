package config

import (
	"encoding/json"
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// variableForm is what a variable block says, apart from its value.
type variableForm struct {
	typ      cty.Type
	typed    bool // the block has a type
	defaults *typeexpr.Defaults
	def      *cty.Value
	out      *Variable
}

// JSON writes the value with its type, for a plan file. It is not for
// sensitive variables.
func (v *Variable) JSON() (json.RawMessage, error) {
	return ctyjson.Marshal(v.Value, cty.DynamicPseudoType)
}

// variables reads the variable blocks, finds their values and checks them.
func (s *session) variables() {
	forms := map[string]*variableForm{}
	for _, d := range s.p.ofKind("var") {
		forms[d.name] = s.variableForm(d)
	}
	given := s.p.collectValues(forms)
	s.report(given.diags...)
	for _, d := range s.p.ofKind("var") {
		form := forms[d.name]
		s.values[d] = brokenVal
		if form == nil {
			continue
		}
		v, ok := s.chooseValue(d, form, given.values[d.name])
		if !ok {
			continue
		}
		form.out.Value = v
		s.p.cfg.Variables[d.name] = form.out
		if form.out.Sensitive {
			v = v.Mark(sensitive)
		}
		s.values[d] = v
	}
}

func (s *session) variableForm(d *decl) *variableForm {
	body := d.block.Body
	form := &variableForm{typ: cty.DynamicPseudoType, out: &Variable{Name: d.name, Nullable: true, Range: d.rng, Type: cty.DynamicPseudoType}}
	ok := true
	fail := func(diags ...*hcl.Diagnostic) { s.report(diags...); ok = false }
	for name, into := range map[string]*bool{"sensitive": &form.out.Sensitive, "nullable": &form.out.Nullable} {
		if v, diag := constant(body, name, cty.Bool); diag != nil {
			fail(diag)
		} else if v != nil && v.IsKnown() && !v.IsNull() {
			*into = v.True()
		}
	}
	if v, diag := constant(body, "description", cty.String); diag != nil {
		fail(diag)
	} else if v != nil && !v.IsNull() {
		form.out.Description = v.AsString()
	}
	if attr := body.Attributes["type"]; attr != nil {
		typ, defaults, diags := typeexpr.TypeConstraintWithDefaults(attr.Expr)
		if diags.HasErrors() {
			fail(at(attr.Expr.Range(), "not a type", fmt.Sprintf("`type` is one of string, number, bool, any, list(string), set(…), map(…), object({ name = string }), tuple([…]), without quotes: %s", voice(diags[0].Detail))))
		}
		form.typed, form.typ, form.defaults = true, typ, defaults
		form.out.Type = typ
	}
	if attr := body.Attributes["default"]; attr != nil && ok {
		rng := attr.Expr.Range()
		if form.out.Sensitive {
			rng = d.rng // an excerpt would show it
		}
		v, diags := attr.Expr.Value(nil)
		if diags.HasErrors() {
			fail(at(rng, "not a constant", "a default is a plain value: it cannot use other values or functions; compute it in locals instead"))
			return nil
		}
		v, diag := form.fit(d, v, rng, "the default")
		if diag != nil {
			fail(diag)
			return nil
		}
		form.def = &v
	}
	if !ok {
		return nil
	}
	return form
}

// fit converts a value to the variable's type.
func (form *variableForm) fit(d *decl, v cty.Value, rng hcl.Range, which string) (cty.Value, *hcl.Diagnostic) {
	if form.defaults != nil && !v.IsNull() {
		v = form.defaults.Apply(v)
	}
	out, err := convert.Convert(v, form.typ)
	if err != nil {
		detail := fmt.Sprintf("%s of var.%s is %s, which does not fit its type %s", which, d.name, friendly(v), typeexpr.TypeString(form.typ.WithoutOptionalAttributesDeep()))
		if !form.out.Sensitive {
			detail = hint(detail, err.Error())
		}
		return cty.DynamicVal, at(rng, "wrong type", detail)
	}
	return out, nil
}

// chooseValue takes the strongest value, or asks, or reports what is missing.
func (s *session) chooseValue(d *decl, form *variableForm, got *givenValue) (cty.Value, bool) {
	if got == nil && form.def == nil {
		got = s.ask(d, form)
		if got == nil {
			return cty.DynamicVal, false
		}
	}
	var v cty.Value
	rng, which := d.rng, "the default"
	switch {
	case got == nil:
		v, form.out.From = *form.def, "default"
	case got.broken:
		return cty.DynamicVal, false
	default:
		var diag *hcl.Diagnostic
		rng, which, form.out.From = got.rng, "the value from "+got.from, got.from
		if rng.Filename == "" || form.out.Sensitive {
			rng = d.rng
		}
		if v, diag = form.fit(d, got.value, rng, which); diag != nil {
			s.report(diag)
			return cty.DynamicVal, false
		}
	}
	if v.IsNull() && !form.out.Nullable {
		if form.def != nil && !form.def.IsNull() {
			form.out.From = "default"
			return *form.def, true
		}
		s.report(at(rng, "null is not allowed", fmt.Sprintf("var.%s has nullable = false, and %s is null", d.name, which)))
		return cty.DynamicVal, false
	}
	return v, true
}

func (s *session) ask(d *decl, form *variableForm) *givenValue {
	if s.p.opt.Vars.MayMiss {
		return nil
	}
	if s.p.opt.Vars.Ask != nil {
		answer, err := s.p.opt.Vars.Ask(d.name, form.out.Description, form.out.Sensitive)
		if err != nil {
			s.report(at(d.rng, "no value", fmt.Sprintf("var.%s could not be asked for: %s", d.name, err)))
			return nil
		}
		got := form.parseText(d.name, answer, "the answer")
		s.report(got.diag)
		return got
	}
	s.report(at(d.rng, "no value", fmt.Sprintf("var.%s has no default and no value: give it with -var %s=…, in overbrainer.vars.hcl, or in OVERBRAINER_VAR_%s", d.name, d.name, d.name)))
	return nil
}

// validations evaluates the validation blocks, after all values are known.
func (s *session) validations() {
	for _, d := range s.p.ofKind("var") {
		if s.p.cfg.Variables[d.name] == nil {
			continue
		}
		for _, block := range d.block.Body.Blocks {
			if block.Type == "validation" {
				s.validate(d, block)
			}
		}
	}
}

func (s *session) validate(d *decl, block *hclsyntax.Block) {
	verdict := s.assert(block.Body)
	switch verdict.status {
	case StatusPass:
	case StatusFail:
		s.report(at(block.Body.Attributes["condition"].Expr.Range(), "value not valid", hint(fmt.Sprintf("var.%s, from %s, is not valid", d.name, s.p.cfg.Variables[d.name].From), verdict.message)))
	case StatusUndecided:
		s.report(at(block.Body.Attributes["condition"].Expr.Range(), "known only later", "a validation has to be decided before anything runs, so it cannot use what runs leave"))
	case StatusError:
		s.report(verdict.diags...)
	}
}

// constant evaluates an argument that may use nothing.
func constant(body *hclsyntax.Body, name string, typ cty.Type) (*cty.Value, *hcl.Diagnostic) {
	attr := body.Attributes[name]
	if attr == nil {
		return nil, nil
	}
	v, diags := attr.Expr.Value(nil)
	if diags.HasErrors() {
		return nil, at(attr.Expr.Range(), "not a constant", fmt.Sprintf("`%s` is a plain value: it cannot use other values or functions", name))
	}
	v, err := convert.Convert(v, typ)
	if err != nil {
		return nil, at(attr.Expr.Range(), "wrong type", fmt.Sprintf("`%s` must be %s", name, friendlyType(typ)))
	}
	return &v, nil
}
