package config

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

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
}

func (s *session) reader(d *decl, inst *instance) *reader {
	return &reader{s: s, d: d, body: d.block.Body, schema: d.schema, inst: inst, header: d.rng}
}

// fail reports a fault of the block.
func (r *reader) fail(rng hcl.Range, summary, format string, args ...any) {
	r.failed = true
	r.s.report(at(rng, summary, fmt.Sprintf(format, args...)))
}

// get reads an argument. Values that are the same in all instances are
// computed once, and their faults reported once.
func (r *reader) get(name string) field {
	attr := r.body.Attributes[name]
	if attr == nil {
		return field{name: name, rng: r.header}
	}
	info := r.s.p.info[attr.Expr]
	shared := r.extra == nil && info != nil && !info.each
	if shared && r.s.base == nil {
		if f, known := r.d.shared[r.prefix+name]; known {
			r.failed = r.failed || f.bad
			return f
		}
	}
	f := r.read(name, attr)
	f.shared = shared
	if shared && r.s.base == nil {
		r.d.shared[r.prefix+name] = f
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

func laterDetail(name string, sources []string) string {
	if name == "volume" {
		return fmt.Sprintf("`volume` uses the ID of %s, which does not exist yet; refer to the block itself: volume = %s", list(sources), sources[0])
	}
	return fmt.Sprintf("`%s` uses %s, which is known only after that has ended or was made; such values may stand in command, env, setup, triggers and resume_from of a run, in outputs and in checks",
		name, list(sources))
}

// wrongType says what was wanted and what was found, without the value.
func wrongType(name string, form *attrSchema, got cty.Value, rng hcl.Range) *hcl.Diagnostic {
	found := friendly(got)
	if plain, _ := got.Unmark(); form.typ == stringList && (plain.Type().IsTupleType() || plain.Type().IsListType()) {
		found = "a list of something else"
	}
	detail := fmt.Sprintf("`%s` must be %s, and this is %s", name, friendlyType(form.typ), found)
	if form.example != "" {
		detail += fmt.Sprintf("; write %s = %s", name, form.example)
	}
	return at(rng, "wrong type", detail)
}

func friendlyType(ty cty.Type) string {
	switch {
	case ty == cty.String:
		return "a string"
	case ty == cty.Number:
		return "a number"
	case ty == cty.Bool:
		return "true or false"
	case ty.IsListType() && ty.ElementType() == cty.String:
		return "a list of strings"
	case ty.IsMapType() && ty.ElementType() == cty.String:
		return "a map of strings"
	}
	return "of type " + ty.FriendlyName()
}

// friendly describes a value by its type.
func friendly(v cty.Value) string {
	v, _ = v.Unmark()
	ty := v.Type()
	switch {
	case v.IsNull():
		return "null"
	case ty == secretType:
		return "a secret"
	case ty == cty.String, ty == cty.Number, ty == cty.Bool:
		return map[cty.Type]string{cty.String: "a string", cty.Number: "a number", cty.Bool: "a bool"}[ty]
	case ty.IsTupleType() || ty.IsListType():
		return "a list"
	case ty.IsSetType():
		return "a set"
	case ty.IsObjectType() && ty.HasAttribute("address"):
		if a, _ := v.GetAttr("address").Unmark(); a.Type() == cty.String && a.IsKnown() && !a.IsNull() {
			return "the block " + a.AsString()
		}
		return "an object"
	case ty.IsObjectType() || ty.IsMapType():
		return "a map"
	}
	return "a value of type " + ty.FriendlyName()
}

// usable reports whether the field has a value that is known.
func (f field) usable() bool { return f.set && !f.bad && !f.unknown }

func (r *reader) str(name string) (string, field) {
	f := r.get(name)
	if !f.usable() {
		return "", f
	}
	return f.val.AsString(), f
}

// name reads a string that must not be empty and holds no control characters.
func (r *reader) name(name string) (string, field) {
	s, f := r.str(name)
	if !f.usable() {
		return "", f
	}
	if strings.TrimSpace(s) != s || s == "" || strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c == 0x7f }) {
		r.fail(f.rng, "not usable", "`%s` must not be empty, and must not begin or end with a space or hold control characters", name)
		f.bad = true
		return "", f
	}
	return s, f
}

func (r *reader) oneOf(name, otherwise string, allowed ...string) string {
	s, f := r.str(name)
	if !f.usable() {
		return otherwise
	}
	if !slices.Contains(allowed, s) {
		r.fail(f.rng, "not one of the choices", "%s", hint(fmt.Sprintf("`%s` is one of %s", name, quoteList(allowed)), meant(s, allowed)))
		return otherwise
	}
	return s
}

func quoteList(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = quote(n)
	}
	return list(quoted)
}

func (r *reader) boolean(name string, otherwise bool) bool {
	f := r.get(name)
	if !f.usable() {
		return otherwise
	}
	return f.val.True()
}

// limits of a number; above and atMost may be 0 for none.
type limits struct {
	atLeast float64
	above   bool // atLeast itself is too little
	atMost  float64
	whole   bool
	unit    string
}

func (l limits) String() string {
	var parts []string
	if l.above {
		parts = append(parts, fmt.Sprintf("above %s", plainFloat(l.atLeast)))
	} else {
		parts = append(parts, fmt.Sprintf("at least %s", plainFloat(l.atLeast)))
	}
	if l.atMost > 0 {
		parts = append(parts, fmt.Sprintf("at most %s", plainFloat(l.atMost)))
	}
	kind := "a number"
	if l.whole {
		kind = "a whole number"
	}
	if l.unit != "" {
		kind += " of " + l.unit
	}
	return kind + ", " + list(parts)
}

func plainFloat(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func (l limits) ok(v *big.Float) (float64, bool) {
	n, _ := v.Float64()
	switch {
	case l.whole && !v.IsInt(), l.above && n <= l.atLeast, n < l.atLeast, l.atMost > 0 && n > l.atMost, n > 1e15:
		return 0, false
	}
	return n, true
}

func (r *reader) number(name string, otherwise float64, lim limits) (float64, field) {
	f := r.get(name)
	if !f.usable() {
		return otherwise, f
	}
	n, ok := lim.ok(f.val.AsBigFloat())
	if !ok {
		r.fail(f.rng, "out of range", "`%s` must be %s; this is %s", name, lim, showNumber(f.val.AsBigFloat()))
		f.bad = true
		return otherwise, f
	}
	return n, f
}

func (r *reader) integer(name string, otherwise int, lim limits) (int, field) {
	lim.whole = true
	n, f := r.number(name, float64(otherwise), lim)
	return int(n), f
}

func showNumber(v *big.Float) string { return v.Text('g', 10) }

// strings reads a list of strings without null.
func (r *reader) strings(f field) ([]string, bool) {
	if !f.usable() {
		return nil, false
	}
	v, err := convert.Convert(f.val, stringList)
	if err != nil || v.IsNull() {
		return nil, false
	}
	out := make([]string, 0, v.LengthInt())
	for it := v.ElementIterator(); it.Next(); {
		_, e := it.Element()
		if e.IsNull() {
			return nil, false
		}
		out = append(out, e.AsString())
	}
	return out, true
}
