// Package ui shows plans, events, state and errors: for people in words and
// tables, for programs as JSON. It decides nothing and prints nothing by
// itself: every view is given the writer, the width and whether colours are
// wanted.
//
// Whatever came from outside (an API, a pod, a job's log) is cleaned of
// terminal controls before it is shown.
package ui

import (
	"io"
	"strings"

	"github.com/clipperhouse/displaywidth"

	"github.com/overbrainer/overbrainer/internal/safetext"
)

// Look is how a view may present itself.
type Look struct {
	// Color says that escape sequences are understood and wanted.
	Color bool
	// Width is the number of columns; 0 means 80.
	Width int
	// Height is the number of lines; 0 means that it is not known.
	Height int
}

// Columns gives the width to write for, at least 40.
func (l Look) Columns() int {
	switch {
	case l.Width == 0:
		return 80
	case l.Width < 40:
		return 40
	}
	return l.Width
}

// rows gives how many lines may be drawn over: what has left the screen at its
// top stays as it is.
func (l Look) rows() int {
	if l.Height == 0 {
		return 23
	}
	return max(l.Height-1, 2)
}

// Colours by what they say. Each can be read on a light and on a dark ground:
// yellow and cyan hardly can on white.
const (
	green   = "32"
	red     = "31"
	magenta = "35" // a warning, or what changes
	bold    = "1"
	dim     = "2"
)

// paint wraps s in a colour where colours are wanted.
func (l Look) paint(color, s string) string {
	if !l.Color || color == "" || s == "" {
		return s
	}
	return "\x1b[" + color + "m" + s + "\x1b[0m"
}

// Bold makes a heading of s.
func (l Look) Bold(s string) string { return l.paint(bold, s) }

// clean makes text from outside safe on one line of a terminal.
func clean(s string) string { return safetext.Printable(s) }

// visible does the same to what somebody may have typed: a character that is not
// shown may be what is wrong with it.
func visible(s string) string { return safetext.Visible(s) }

// printer collects the first error of many writes.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) line(parts ...string) {
	if p.err == nil {
		_, p.err = io.WriteString(p.w, strings.TrimRight(strings.Join(parts, ""), " ")+"\n")
	}
}

// told writes a title in its colour and the text after it, which a terminal
// shows within its width and broken at words; what else reads it has it on one
// line.
func (p *printer) told(look Look, color, title, text string) {
	for i, line := range look.wrap(title+text, 0) {
		if rest, ok := strings.CutPrefix(line, title); ok && i == 0 {
			line = look.paint(color, title) + rest
		}
		p.line(line)
	}
}

// wrap breaks s at words for a terminal, behind an indent. Without one s is a
// line, and so is what begins with two spaces: it is set as it is.
func (l Look) wrap(s string, indent int) []string {
	if l.Width == 0 || strings.HasPrefix(s, "  ") {
		return []string{s}
	}
	return Wrap(s, l.Columns()-indent)
}

// width counts the columns of a text without escape sequences: two for a wide
// character, none for what combines with the one before.
func width(s string) int { return displaywidth.String(s) }

// pad fills s with spaces up to n columns.
func pad(s string, n int) string {
	if d := n - width(s); d > 0 {
		return s + strings.Repeat(" ", d)
	}
	return s
}

// cut shortens s to n columns, marking that something is missing.
func cut(s string, n int) string {
	if n < 1 {
		return ""
	}
	return displaywidth.TruncateString(s, n, "…")
}

// Wrap breaks s at spaces into lines of at most n columns. A longer word
// stays whole, and so do several spaces in a row: they may be what a name
// differs in. A flag stays with the word before it: half of a command must not
// be what somebody pastes.
func Wrap(s string, n int) []string {
	var lines []string
	line := ""
	for _, word := range words(s) {
		if line != "" && width(line)+1+width(word) > n {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

// words splits s at single spaces and line breaks.
func words(s string) []string {
	var out []string
	word := ""
	for _, part := range strings.Split(strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\t' }), " "), " ") {
		switch {
		case part == "": // one of several spaces
			word += " "
		case strings.HasSuffix(word, " "), word != "" && len(part) > 1 && part[0] == '-':
			word += " " + part
		default:
			if word != "" {
				out = append(out, word)
			}
			word = part
		}
	}
	if word = strings.TrimSpace(word); word != "" {
		out = append(out, word)
	}
	for i := range out {
		out[i] = strings.TrimSpace(out[i])
	}
	return out
}
