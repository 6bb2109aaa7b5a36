package config

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// link checks every expression's references and fills the edges between
// declarations.
func (p *program) link() hcl.Diagnostics {
	var diags hcl.Diagnostics
	for _, d := range p.all {
		if d.kind == "local" {
			diags = append(diags, p.resolve(d, d.expr, scope{})...)
			continue
		}
		body := d.block.Body
		sc := scope{plan: d.kind == "check"}
		sc.each = d.repeated && body.Attributes["for_each"] != nil
		sc.count = d.repeated && body.Attributes["count"] != nil
		diags = append(diags, p.linkBody(d, body, d.schema, sc)...)
	}
	return diags
}

func (p *program) linkBody(d *decl, body *hclsyntax.Body, schema *blockSchema, sc scope) hcl.Diagnostics {
	var diags hcl.Diagnostics
	owner := d
	if d.kind == "var" {
		owner = nil // a variable's value does not hang on its validation
	}
	for _, name := range sortedAttrs(body) {
		attr := body.Attributes[name]
		form := schema.attr(name)
		inner := sc
		switch {
		case schema.constant:
			continue
		case schema.open: // a provider's block
			inner.secrets = true
		case form == nil:
			continue
		case form.static:
			if name == "depends_on" {
				diags = append(diags, p.linkDependsOn(d, attr)...)
			}
			continue
		default:
			inner.secrets = form.secret
		}
		if name == "for_each" || name == "count" {
			inner.each, inner.count = false, false
		}
		diags = append(diags, p.resolve(owner, attr.Expr, inner)...)
	}
	for _, block := range body.Blocks {
		nested := schema.blocks[block.Type]
		inner := block.Body
		innerScope := sc
		if block.Type == "dynamic" && len(block.Labels) == 1 {
			nested, inner = schema.blocks[block.Labels[0]], contentOf(block)
			if each := block.Body.Attributes["for_each"]; each != nil {
				diags = append(diags, p.resolve(owner, each.Expr, sc)...)
			}
			innerScope.extra = append(slices.Clone(sc.extra), iteratorOf(block))
		}
		if nested != nil && inner != nil {
			diags = append(diags, p.linkBody(d, inner, nested, innerScope)...)
		}
	}
	return diags
}

// iteratorOf is the name that a dynamic block's elements have in its content.
func iteratorOf(block *hclsyntax.Block) string {
	if attr := block.Body.Attributes["iterator"]; attr != nil {
		if name := hcl.ExprAsKeyword(attr.Expr); name != "" {
			return name
		}
	}
	return block.Labels[0]
}

// linkDependsOn reads the references of depends_on.
func (p *program) linkDependsOn(d *decl, attr *hclsyntax.Attribute) hcl.Diagnostics {
	var diags hcl.Diagnostics
	exprs, bad := hcl.ExprList(attr.Expr)
	if bad.HasErrors() {
		return hcl.Diagnostics{at(attr.Expr.Range(), "not a list of references", "depends_on is a list of runs and volumes, without quotes: depends_on = [run.first]")}
	}
	for _, expr := range exprs {
		trav, bad := hcl.AbsTraversalForExpr(expr)
		if bad.HasErrors() || trav.RootName() != "run" && trav.RootName() != "volume" {
			diags = append(diags, at(expr.Range(), "not a run or volume", "depends_on is a list of runs and volumes, without quotes: depends_on = [run.first]"))
			continue
		}
		to, diag := p.declared(trav, scope{})
		if diag != nil {
			diags = append(diags, diag)
			continue
		}
		if d.block.Body.Attributes["depends_on"] != nil {
			d.edges = append(d.edges, edge{to: to, rng: trav.SourceRange()})
		}
	}
	return diags
}
