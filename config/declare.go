package config

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// blockKinds maps a block's word to the first part of its address.
var blockKinds = map[string]string{
	"variable": "var", "output": "output", "secret": "secret", "volume": "volume", "target": "target",
	"cap": "cap", "run": "run", "check": "check", "provider": "provider",
}

// declare collects what the bodies declare and checks every name in them.
func (p *program) declare(bodies []*hclsyntax.Body) hcl.Diagnostics {
	var diags hcl.Diagnostics
	for _, body := range bodies {
		for _, name := range sortedAttrs(body) {
			diags = append(diags, p.strayArgument(body.Attributes[name]))
		}
		for _, block := range body.Blocks {
			diags = append(diags, p.declareBlock(block)...)
		}
	}
	return diags
}

// strayArgument says what to do with an argument outside of all blocks.
func (p *program) strayArgument(attr *hclsyntax.Attribute) *hcl.Diagnostic {
	if form := p.forms[attr.Name]; form != nil {
		return at(attr.NameRange, "a block, not an argument",
			fmt.Sprintf("`%s` is a block: write it without the equals sign, as in %s", attr.Name, form.example))
	}
	return at(attr.NameRange, "argument outside of a block",
		fmt.Sprintf("`%s` stands outside of all blocks; a named value is written as locals { %s = … }, values of variables belong into overbrainer.vars.hcl", attr.Name, attr.Name))
}

func (p *program) declareBlock(block *hclsyntax.Block) hcl.Diagnostics {
	form := p.forms[block.Type]
	if form == nil {
		detail := fmt.Sprintf("there is no block `%s`", block.Type)
		return hcl.Diagnostics{at(block.TypeRange, "unknown block", hint(detail, p.blockHint(block.Type)))}
	}
	if diags := checkLabels(block, form); diags.HasErrors() {
		return diags
	}
	name := ""
	if len(block.Labels) > 0 {
		name = block.Labels[0]
		if !hclsyntax.ValidIdentifier(name) {
			return hcl.Diagnostics{at(block.LabelRanges[0], "not a name",
				fmt.Sprintf("%q is no name: a name begins with a letter and goes on with letters, digits, _ and -", name))}
		}
	}
	what := block.Type
	if name != "" {
		what += " " + name
		if kind := blockKinds[block.Type]; kind == block.Type {
			what = kind + "." + name
		}
	}
	diags := checkNames(what, block.Body, form, headerRange(block), p.partial)
	switch block.Type {
	case "overbrainer":
		p.main = append(p.main, block)
		if len(p.main) > 1 {
			diags = append(diags, at(block.TypeRange, "second overbrainer block", "there is one at "+place(p.main[0].TypeRange)+" already; one is enough"))
		}
		return diags
	case "moved", "removed":
		p.moves = append(p.moves, block)
		return diags
	case "locals":
		for _, b := range block.Body.Blocks {
			diags = append(diags, at(b.TypeRange, "a block in locals", fmt.Sprintf("locals hold named values only: write `%s = …`", b.Type)))
		}
		for _, name := range sortedAttrs(block.Body) {
			attr := block.Body.Attributes[name]
			diags = append(diags, p.add(&decl{kind: "local", name: name, rng: attr.NameRange, expr: attr.Expr})...)
		}
		return diags
	}
	if block.Type == "provider" {
		for _, b := range block.Body.Blocks {
			diags = append(diags, at(b.TypeRange, "a block in a provider block", fmt.Sprintf("a provider block holds arguments only: write `%s = …`", b.Type)))
		}
	}
	d := &decl{kind: blockKinds[block.Type], name: name, rng: headerRange(block), block: block, schema: form}
	d.repeated = form.repeats && (block.Body.Attributes["for_each"] != nil || block.Body.Attributes["count"] != nil)
	return append(diags, p.add(d)...)
}

func (p *program) add(d *decl) hcl.Diagnostics {
	if first := p.decls[d.addr()]; first != nil {
		return hcl.Diagnostics{at(d.rng, "declared twice", fmt.Sprintf("%s is declared here and at %s; a name may be declared once over all files", d.what(), place(first.rng)))}
	}
	d.shared, d.refs = map[string]field{}, map[string]string{}
	p.decls[d.addr()] = d
	p.all = append(p.all, d)
	return nil
}

// blockHint says what was probably meant by a block's word.
func (p *program) blockHint(word string) string {
	switch word {
	case "terraform", "tofu":
		return "did you mean `overbrainer`?"
	case "resource", "data", "module":
		return "overbrainer has " + list(sorted(p.forms)) + "; a job on a rented machine is a `run`"
	case "job", "jobs", "task", "tasks", "pod", "pods":
		return "a job on a rented machine is a `run`, what it runs on a `target`"
	case "env", "snapshot", "lifecycle", "backend", "validation", "assert":
		return "it belongs into another block"
	}
	return didYouMean(word, sorted(p.forms), "")
}

func sortedAttrs(body *hclsyntax.Body) []string { return sorted(body.Attributes) }
