package config

import (
	"bytes"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// parsed is one file as far as it could be parsed.
type parsed struct {
	name   string
	file   *hcl.File
	bodies []*hclsyntax.Body
	// broken: some part of the text is missing from bodies.
	broken bool
}

// parse reads one file. Text that does not parse as a whole is taken apart at
// its top-level blocks, so that a fault in one hides nothing in the others.
func parse(name string, text []byte) (*parsed, hcl.Diagnostics) {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	out := &parsed{name: name, file: &hcl.File{Body: hcl.EmptyBody(), Bytes: text}}
	tokens, _ := hclsyntax.LexConfig(text, name, hcl.InitialPos)
	if d := checkShape(tokens); d != nil {
		out.broken = true
		return out, hcl.Diagnostics{d}
	}
	file, diags := hclsyntax.ParseConfig(text, name, hcl.InitialPos)
	out.file = file
	if !syntaxErrors(diags) {
		out.bodies = []*hclsyntax.Body{file.Body.(*hclsyntax.Body)}
		return out, reword(diags, text, tokens)
	}
	out.broken = true
	text, tokens, diags = closeStrings(name, text, tokens)
	for _, part := range split(text, tokens) {
		piece := text[part.start.Byte:part.end]
		partFile, partDiags := hclsyntax.ParseConfig(piece, name, part.start)
		if !syntaxErrors(partDiags) {
			out.bodies = append(out.bodies, partFile.Body.(*hclsyntax.Body))
			diags = append(diags, reword(partDiags, text, tokens)...)
			continue
		}
		partTokens, _ := hclsyntax.LexConfig(piece, name, part.start)
		if unclosed := findUnclosed(partTokens); len(unclosed) > 0 {
			diags = append(diags, unclosed...)
			continue
		}
		diags = append(diags, reword(first(partDiags), text, tokens)...)
	}
	return out, diags
}

// syntaxErrors reports whether diagnostics say that text was not understood;
// an argument that is set twice was.
func syntaxErrors(diags hcl.Diagnostics) bool {
	for _, d := range diags {
		if d.Severity == hcl.DiagError && d.Summary != "Attribute redefined" {
			return true
		}
	}
	return false
}

// first drops all syntax errors but the first: the others follow from it.
func first(diags hcl.Diagnostics) hcl.Diagnostics {
	var out hcl.Diagnostics
	found := false
	for _, d := range diags {
		if syntax := syntaxErrors(hcl.Diagnostics{d}); syntax {
			if found {
				continue
			}
			found = true
		}
		out = append(out, d)
	}
	return out
}
