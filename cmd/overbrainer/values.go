package main

import "github.com/zclconf/go-cty/cty"

// texts gives every string within a value, and numbers as they are written.
func texts(v cty.Value) []string {
	if v == cty.NilVal || !v.IsWhollyKnown() || v.IsNull() {
		return nil
	}
	v, _ = v.UnmarkDeep()
	var out []string
	_ = cty.Walk(v, func(_ cty.Path, e cty.Value) (bool, error) {
		if e.IsKnown() && !e.IsNull() && e.Type() == cty.String {
			out = append(out, e.AsString())
		}
		return true, nil
	})
	return out
}
