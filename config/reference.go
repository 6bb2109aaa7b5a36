package config

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// exprInfo is what an expression refers to.
type exprInfo struct {
	refs []*decl
	// each: it differs between instances.
	each bool
	// hides: it calls sensitive() or nonsensitive().
	hides bool
	// bad: it has a fault that is reported; it is not evaluated.
	bad bool
}

// scope says which names an expression may use besides declarations.
type scope struct {
	each, count bool // for_each, count
	plan        bool
	// secrets: secret.X may stand here.
	secrets bool
	// extra names: iterators of dynamic blocks.
	extra []string
}

// attributes are what expressions may read of a block.
var attributes = map[string][]string{
	"run":    {"address", "id", "state", "dir", "output_dir", "cost_usd", "seconds", "gpu_type", "metrics"},
	"volume": {"address", "id", "name", "size_gb", "data_center"},
	"target": {
		"address", "provider", "gpu_types", "min_vram_gb", "max_price_per_hour", "gpu_count", "data_centers", "cloud", "image",
		"template", "registry", "container_disk_gb", "volume", "min_cuda", "model", "install_sshd", "ready_timeout", "wait_for_stock",
	},
	"cap": {
		"address", "max_hours", "max_cost_usd", "max_total_usd", "boot_grace", "retrieve_grace", "overrun_hours", "stall_after",
		"max_volume_gb", "expected_hours",
	},
	"each":        {"key", "value"},
	"count":       {"index"},
	"path":        {"root", "cwd"},
	"overbrainer": {"version"},
	"plan":        {"max_cost_usd", "hourly_usd", "monthly_storage_usd", "adds", "changes", "destroys", "runs"},
}

// resolve checks what an expression refers to, remembers it, and adds the
// edges to the declaration that the expression belongs to. Then it wraps parts
// of the expression: from there on they are not what was written.
func (p *program) resolve(d *decl, expr hclsyntax.Expression, sc scope) hcl.Diagnostics {
	info := &exprInfo{}
	p.info[expr] = info
	var diags hcl.Diagnostics
	for _, trav := range expr.Variables() {
		to, usesEach, diag := p.reference(expr, trav, sc)
		info.each = info.each || usesEach
		if diag != nil {
			diags = append(diags, diag)
			continue
		}
		if to == nil {
			continue
		}
		if !slices.Contains(info.refs, to) {
			info.refs = append(info.refs, to)
		}
		if d != nil {
			d.edges = append(d.edges, edge{to: to, rng: trav.SourceRange()})
		}
	}
	diags = append(diags, p.checkCalls(expr, sc.secrets)...)
	info.bad = diags.HasErrors()
	info.hides = callsSensitive(expr)
	p.guard(expr)
	p.share(expr, sc)
	return diags
}

// reference checks one name with what follows it.
func (p *program) reference(expr hclsyntax.Expression, trav hcl.Traversal, sc scope) (to *decl, each bool, diag *hcl.Diagnostic) {
	root, rng := trav.RootName(), trav.SourceRange()
	switch root {
	case "var", "local", "secret", "volume", "target", "cap", "run":
		to, diag = p.declared(trav, sc)
		return to, false, diag
	case "each":
		if !sc.each {
			return nil, false, at(rng, "each without for_each", "`each` is there only in a block with for_each")
		}
		return nil, true, attributeOf(trav)
	case "count":
		if !sc.count {
			return nil, false, at(rng, "count without count", "`count.index` is there only in a block with count")
		}
		return nil, true, attributeOf(trav)
	case "plan":
		if !sc.plan {
			return nil, false, at(rng, "plan outside of a check", "`plan` is there only in a check block: the plan is made from everything else")
		}
		return nil, false, attributeOf(trav)
	case "path", "overbrainer":
		return nil, false, attributeOf(trav)
	}
	if slices.Contains(sc.extra, root) {
		return nil, true, nil
	}
	return nil, false, p.unknownName(expr, trav, sc)
}

// declared finds the declaration that a reference names.
func (p *program) declared(trav hcl.Traversal, sc scope) (*decl, *hcl.Diagnostic) {
	root, rng := trav.RootName(), trav.SourceRange()
	var step hcl.TraverseAttr
	ok := len(trav) > 1
	if ok {
		step, ok = trav[1].(hcl.TraverseAttr)
	}
	if !ok {
		return nil, at(rng, "a name is missing", hint(fmt.Sprintf("after `%s` comes a name: %s.NAME", root, root), didYouMean("", p.names(root), root+".")))
	}
	to := p.decls[root+"."+step.Name]
	if to == nil {
		detail := fmt.Sprintf("%s.%s is not declared", root, step.Name)
		more := didYouMean(step.Name, p.names(root), root+".")
		if root == "local" && p.decls["var."+step.Name] != nil {
			more = "did you mean `var." + step.Name + "`?"
		} else if root == "var" && p.decls["local."+step.Name] != nil {
			more = "did you mean `local." + step.Name + "`?"
		}
		return nil, at(rng, "not declared", hint(detail, more))
	}
	if root == "secret" && !sc.secrets {
		return nil, at(rng, "a secret in a wrong place",
			fmt.Sprintf("secret.%s may stand in `secrets` of a run and in sensitive arguments of a provider only, so that its value can be kept out of everything else", step.Name))
	}
	if root == "secret" && len(trav) > 2 {
		return nil, at(rng, "a secret has no attributes", fmt.Sprintf("write secret.%s and nothing after it", step.Name))
	}
	return to, memberOf(to, trav)
}

// memberOf checks what comes after run.NAME and the like.
func memberOf(to *decl, trav hcl.Traversal) *hcl.Diagnostic {
	names := attributes[to.kind]
	if names == nil || len(trav) < 3 {
		return nil
	}
	next := 2
	_, indexed := trav[2].(hcl.TraverseIndex)
	switch {
	case to.repeated && !indexed:
		return at(trav.SourceRange(), "a key is missing", fmt.Sprintf("%s has for_each or count, so there are several: name one of them, as in %s[each.key], or all with a for expression", to.addr(), to.addr()))
	case !to.repeated && indexed:
		return at(trav.SourceRange(), "there is only one", fmt.Sprintf("%s has neither for_each nor count: write %s without a key", to.addr(), to.addr()))
	case to.repeated:
		next = 3
	}
	if len(trav) <= next {
		return nil
	}
	if step, ok := trav[next].(hcl.TraverseAttr); ok && !slices.Contains(names, step.Name) {
		return at(step.SrcRange, "no such attribute", hint(fmt.Sprintf("a %s has no attribute `%s`", to.kind, step.Name), didYouMean(step.Name, names, "")))
	}
	return nil
}

// attributeOf checks what comes after each, count, path, overbrainer and plan.
func attributeOf(trav hcl.Traversal) *hcl.Diagnostic {
	root := trav.RootName()
	names := attributes[root]
	if len(trav) < 2 {
		return at(trav.SourceRange(), "a name is missing", fmt.Sprintf("after `%s` comes one of %s", root, list(names)))
	}
	if step, ok := trav[1].(hcl.TraverseAttr); !ok || !slices.Contains(names, step.Name) {
		return at(trav.SourceRange(), "no such attribute", hint(fmt.Sprintf("`%s` has no attribute `%s`", root, step.Name), didYouMean(step.Name, names, root+".")))
	}
	return nil
}
