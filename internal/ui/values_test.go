package ui

import "testing"

// TestValueIsWhole: text is written as it is, but for what a terminal would obey.
func TestValueIsWhole(t *testing.T) {
	for _, test := range []struct {
		value any
		want  string
	}{
		{"a <b> & \"c\"", `"a <b> & \"c\""`},
		{map[string]any{"<&>": "x"}, "{\n  \"<&>\" = \"x\"\n}"},
		{"ab\a\u202e\u009b31m\n", `"ab\u0007\u202e\u009b31m\n"`},
		{-1e308, "-1e+308"},
		{2.0, "2"},
		{nil, "null"},
	} {
		if got := Value(test.value); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}
