package safetext

import (
	"fmt"
	"strings"
	"unicode"
)

const (
	esc = 0x1b
	bel = 0x07
	st  = 0x9c // string terminator, 8-bit form
)

// Printable returns s without anything that a terminal would obey: control
// sequences, operating-system and device strings (one that does not end takes
// the rest with it), other escapes, their 8-bit forms, and the characters that
// turn the direction of text. Tabs and line breaks become a space each; other
// control characters are dropped. Ordinary text in any script stays.
func Printable(s string) string {
	return printable(s, func(*strings.Builder, rune) {})
}

// Visible is Printable for text that may differ from other text in one such
// character only: those that stand alone are not dropped but appear as \u{7}.
func Visible(s string) string {
	return printable(s, func(b *strings.Builder, c rune) { fmt.Fprintf(b, `\u{%x}`, c) })
}

func printable(s string, alone func(*strings.Builder, rune)) string {
	if isPlain(s) {
		return s
	}
	runes := []rune(s)
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(runes); {
		c := runes[i]
		switch {
		case c == '\t' || c == '\n' || c == '\v' || c == '\f' || c == '\r':
			b.WriteByte(' ')
			i++
		case c == esc:
			i += escapeLength(runes[i:])
		case c == 0x9b:
			i += 1 + controlLength(runes[i+1:])
		case isStringControl(c):
			i += 1 + stringLength(runes[i+1:])
		case unicode.IsControl(c) || IsDirection(c):
			alone(&b, c)
			i++
		default:
			b.WriteRune(c)
			i++
		}
	}
	return b.String()
}

// isPlain reports whether a text is visible ASCII, as most are: then there is
// nothing to take away.
func isPlain(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return true
}

// isStringControl tells the 8-bit forms of DCS, SOS, OSC, PM and APC.
func isStringControl(c rune) bool {
	return c == 0x90 || c == 0x98 || c == 0x9d || c == 0x9e || c == 0x9f
}

// IsDirection tells the embedding, override and isolate characters, which can
// make text read otherwise than it is.
func IsDirection(c rune) bool {
	return c >= 0x202a && c <= 0x202e || c >= 0x2066 && c <= 0x2069
}

// escapeLength is the length of the sequence that begins with an escape.
func escapeLength(s []rune) int {
	if len(s) < 2 {
		return len(s)
	}
	switch s[1] {
	case '[':
		return 2 + controlLength(s[2:])
	case ']', 'P', 'X', '^', '_':
		return 2 + stringLength(s[2:])
	}
	// Intermediate characters, then a final one; a lone escape before other
	// text takes only itself.
	n := 1
	for n < len(s) && s[n] >= 0x20 && s[n] <= 0x2f {
		n++
	}
	if n < len(s) && s[n] >= 0x30 && s[n] <= 0x7e {
		n++
	}
	return n
}

// controlLength is the length of a control sequence after its introducer.
func controlLength(s []rune) int {
	n := 0
	for n < len(s) && s[n] >= 0x20 && s[n] <= 0x3f {
		n++
	}
	if n < len(s) && s[n] >= 0x40 && s[n] <= 0x7e {
		n++
	}
	return n
}

// stringLength is the length of a control string, its terminator included.
func stringLength(s []rune) int {
	for i, c := range s {
		switch {
		case c == bel || c == st:
			return i + 1
		case c == esc && i+1 < len(s) && s[i+1] == '\\':
			return i + 2
		}
	}
	return len(s)
}

// OneLine returns s as one line that loses nothing: line breaks appear as \n
// and \r, a tab stays, and other control characters and those that turn the
// direction of text appear as \u{1b}.
func OneLine(s string) string {
	if isPlain(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for _, c := range s {
		switch {
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\t':
			b.WriteByte('\t')
		case unicode.IsControl(c) || IsDirection(c) || c == 0x2028 || c == 0x2029:
			fmt.Fprintf(&b, `\u{%x}`, c)
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

// Cell returns s for a place of fixed width, or for a status word from a pod:
// printable ASCII only (other characters become a question mark), trimmed, at
// most limit characters. Doubled spaces stay.
func Cell(s string, limit int) string {
	var b strings.Builder
	for _, c := range strings.TrimSpace(Printable(s)) {
		if b.Len() >= limit {
			break
		}
		if c < 0x20 || c > 0x7e {
			c = '?'
		}
		b.WriteRune(c)
	}
	return strings.TrimSpace(b.String())
}

// Cut returns the first limit characters of s. Text that was longer ends with
// an ellipsis within the limit.
func Cut(s string, limit int) string {
	runes := []rune(s)
	if len(runes) <= limit {
		return s
	}
	if limit < 1 {
		return ""
	}
	return string(runes[:limit-1]) + "…"
}
