package config

import (
	"slices"

	"github.com/zclconf/go-cty/cty"
)

// Marks travel with a value through every expression and tell where it comes
// from.
type mark string

const (
	// sensitive values are never shown.
	sensitive mark = "sensitive"
	// broken stands for a value whose error is reported already: nobody
	// complains about it again.
	broken mark = "broken"
	// local values tell of this machine: path.cwd.
	local mark = "local"
	// planned values come from the plan a check looks at.
	planned mark = "planned"
)

// source marks the attributes of a run or volume with its address: whoever
// uses them comes after it.
type source struct{ address string }

var brokenVal = cty.DynamicVal.Mark(broken)

// traits is what the marks of a value say of it.
type traits struct {
	sensitive, broken, local, planned bool
	sources                           []string // addresses, sorted
}

func (t *traits) add(marks cty.ValueMarks) {
	for m := range marks.All() {
		switch m {
		case sensitive:
			t.sensitive = true
		case broken:
			t.broken = true
		case local:
			t.local = true
		case planned:
			t.planned = true
		default:
			if s, ok := m.(source); ok && !slices.Contains(t.sources, s.address) {
				t.sources = append(t.sources, s.address)
			}
		}
	}
	slices.Sort(t.sources)
}

// unmark takes all marks off a value and tells what they said.
func unmark(v cty.Value) (cty.Value, traits) {
	var t traits
	if !v.ContainsMarked() {
		return v, t
	}
	v, marks := v.UnmarkDeep()
	t.add(marks)
	return v, t
}

// outer tells what the marks of the value itself say, its elements left out.
func outer(v cty.Value) traits {
	var t traits
	t.add(v.Marks())
	return t
}
