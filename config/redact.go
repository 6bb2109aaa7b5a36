package config

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// plainSummaries are the faults whose details hold only what is written in the
// configuration. The details of all others may quote values.
var plainSummaries = []string{
	"Unsupported attribute", "Unknown variable", "Call to unknown function", "Not enough function arguments",
	"Too many function arguments", "Invalid operand", "Null condition", "Incorrect condition type",
	"Inconsistent conditional result types", "Iteration over null value", "Iteration over non-iterable value",
	"Splat of null value", "Attempt to get attribute from null value", "Attempt to index null value",
	"expression cannot be computed",
}

// redact takes details away that could quote a sensitive value.
func (s *session) redact(diags hcl.Diagnostics, info *exprInfo, expr hclsyntax.Expression, inst *instance, extra map[string]cty.Value) hcl.Diagnostics {
	secretive := ""
	for _, d := range info.refs {
		if v := s.value(d); deep(v, sensitive) {
			secretive = d.addr()
		}
	}
	if info.each && inst != nil && inst.value != cty.NilVal && deep(inst.value, sensitive) {
		secretive = "each.value"
	}
	for _, v := range extra {
		if deep(v, sensitive) {
			secretive = "a value"
		}
	}
	if secretive == "" && info.hides {
		secretive = "a value"
	}
	for _, d := range diags {
		if d.Subject == nil {
			d.Subject = expr.Range().Ptr()
		}
		if secretive != "" && !slices.Contains(plainSummaries, d.Summary) {
			d.Detail = fmt.Sprintf("what is wrong exactly is not shown, for the expression uses %s, which is sensitive", secretive)
		} else {
			d.Detail = s.explain(d, expr)
		}
	}
	return diags
}

// callsSensitive reports a call of sensitive(): what it takes is not shown.
func callsSensitive(expr hclsyntax.Expression) bool {
	found := false
	_ = hclsyntax.VisitAll(expr, func(node hclsyntax.Node) hcl.Diagnostics {
		if call, ok := node.(*hclsyntax.FunctionCallExpr); ok && (call.Name == "sensitive" || call.Name == "nonsensitive") {
			found = true
		}
		return nil
	})
	return found
}

// explain adds a hint to HCL's own message.
func (s *session) explain(d *hcl.Diagnostic, expr hclsyntax.Expression) string {
	detail := voice(d.Detail)
	if d.Summary == "Invalid index" {
		for _, trav := range expr.Variables() {
			if len(trav) < 3 || trav[2].SourceRange() != *d.Subject {
				continue
			}
			step, ok := trav[1].(hcl.TraverseAttr)
			if !ok {
				continue
			}
			if to := s.p.decls[trav.RootName()+"."+step.Name]; to != nil && to.repeated {
				addr := addressOf(trav)
				return hint(addr+" does not exist", didYouMean(addr, s.p.addresses(to), ""))
			}
		}
	}
	const limit = 2000
	if len(detail) > limit {
		detail = detail[:limit] + " …"
	}
	return detail
}

func deep(v cty.Value, m mark) bool {
	return v.HasMarkDeep(m)
}
