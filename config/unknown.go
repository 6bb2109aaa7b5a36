package config

import (
	"fmt"
	"regexp"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

var shellName = regexp.MustCompile(`^[A-Z_][A-Z0-9_]*$|^[a-z]$`)

// unknownName says what was probably meant by a name that nothing has.
func (p *program) unknownName(expr hclsyntax.Expression, trav hcl.Traversal, sc scope) *hcl.Diagnostic {
	root := trav.RootName()
	roots := []string{"var", "local", "secret", "volume", "target", "cap", "run", "path", "overbrainer"}
	if sc.each {
		roots = append(roots, "each")
	}
	if sc.count {
		roots = append(roots, "count")
	}
	if sc.plan {
		roots = append(roots, "plan")
	}
	more := ""
	switch {
	case insideTemplate(expr, trav.SourceRange()) && (len(trav) == 1 && nearest(root, roots) == "" || shellName.MatchString(root)):
		more = fmt.Sprintf("where a shell shall see ${%s}, write $${%s}", root, root)
	case p.decls["var."+root] != nil:
		more = fmt.Sprintf("did you mean `var.%s`?", root)
	case p.decls["local."+root] != nil:
		more = fmt.Sprintf("did you mean `local.%s`?", root)
	case nearest(root, roots) != "" && len(trav) > 1:
		more = fmt.Sprintf("did you mean `%s`?", nearest(root, roots))
	case root == "module" || root == "data":
		more = "overbrainer has no modules and no data sources"
	case len(trav) == 1:
		more = fmt.Sprintf("as text it is written in quotes: %q", root)
	default:
		more = "there is " + list(roots)
	}
	return at(trav.SourceRange(), "unknown name", hint(fmt.Sprintf("nothing is called `%s` here", root), more))
}

// insideTemplate reports whether the range lies in a string's ${ }.
func insideTemplate(expr hclsyntax.Expression, rng hcl.Range) bool {
	found := false
	_ = hclsyntax.VisitAll(expr, func(node hclsyntax.Node) hcl.Diagnostics {
		switch node.(type) {
		case *hclsyntax.TemplateExpr, *hclsyntax.TemplateWrapExpr:
			r := node.Range()
			found = found || r.Filename == rng.Filename && r.Start.Byte <= rng.Start.Byte && rng.End.Byte <= r.End.Byte
		}
		return nil
	})
	return found
}

// checkCalls checks the functions that an expression calls, and that no secret
// goes into a function or a template.
func (p *program) checkCalls(expr hclsyntax.Expression, secrets bool) hcl.Diagnostics {
	var diags hcl.Diagnostics
	refuse := func(parts []hclsyntax.Expression, where string) {
		if !secrets {
			return // then a secret is refused wherever it stands
		}
		for _, part := range parts {
			for _, trav := range part.Variables() {
				if trav.RootName() == "secret" && len(diags) == 0 {
					diags = append(diags, at(trav.SourceRange(), "a secret in a wrong place",
						fmt.Sprintf("%s cannot take a secret: its value is not known here, and never becomes part of another value", where)))
				}
			}
		}
	}
	_ = hclsyntax.VisitAll(expr, func(node hclsyntax.Node) hcl.Diagnostics {
		switch e := node.(type) {
		case *hclsyntax.FunctionCallExpr:
			if _, known := p.functions[e.Name]; !known {
				diags = append(diags, at(e.NameRange, "unknown function", hint(fmt.Sprintf("there is no function `%s`", e.Name), functionHint(e.Name, p.functions))))
			}
			refuse(e.Args, "the function "+e.Name)
		case *hclsyntax.TemplateExpr:
			refuse(e.Parts, "a string")
		case *hclsyntax.TemplateWrapExpr:
			refuse([]hclsyntax.Expression{e.Wrapped}, "a string")
		}
		return nil
	})
	return diags
}

// functionHint says what to use in place of a function that is not there.
func functionHint[F any](name string, known map[string]F) string {
	switch name {
	case "timestamp", "plantimestamp", "uuid", "bcrypt":
		return "no function reads a clock or chance, so that planning twice gives the same plan"
	case "env", "getenv":
		return "the environment is read through variables (OVERBRAINER_VAR_name) and secrets (env = \"NAME\")"
	}
	if n := nearest(name, sorted(known)); n != "" {
		return "did you mean `" + n + "`?"
	}
	return ""
}
