package ui

import (
	"encoding/json"
	"io"
	"strings"

	"github.com/overbrainer/overbrainer/plan"
)

// Problem is an error as it is told to whoever ran the command.
type Problem struct {
	// Code names the sort of error and does not change between versions.
	Code    string `json:"code"`
	Message string `json:"message"`
	Address string `json:"address,omitempty"`
	// ID is of what was left behind: a pod, a run, a claim.
	ID string `json:"id,omitempty"`
	// Hint is what to do next.
	Hint string `json:"hint,omitempty"`
	// Diagnostics are the places in the configuration, where there are some.
	Diagnostics []plan.Diagnostic `json:"diagnostics,omitempty"`
}

// WriteJSON writes the error as one line.
func (p Problem) WriteJSON(w io.Writer) error {
	return JSONLine(w, map[string]any{"error": p})
}

// Write tells the error to a person.
func (p Problem) Write(w io.Writer, look Look) error {
	out := &printer{w: w}
	if len(p.Diagnostics) > 0 {
		out.err = WriteDiagnostics(w, p.Diagnostics, look)
	} else {
		first, more, _ := strings.Cut(p.Message, "\n")
		out.told(look, red, "Error:", " "+visible(first))
		out.below(look, more)
	}
	if p.Hint != "" {
		out.line()
		out.below(look, p.Hint)
	}
	return out.err
}

// below writes the lines of a text, indented.
func (p *printer) below(look Look, text string) {
	if text == "" {
		return
	}
	for _, para := range strings.Split(text, "\n") {
		for _, line := range look.wrap(visible(para), 2) {
			p.line("  ", line)
		}
	}
}

// Say tells a person a line of text, broken at words where a terminal is too narrow
// for it.
func Say(w io.Writer, text string, look Look) error {
	p := &printer{w: w}
	p.told(look, "", "", text)
	return p.err
}

// JSONLine writes v as one line.
func JSONLine(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// Warn tells it as a warning.
func (p Problem) Warn(w io.Writer, look Look) error {
	out := &printer{w: w}
	out.told(look, magenta, "Warning:", " "+visible(p.Message))
	return out.err
}
