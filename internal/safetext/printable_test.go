package safetext_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/overbrainer/overbrainer/internal/safetext"
)

// Whatever a server calls a thing, a terminal gets only text: sequences that
// colour, move or name a window go with their arguments, one without an end
// takes the rest along.
func TestPrintable(t *testing.T) {
	for _, test := range []struct{ name, in, want string }{
		{"plain", "NVIDIA  A40, größer 大", "NVIDIA  A40, größer 大"},
		{"colour and line break", "a\x1b[31mred\x1b[0m\nb\t\tc", "ared b  c"},
		{"title until bell", "a\x1b]0;owned\x07b", "ab"},
		{"title until terminator", "a\x1b]0;owned\x1b\\b\x1bPx\u009cc", "abc"},
		{"no terminator takes the rest", "a\x1bPxyz", "a"},
		{"8-bit forms", "a\u009b31mb\u009d0;t\u009cc\u0085d", "abcd"},
		{"character set", "a\x1b(Bb\x1bcd", "abd"},
		{"lone escape at the end", "a\x1b", "a"},
		{"unfinished sequence", "a\x1b[31", "a"},
		{"other controls", "a\x00\x08\x7fb", "ab"},
		{"direction", "a\u202eb\u2066c", "abc"},
		{"not UTF-8", "a\x9bb", "a\ufffdb"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := safetext.Printable(test.in); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestVisible: sequences go, and what stands alone can be told from its absence.
func TestVisible(t *testing.T) {
	in, want := "a\x1b[31mb\x1b[0m\ac\u202ed\x7f\ne", `ab\u{7}c\u{202e}d\u{7f} e`
	if got := safetext.Visible(in); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestOneLine(t *testing.T) {
	in, want := "a\r\nb\tc\x1b[1m\u202e\u2028d", `a\r\nb`+"\t"+`c\u{1b}[1m\u{202e}\u{2028}d`
	if got := safetext.OneLine(in); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCell(t *testing.T) {
	for _, test := range []struct {
		in    string
		limit int
		want  string
	}{
		{"  failed  http_403\n", 64, "failed  http_403"},
		{"größe\x1b[2J", 64, "gr??e"},
		{strings.Repeat("x", 100), 64, strings.Repeat("x", 64)},
		{"", 10, ""},
	} {
		if got := safetext.Cell(test.in, test.limit); got != test.want {
			t.Errorf("Cell(%q) = %q", test.in, got)
		}
	}
}

func TestCut(t *testing.T) {
	for in, want := range map[string]string{"abc": "abc", "abcdef": "abc…", "äöüß": "äöüß"} {
		if got := safetext.Cut(in, 4); got != want {
			t.Errorf("Cut(%q) = %q", in, got)
		}
	}
}

func FuzzPrintable(f *testing.F) {
	f.Add("a\x1b]0;x\x07\u009b1m")
	f.Fuzz(func(t *testing.T, s string) {
		for _, out := range []string{safetext.Printable(s), safetext.OneLine(s), safetext.Cell(s, 64)} {
			for _, c := range out {
				if unicode.IsControl(c) && c != '\t' {
					t.Errorf("%q left in %q", c, out)
				}
			}
		}
	})
}
