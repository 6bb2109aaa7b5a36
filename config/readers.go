package config

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty/convert"
)

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
