package config

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// reword says in our words what HCL's parser says in its own, where the fault
// is a usual one.
func reword(diags hcl.Diagnostics, text []byte, tokens hclsyntax.Tokens) hcl.Diagnostics {
	for _, d := range diags {
		switch d.Summary {
		case "Attribute redefined":
			d.Summary = "set twice"
			if _, rest, ok := strings.Cut(d.Detail, "was already set at "); ok {
				name := string(d.Subject.SliceBytes(text))
				where, _, _ := strings.Cut(rest, ". Each")
				if file, pos, ok := strings.Cut(where, ":"); ok {
					line, _, _ := strings.Cut(pos, ",")
					where = file + ":" + line
				}
				d.Detail = fmt.Sprintf("`%s` is set here and at %s; an argument may be set once", name, where)
			}
		case "Extra characters after interpolation expression", "Unclosed template interpolation sequence",
			"Invalid template directive", "Invalid template control keyword":
			d.Detail = voice(d.Detail) + "; " + literalHint(d.Summary)
		case "Invalid expression", "Missing expression", "Invalid character", "Unsupported operator":
			if d.Subject != nil && inTemplate(d.Subject.Start.Byte, tokens) {
				d.Detail = voice(d.Detail) + "; " + literalHint(d.Summary)
			}
		}
	}
	return diags
}

// literalHint tells how to write what a shell shall see.
func literalHint(summary string) string {
	if strings.Contains(summary, "directive") || strings.Contains(summary, "keyword") {
		return "where a shell or a program shall see %{, write %%{"
	}
	return "where a shell shall see ${, write $${ (a $NAME without braces needs nothing)"
}

// inTemplate reports whether the byte lies between ${ or %{ and its end.
func inTemplate(offset int, tokens hclsyntax.Tokens) bool {
	depth := 0
	for _, tok := range tokens {
		if tok.Range.Start.Byte >= offset {
			break
		}
		switch tok.Type {
		case hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
			depth++
		case hclsyntax.TokenTemplateSeqEnd:
			depth--
		}
	}
	return depth > 0
}
