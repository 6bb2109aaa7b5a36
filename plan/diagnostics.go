package plan

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// FromHCL gives HCL's diagnostics in the plan's form, with the lines they are
// about from files.
func FromHCL(diags hcl.Diagnostics, files map[string]*hcl.File) []Diagnostic {
	list := []Diagnostic{}
	for _, d := range diags {
		out := Diagnostic{Severity: "error", Summary: d.Summary, Detail: d.Detail}
		if d.Severity == hcl.DiagWarning {
			out.Severity = "warning"
		}
		if d.Subject != nil {
			out.Range, out.Snippet = rangeOf(*d.Subject), snippetOf(*d.Subject, files)
		}
		list = append(list, out)
	}
	return list
}

func rangeOf(r hcl.Range) *Range {
	if r.Filename == "" {
		return nil
	}
	pos := func(p hcl.Pos) Pos { return Pos{Line: p.Line, Column: p.Column, Byte: p.Byte} }
	return &Range{Filename: r.Filename, Start: pos(r.Start), End: pos(r.End)}
}

// snippetOf gives the first line of a range.
func snippetOf(r hcl.Range, files map[string]*hcl.File) string {
	f := files[r.Filename]
	if f == nil || r.Start.Line < 1 {
		return ""
	}
	lines := bytes.SplitN(f.Bytes, []byte("\n"), r.Start.Line+1)
	if len(lines) < r.Start.Line {
		return ""
	}
	return strings.TrimRight(string(lines[r.Start.Line-1]), "\r")
}

// where writes a range as file:line.
func where(r hcl.Range) string {
	if r.Filename == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", r.Filename, r.Start.Line)
}

// saying is what makes a diagnostic another one, wherever it is.
type saying struct{ severity, summary, detail string }

// add says something once.
func (b *builder) add(severity, summary, detail string, r hcl.Range) {
	if b.said[saying{severity, summary, detail}] {
		return
	}
	b.say(Diagnostic{
		Severity: severity, Summary: summary, Detail: detail,
		Range: rangeOf(r), Snippet: snippetOf(r, b.in.Config.Files()),
	})
}

func (b *builder) say(list ...Diagnostic) {
	if b.said == nil {
		b.said = map[saying]bool{}
	}
	for _, d := range list {
		b.said[saying{d.Severity, d.Summary, d.Detail}] = true
	}
	b.p.Diagnostics = append(b.p.Diagnostics, list...)
}

func (b *builder) errorAt(r hcl.Range, summary, detail string) { b.add("error", summary, detail, r) }
func (b *builder) warnAt(r hcl.Range, summary, detail string)  { b.add("warning", summary, detail, r) }
func (b *builder) error(summary, detail string)                { b.errorAt(hcl.Range{}, summary, detail) }
func (b *builder) warn(summary, detail string)                 { b.warnAt(hcl.Range{}, summary, detail) }
