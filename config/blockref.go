package config

import (
	"strings"

	"github.com/zclconf/go-cty/cty"
)

// referenced finds the block that a value stands for: target.gpu as a whole,
// not something made of its parts.
func (s *session) referenced(r *reader, f field, kind string) (string, bool) {
	if !f.shared || s.base != nil {
		return s.findReferenced(r, f, kind)
	}
	if addr, known := r.d.refs[f.name]; known {
		r.failed = r.failed || addr == ""
		return addr, addr != ""
	}
	addr, ok := s.findReferenced(r, f, kind)
	r.d.refs[f.name] = addr
	return addr, ok
}

func (s *session) findReferenced(r *reader, f field, kind string) (string, bool) {
	example := r.schema.attr(f.name).example
	addr := ""
	if v := f.val; v.Type().IsObjectType() && v.Type().HasAttribute("address") {
		if a := v.GetAttr("address"); a.Type() == cty.String && a.IsKnown() && !a.IsNull() {
			addr = a.AsString()
		}
	}
	if addr == "" {
		if d := s.p.repeatedRef(r.body.Attributes[f.name].Expr.Variables(), kind); d != nil {
			r.fail(f.rng, "which one?", "%s has for_each or count, so there are several: name one of them, as in %s = %s[each.key]", d.addr(), f.name, d.addr())
			return "", false
		}
		r.fail(f.rng, "not a reference", "`%s` is a reference to a %s block, without quotes, such as %s = %s; this is %s", f.name, kind, f.name, example, friendly(f.val))
		return "", false
	}
	if !strings.HasPrefix(addr, kind+".") {
		r.fail(f.rng, "another kind of block", "`%s` is a reference to a %s block, and this is %s", f.name, kind, addr)
		return "", false
	}
	want, ok := s.whole(addr, kind)
	if !ok {
		// The block has faults, which are reported.
		r.failed = true
		return "", false
	}
	if got, _ := unmark(f.val); !got.RawEquals(want) {
		r.fail(f.rng, "not a whole block", "`%s` is a reference to a %s block as it is declared, and this is made from %s; declare another block instead", f.name, kind, addr)
		return "", false
	}
	return addr, true
}

// whole gives the value of one declared instance by its address.
func (s *session) whole(addr, kind string) (cty.Value, bool) {
	if v, ok := s.wholes[addr]; ok {
		return v, true
	}
	for _, d := range s.p.ofKind(kind) {
		if addr != d.addr() && !strings.HasPrefix(addr, d.addr()+"[") || d.bad || d.failed {
			continue
		}
		v, _ := unmark(s.value(d))
		if !d.repeated {
			s.wholes[addr] = v
			continue
		}
		if v.CanIterateElements() {
			for it := v.ElementIterator(); it.Next(); {
				_, e := it.Element()
				s.wholes[e.GetAttr("address").AsString()] = e
			}
		}
	}
	v, ok := s.wholes[addr]
	return v, ok
}
