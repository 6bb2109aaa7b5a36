package config

import (
	"fmt"
	"math"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// instance is one of the things that a block stands for.
type instance struct {
	key  any // string, int or nil
	addr string
	// value is each.value; unset with count and for what is there once.
	value cty.Value
}

// vars gives each or count, for one evaluation: kept, they would take more
// memory than the instance.
func (i *instance) vars() map[string]cty.Value {
	switch key := i.key.(type) {
	case string:
		return map[string]cty.Value{"each": cty.ObjectVal(map[string]cty.Value{"key": cty.StringVal(key), "value": i.value})}
	case int:
		return map[string]cty.Value{"count": cty.ObjectVal(map[string]cty.Value{"index": cty.NumberIntVal(int64(key))})}
	}
	return nil
}

// told says which of a block's instances it is, and by what it differs.
func (i *instance) told() string {
	if key, ok := i.key.(string); ok {
		return fmt.Sprintf("in %s, where each.key is %s", i.addr, quote(key))
	}
	return fmt.Sprintf("in %s, where count.index is %d", i.addr, i.key)
}

// reading reads one instance of a block, whose faults tell which one it is where
// that matters.
func (s *session) reading(d *decl, inst *instance, read func(r *reader)) {
	before := len(s.diags)
	read(s.reader(d, inst))
	if inst.key == nil {
		return
	}
	for _, diag := range s.diags[before:] {
		if diag.Subject != nil && s.p.varies(d.block.Body, *diag.Subject) {
			diag.Extra = inst
		}
	}
}

// varies reports whether a place lies in what may differ between instances.
func (p *program) varies(body *hclsyntax.Body, rng hcl.Range) bool {
	for _, attr := range body.Attributes {
		if info := p.info[attr.Expr]; info != nil && info.each && beginsIn(rng, attr.Expr.Range()) {
			return true
		}
	}
	for _, block := range body.Blocks {
		if !beginsIn(rng, block.Range()) {
			continue
		}
		// The blocks that a dynamic one makes differ as what it is made of.
		made := block.Body.Attributes["for_each"]
		return block.Type == "dynamic" && made != nil && p.varies(block.Body, made.Expr.Range()) || p.varies(block.Body, rng)
	}
	return false
}

// beginsIn reports whether a place begins in another.
func beginsIn(rng, outer hcl.Range) bool {
	return rng.Filename == outer.Filename && outer.ContainsPos(rng.Start)
}

// expand gives the instances of a block in the order of their keys. False: what
// they are could not be found, and the fault is reported.
func (s *session) expand(d *decl) ([]*instance, bool) {
	body := d.block.Body
	forEach, count := body.Attributes["for_each"], body.Attributes["count"]
	switch {
	case forEach != nil && count != nil:
		s.report(at(count.NameRange, "for_each and count", "a block has for_each or count, not both: for_each gives instances names, count gives them numbers"))
		return nil, false
	case forEach != nil:
		return s.forEach(d, forEach)
	case count != nil:
		return s.count(d, count)
	}
	return []*instance{{addr: d.addr()}}, true
}

func (s *session) forEach(d *decl, attr *hclsyntax.Attribute) ([]*instance, bool) {
	v, ok := s.eval(attr.Expr, nil)
	if !ok {
		return nil, false
	}
	v, fine := s.keysOf(v, attr.Expr)
	if !fine {
		return nil, false
	}
	var out []*instance
	isSet := v.Type().IsSetType()
	for it := v.ElementIterator(); it.Next(); {
		k, e := it.Element()
		if isSet {
			k = e
		}
		name := k.AsString()
		if len(out) >= maxInstances {
			s.report(at(attr.Expr.Range(), "too many instances", fmt.Sprintf("for_each may make %d instances", maxInstances)))
			return nil, false
		}
		out = append(out, &instance{key: name, addr: instanceAddr(d.addr(), name), value: e})
	}
	return out, true
}

// keysOf checks that a value can name instances: its keys must be known and may
// be shown; its values may be anything.
func (s *session) keysOf(v cty.Value, expr hclsyntax.Expression) (cty.Value, bool) {
	rng := expr.Range()
	t := outer(v)
	unmarked, _ := v.Unmark()
	fail := func(summary, detail string) (cty.Value, bool) {
		s.report(at(rng, summary, detail))
		return v, false
	}
	ty := unmarked.Type()
	switch {
	case t.broken:
		return v, false
	case t.sensitive:
		return fail("sensitive keys", "for_each uses a sensitive value, and its keys become parts of addresses, which are shown; nonsensitive(…) allows that")
	case len(t.sources) > 0:
		return fail("keys known only later", fmt.Sprintf("for_each uses %s, which is known only after that has ended; the keys must be known before anything runs: write them out and let only the values use it, as in { a = %s… }", list(t.sources), t.sources[0]+"."))
	case unmarked.IsNull():
		return fail("for_each is null", "for_each needs a map or a set of strings; an empty one, {}, makes no instances")
	case ty.IsTupleType() || ty.IsListType():
		return fail("for_each is a list", "for_each needs a map or a set of strings, so that each instance has a name of its own: write for_each = toset([…])")
	case !unmarked.IsKnown():
		return fail("keys not known", "the keys of for_each must be known before anything runs; only its values may be known later")
	case ty.IsMapType() || ty.IsObjectType():
		return unmarked, true
	case ty.IsSetType():
		return s.setKeys(unmarked, fail)
	}
	return fail("wrong type", fmt.Sprintf("for_each needs a map or a set of strings, and this is %s", friendly(unmarked)))
}

func (s *session) setKeys(v cty.Value, fail func(string, string) (cty.Value, bool)) (cty.Value, bool) {
	if !v.IsWhollyKnown() {
		return fail("keys not known", "the keys of for_each must be known before anything runs; use a map, whose values may be known later")
	}
	set, err := convert.Convert(v, cty.Set(cty.String))
	if err != nil || v.Type().ElementType() != cty.String && v.LengthInt() > 0 && !v.Type().ElementType().IsPrimitiveType() {
		return fail("wrong type", "for_each needs a map or a set of strings, and this is a set of something else")
	}
	for it := set.ElementIterator(); it.Next(); {
		if _, e := it.Element(); e.IsNull() {
			return fail("null among the keys", "the set for for_each holds null, and each instance needs a name")
		}
	}
	return set, true
}

func (s *session) count(d *decl, attr *hclsyntax.Attribute) ([]*instance, bool) {
	raw, ok := s.eval(attr.Expr, nil)
	if !ok {
		return nil, false
	}
	v, t := unmark(raw)
	rng := attr.Expr.Range()
	fail := func(summary, detail string) ([]*instance, bool) {
		s.report(at(rng, summary, detail))
		return nil, false
	}
	switch {
	case t.broken:
		return nil, false
	case t.sensitive:
		return fail("sensitive count", "count uses a sensitive value, and how many instances there are is shown; nonsensitive(…) allows that")
	case len(t.sources) > 0:
		return fail("count known only later", fmt.Sprintf("count uses %s, which is known only after that has ended; it must be known before anything runs", list(t.sources)))
	case !v.IsKnown():
		return fail("count not known", "count must be known before anything runs")
	case v.IsNull():
		return fail("count is null", "count needs a whole number; 0 makes no instances")
	}
	n, err := convert.Convert(v, cty.Number)
	if err != nil {
		return fail("wrong type", fmt.Sprintf("count needs a whole number, and this is %s", friendly(v)))
	}
	f, _ := n.AsBigFloat().Float64()
	if f < 0 || f > maxInstances || f != math.Trunc(f) {
		return fail("out of range", fmt.Sprintf("count must be a whole number from 0 to %d", maxInstances))
	}
	out := make([]*instance, int(f))
	for i := range out {
		out[i] = &instance{key: i, addr: instanceAddr(d.addr(), i)}
	}
	return out, true
}
