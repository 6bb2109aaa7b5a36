package main

import (
	"strconv"
	"strings"
)

// typedLine is a command line as far as somebody has typed it.
type typedLine struct {
	words []string // whole ones behind the program's name, without quotes
	last  string   // the one that is being typed, without quotes
	raw   string   // the same as it stands there
	quote rune     // that is open in it, 0 for none
	from  int      // where in last that begins which bash replaces by an answer
}

// completing reports whether a shell asks for completions, and of which line.
func (a *app) completing() (line typedLine, yes bool) {
	text := a.environ("COMP_LINE")
	if at, err := strconv.Atoi(a.environ("COMP_POINT")); err == nil && at >= 0 && at < len(text) {
		text = text[:at] // up to the cursor
	}
	return readLine(text), text != ""
}

// readLine takes a line apart as a shell would.
func readLine(text string) typedLine {
	var line typedLine
	var last, raw strings.Builder
	escaped, begun := false, false
	for _, c := range text {
		if !begun && strings.ContainsRune(" \t\n", c) {
			continue
		}
		begun = true
		raw.WriteRune(c)
		switch {
		case escaped:
			if line.quote == '"' && !strings.ContainsRune("\"\\$`", c) {
				last.WriteRune('\\')
			}
			last.WriteRune(c)
			escaped = false
		case c == '\\' && line.quote != '\'':
			escaped = true
		case line.quote != 0 && c == line.quote:
			line.quote = 0
		case line.quote != 0:
			last.WriteRune(c)
		case c == '\'' || c == '"':
			line.quote, line.from = c, last.Len()
		case strings.ContainsRune(" \t\n", c):
			line.words = append(line.words, last.String())
			last.Reset()
			raw.Reset()
			line.from, begun = 0, false
		default:
			last.WriteRune(c)
			if strings.ContainsRune("=:", c) { // bash begins a word behind them
				line.from = last.Len()
			}
		}
	}
	line.last, line.raw = last.String(), raw.String()
	if len(line.words) > 0 {
		line.words = line.words[1:]
	}
	return line
}

// begins reports whether a word goes on with what is typed, in quotes or as it is.
func (l typedLine) begins(word string) bool {
	return strings.HasPrefix(word, l.last) || strings.HasPrefix(word, l.raw)
}

// answer is a word as the shell takes it. bash puts it into the line as it comes,
// in place of what stands behind an open quote or a sign that begins a word; the
// others quote it themselves, and want a flag's value alone.
func (l typedLine) answer(word string, bash bool) string {
	if !bash {
		if flag, value, ok := strings.Cut(word, "="); ok && strings.HasPrefix(flag, "-") {
			return value
		}
		return word
	}
	word = word[min(l.from, len(word)):]
	switch l.quote {
	case '\'':
		return strings.ReplaceAll(word, "'", `'\''`)
	case '"':
		return inQuotes.Replace(word)
	}
	return outOfQuotes.Replace(word)
}

// What shells interpret of what addresses hold, within double quotes and outside.
var (
	inQuotes    = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`")
	outOfQuotes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, `[`, `\[`, `]`, `\]`, ` `, `\ `, `'`, `\'`, `$`, `\$`, `&`, `\&`, `;`, `\;`, `(`, `\(`, `)`, `\)`)
)
