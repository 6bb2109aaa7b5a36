package config

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/overbrainer/overbrainer/providers"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// providers reads the provider blocks, each against the form that the provider
// itself gives.
func (s *session) providers() {
	for _, d := range s.p.ofKind("provider") {
		p := &Provider{
			Name: d.name, Values: map[string]any{}, Secrets: map[string]*Secret{},
			Range: d.rng, AttrRanges: attrRanges(d.block.Body),
		}
		s.p.cfg.Providers[d.name] = p
		schema, known := s.schemaOf(d)
		for _, name := range sortedAttrs(d.block.Body) {
			attr := d.block.Body.Attributes[name]
			form := attributeForm(schema, name)
			if known && form == nil {
				s.report(at(attr.NameRange, "unknown argument", hint(fmt.Sprintf("provider %s has no argument `%s`", d.name, name), didYouMean(name, attributeNames(schema), ""))))
				continue
			}
			s.providerValue(p, attr, form)
		}
		for _, form := range schema.Attributes {
			if form.Required && d.block.Body.Attributes[form.Name] == nil {
				s.report(at(d.rng, "no "+form.Name, fmt.Sprintf("provider %s needs `%s`: %s", d.name, form.Name, form.Description)))
			}
		}
	}
}

func (s *session) schemaOf(d *decl) (providers.Schema, bool) {
	if s.p.opt.Schema == nil {
		return providers.Schema{}, false
	}
	schema, err := s.p.opt.Schema(s.p.ctx, d.name)
	if err != nil {
		known := s.p.opt.KnownProviders
		if len(known) == 0 {
			known = []string{"runpod"}
		}
		more := ""
		if !slices.Contains(known, d.name) {
			more = didYouMean(d.name, known, "")
		}
		if source := s.p.cfg.Settings.RequiredProviders[d.name].Source; source != "" {
			more = "its source is " + source
		}
		s.report(at(d.block.LabelRanges[0], "provider not available", hint(fmt.Sprintf("provider %s cannot be used: %s", quote(d.name), err), more)))
		return providers.Schema{}, false
	}
	s.requireProvider(d.name)
	return schema, true
}

func attributeForm(schema providers.Schema, name string) *providers.Attribute {
	for i := range schema.Attributes {
		if schema.Attributes[i].Name == name {
			return &schema.Attributes[i]
		}
	}
	return nil
}

func attributeNames(schema providers.Schema) []string {
	var names []string
	for _, a := range schema.Attributes {
		names = append(names, a.Name)
	}
	return names
}

// providerValue evaluates one argument. Sensitive values are welcome in any:
// the block is given to the provider only.
func (s *session) providerValue(p *Provider, attr *hclsyntax.Attribute, form *providers.Attribute) {
	raw, ok := s.eval(attr.Expr, nil)
	if !ok {
		return
	}
	v, t := unmark(raw)
	rng := attr.Expr.Range()
	switch {
	case t.broken:
		return
	case len(t.sources) > 0:
		s.report(at(rng, "known only later", laterDetail(attr.Name, t.sources)))
		return
	case t.sensitive && form != nil && !form.Sensitive:
		s.report(at(rng, "sensitive value in a wrong place", fmt.Sprintf("`%s` of a provider may be shown, so it cannot be a sensitive value", attr.Name)))
		return
	case v.IsNull():
		return
	case v.Type() == secretType:
		if form != nil && !form.Sensitive {
			s.report(at(rng, "a secret in a wrong place", fmt.Sprintf("`%s` may be shown, so it cannot be a secret", attr.Name)))
			return
		}
		p.Secrets[attr.Name] = v.EncapsulatedValue().(*Secret)
		return
	}
	typ := v.Type()
	if form != nil {
		typ = map[providers.AttributeType]cty.Type{providers.String: cty.String, providers.Bool: cty.Bool, providers.Number: cty.Number}[form.Type]
	}
	value, err := goValue(v, typ)
	if err != nil {
		s.report(at(rng, "wrong type", fmt.Sprintf("`%s` must be %s, and this is %s", attr.Name, friendlyType(typ), friendly(v))))
		return
	}
	p.Values[attr.Name] = value
}

// goValue gives a string, bool or float64.
func goValue(v cty.Value, typ cty.Type) (any, error) {
	v, err := convert.Convert(v, typ)
	if err != nil {
		return nil, err
	}
	switch {
	case !v.IsKnown():
		return nil, fmt.Errorf("not known")
	case typ == cty.String:
		return v.AsString(), nil
	case typ == cty.Bool:
		return v.True(), nil
	case typ == cty.Number:
		n, _ := v.AsBigFloat().Float64()
		return n, nil
	}
	return nil, fmt.Errorf("not a plain value")
}

// providerOf finds the provider of a target or volume: the one that is named,
// or the only one there is.
func (s *session) providerOf(d *decl) (string, bool) {
	names := s.p.names("provider")
	attr := d.block.Body.Attributes["provider"]
	if attr == nil {
		switch len(names) {
		case 1:
			return names[0], true
		case 0:
			if !s.p.noProvider {
				s.p.noProvider = true
				s.report(at(d.rng, "no provider", fmt.Sprintf("%s needs a provider block, such as provider \"runpod\" {}", d.addr())))
			}
			return "", false
		}
		s.report(at(d.rng, "which provider?", fmt.Sprintf("there are the providers %s: name one with provider = %s", list(names), quote(names[0]))))
		return "", false
	}
	name := hcl.ExprAsKeyword(attr.Expr)
	if name == "" {
		v, diag := constant(d.block.Body, "provider", cty.String)
		if diag != nil || v.IsNull() {
			s.report(at(attr.Expr.Range(), "not a provider", "`provider` is the name of a provider block, such as provider = \"runpod\""))
			return "", false
		}
		name = v.AsString()
	}
	if !slices.Contains(names, name) {
		s.report(at(attr.Expr.Range(), "no such provider", hint(fmt.Sprintf("there is no block provider %s", quote(name)), didYouMean(name, names, ""))))
		return "", false
	}
	return name, true
}
