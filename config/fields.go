package config

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// field is the value of one argument of one instance.
type field struct {
	name string
	// val has no marks; raw has them.
	val, raw cty.Value
	traits
	// set: there is a value that is not null. bad: it has a fault that is
	// reported. unknown: some part of it is not known yet.
	set, bad, unknown bool
	shared            bool
	rng               hcl.Range // of the expression, or of the block
}

// reader reads the arguments of one instance of a block.
type reader struct {
	s      *session
	d      *decl
	body   *hclsyntax.Body
	schema *blockSchema
	inst   *instance
	// prefix of names in a nested block: "snapshot.".
	prefix string
	extra  map[string]cty.Value
	header hcl.Range
	failed bool
	// own holds the arguments read that are not shared with other instances.
	own map[string]field
}

func (s *session) reader(d *decl, inst *instance) *reader {
	return &reader{s: s, d: d, body: d.block.Body, schema: d.schema, inst: inst, header: d.rng, own: map[string]field{}}
}

// fail reports a fault of the block.
func (r *reader) fail(rng hcl.Range, summary, format string, args ...any) {
	r.failed = true
	r.s.report(at(rng, summary, fmt.Sprintf(format, args...)))
}

// get reads an argument, once. Values that are the same in all instances are
// computed once for all, and their faults reported once.
func (r *reader) get(name string) field {
	attr := r.body.Attributes[name]
	if attr == nil {
		return field{name: name, rng: r.header}
	}
	info := r.s.p.info[attr.Expr]
	shared := r.extra == nil && info != nil && !info.each
	read, key := r.own, name
	if shared && r.s.base == nil {
		read, key = r.d.shared, r.prefix+name
	}
	f, known := read[key]
	if !known {
		f = r.read(name, attr)
		f.shared = shared
		read[key] = f
	}
	r.failed = r.failed || f.bad
	return f
}

func (r *reader) read(name string, attr *hclsyntax.Attribute) field {
	f := field{name: name, rng: attr.Expr.Range()}
	form := r.schema.attr(name)
	raw, ok := r.s.evalWith(attr.Expr, r.inst, r.extra)
	if !ok {
		f.bad = true
		return f
	}
	if form.typ != cty.DynamicPseudoType {
		converted, err := convert.Convert(raw, form.typ)
		if err != nil {
			if !raw.HasMarkDeep(broken) {
				r.s.report(wrongType(name, form, raw, f.rng))
			}
			f.bad = true
			return f
		}
		raw = converted
	}
	f.raw = raw
	f.val, f.traits = unmark(raw)
	if f.bad = f.broken; f.bad {
		return f
	}
	if form.ref != "" && f.val.Type().IsObjectType() {
		// A block that is referred to may have attributes that are known later.
		f.traits = outer(raw)
	}
	if len(f.sources) > 0 && !form.late {
		f.bad = true
		r.s.report(at(f.rng, "known only later", laterDetail(name, f.sources)))
		return f
	}
	if f.sensitive && !form.sensitive {
		f.bad = true
		r.s.report(at(f.rng, "sensitive value in a wrong place", fmt.Sprintf("`%s` is shown in plans and kept in the state, so it cannot be a sensitive value", name)))
		return f
	}
	f.unknown = !f.val.IsWhollyKnown() && (form.ref == "" || !f.val.IsKnown() || !f.val.Type().IsObjectType())
	f.set = !f.val.IsKnown() || !f.val.IsNull()
	if f.unknown && !form.late {
		f.bad = true
		r.s.report(at(f.rng, "not known", fmt.Sprintf("`%s` has to be known before anything runs", name)))
	}
	if !f.set && form.required {
		f.bad = true
		r.s.report(at(f.rng, fmt.Sprintf("no %s", name), fmt.Sprintf("`%s` is null here, and %s needs one, such as %s = %s", name, r.d.what(), name, form.example)))
	}
	return f
}

// usable reports whether the field has a value that is known.
func (f field) usable() bool { return f.set && !f.bad && !f.unknown }
