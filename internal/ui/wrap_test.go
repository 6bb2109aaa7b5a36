package ui

import (
	"slices"
	"testing"
)

func TestWrap(t *testing.T) {
	for _, test := range []struct {
		text string
		n    int
		want []string
	}{
		{"", 10, []string{""}},
		{"one two three", 7, []string{"one two", "three"}},
		{"one\ntwo\tthree", 80, []string{"one two three"}},
		{" padded ", 80, []string{"padded"}},
		{`also "NVIDIA  RTX A4500" there`, 16, []string{"also", `"NVIDIA  RTX`, `A4500" there`}},
		{"averyveryverylongword x", 5, []string{"averyveryverylongword", "x"}},
	} {
		if got := Wrap(test.text, test.n); !slices.Equal(got, test.want) {
			t.Errorf("%q: %q, want %q", test.text, got, test.want)
		}
	}
}
