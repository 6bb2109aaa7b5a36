package ui

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/clipperhouse/displaywidth"
	"github.com/hashicorp/hcl/v2"

	"github.com/overbrainer/overbrainer/plan"
)

// Diagnostics turns HCL's into a plan's: errors first, each with the lines of
// source it is about. sources holds the text of the files by name. The values
// of an expression are left out on purpose: one of them may be a secret.
func Diagnostics(diags hcl.Diagnostics, sources map[string][]byte) []plan.Diagnostic {
	out := make([]plan.Diagnostic, 0, len(diags))
	for _, d := range diags {
		one := plan.Diagnostic{Severity: "error", Summary: d.Summary, Detail: d.Detail}
		if d.Severity == hcl.DiagWarning {
			one.Severity = "warning"
		}
		if r := d.Subject; r != nil {
			one.Range = &plan.Range{
				Filename: r.Filename,
				Start:    plan.Pos{Line: r.Start.Line, Column: r.Start.Column, Byte: r.Start.Byte},
				End:      plan.Pos{Line: r.End.Line, Column: r.End.Column, Byte: r.End.Byte},
			}
			one.Snippet = snippet(sources[r.Filename], r.Start.Line, r.End.Line)
		}
		out = append(out, one)
	}
	slices.SortStableFunc(out, func(a, b plan.Diagnostic) int {
		return strings.Compare(a.Severity, b.Severity) // "error" < "warning"
	})
	return out
}

// snippet gives the lines from first to last, at most 4 of them.
func snippet(source []byte, first, last int) string {
	lines := bytes.Split(source, []byte("\n"))
	if first < 1 || first > len(lines) {
		return ""
	}
	last = min(max(last, first), first+3, len(lines))
	if last > first && len(lines[last-1]) == 0 {
		last--
	}
	return string(bytes.TrimRight(bytes.Join(lines[first-1:last], []byte("\n")), "\r\n"))
}

// WriteDiagnostics shows diagnostics to a person, with the source they are
// about and a mark under the place.
func WriteDiagnostics(w io.Writer, diags []plan.Diagnostic, look Look) error {
	p := &printer{w: w}
	for i, d := range diags {
		if i > 0 {
			p.line()
		}
		writeDiagnostic(p, d, look)
	}
	return p.err
}

func writeDiagnostic(p *printer, d plan.Diagnostic, look Look) {
	title, color := "Error", red
	if d.Severity == "warning" {
		title, color = "Warning", magenta
	}
	head := Wrap(title+": "+clean(d.Summary), look.Columns())
	for i, line := range head {
		if i == 0 {
			line = look.paint(color, title+":") + strings.TrimPrefix(line, title+":")
		}
		p.line(line)
	}
	if r := d.Range; r != nil {
		p.line()
		p.line("  on ", clean(r.Filename), fmt.Sprintf(" line %d", r.Start.Line), ":")
		excerpt(p, d, look)
	}
	if d.Detail == "" {
		return
	}
	p.line()
	for _, para := range strings.Split(d.Detail, "\n") {
		if strings.HasPrefix(para, "  ") { // set as it is: a list or an example
			p.line("  ", clean(para))
			continue
		}
		for _, line := range Wrap(clean(para), look.Columns()-2) {
			p.line("  ", line)
		}
	}
}

func excerpt(p *printer, d plan.Diagnostic, look Look) {
	if d.Snippet == "" {
		return
	}
	room := look.Columns() - 8
	for i, text := range strings.Split(d.Snippet, "\n") {
		text = clean(text) // a tab is one space, and one character as before
		p.line(fmt.Sprintf("%5d: ", d.Range.Start.Line+i), cut(text, room))
		if i > 0 {
			continue
		}
		// Columns count from 1, in characters, some of which are wide.
		from, to := d.Range.Start.Column, d.Range.End.Column
		if d.Range.End.Line != d.Range.Start.Line {
			to = math.MaxInt
		}
		if from < 1 {
			continue
		}
		before, n := columns(text, from), columns(text, to)-columns(text, from)
		if before >= room {
			continue
		}
		p.line("       ", strings.Repeat(" ", before), look.paint(red, strings.Repeat("^", max(1, min(n, room-before)))))
	}
}

// columns is how wide the characters of a line before the nth are, which is
// counted from 1.
func columns(line string, nth int) int {
	sum := 0
	for g := displaywidth.StringGraphemes(line); nth > 1 && g.Next(); nth-- {
		sum += g.Width()
	}
	return sum
}
