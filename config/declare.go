package config

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// decl is one thing that the configuration declares under a name.
type decl struct {
	kind   string // var, local, secret, volume, target, cap, run, output, check, provider
	name   string
	rng    hcl.Range
	expr   hclsyntax.Expression // of a local
	block  *hclsyntax.Block     // of everything else
	schema *blockSchema

	// edges lead to what the expressions refer to.
	edges []edge
	// repeated: it has for_each or count.
	repeated bool
	// late: its value hangs on runs or volumes.
	late bool
	// bad: it is part of a cycle, and has no value.
	bad bool
	// failed: its instances could not be found.
	failed bool
	// shared holds the values of arguments that are the same in all instances.
	shared map[string]field
}

type edge struct {
	to  *decl
	rng hcl.Range
}

// addr is how expressions name it: var.x, run.train.
func (d *decl) addr() string { return d.kind + "." + d.name }

// what names it in messages, with the block's own word.
func (d *decl) what() string {
	if d.kind == "var" {
		return "variable " + d.name
	}
	return d.addr()
}

// program is a configuration as it was written: declarations, their
// references and order. It does not change once it is loaded, but for the
// values found.
type program struct {
	dir   string
	opt   *Options
	cfg   *Config
	forms map[string]*blockSchema
	// decls by address; order has those that they need before them.
	decls map[string]*decl
	all   []*decl
	order []*decl
	info  map[hclsyntax.Expression]*exprInfo
	ctx   context.Context    // of the call that is under way
	main  []*hclsyntax.Block // overbrainer
	moves []*hclsyntax.Block // moved and removed

	functions map[string]function.Function
	meter     *meter
	files     *tree
	base      *session
	// instances of repeated and single blocks, by declaration.
	volumes map[*decl][]*Volume
	targets map[*decl][]*Target
	caps    map[*decl]*Cap
	runs    map[*decl][]*runInstance
	byAddr  map[string]*runInstance
	sets    map[string]*uploadSet
	found   map[string]existing
	// instances counts the runs of all blocks.
	instances int
	// noProvider: that there is no provider block was said.
	noProvider bool
	// partial: text is missing, so nothing but names is looked at.
	partial bool
}

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
	d.shared = map[string]field{}
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

// names lists what is declared of a kind.
func (p *program) names(kind string) []string {
	var names []string
	for _, d := range p.all {
		if d.kind == kind {
			names = append(names, d.name)
		}
	}
	return names
}

func (p *program) ofKind(kind string) []*decl {
	var out []*decl
	for _, d := range p.all {
		if d.kind == kind {
			out = append(out, d)
		}
	}
	return out
}

func sortedAttrs(body *hclsyntax.Body) []string { return sorted(body.Attributes) }

// headerRange is a block's word and labels.
func headerRange(block *hclsyntax.Block) hcl.Range {
	if n := len(block.LabelRanges); n > 0 {
		return hcl.RangeBetween(block.TypeRange, block.LabelRanges[n-1])
	}
	return block.TypeRange
}

// attrRanges gives the place of each argument of a block and of the blocks in
// it, these as "snapshot.path".
func attrRanges(body *hclsyntax.Body) map[string]hcl.Range {
	ranges := make(map[string]hcl.Range, len(body.Attributes))
	for name, attr := range body.Attributes {
		ranges[name] = attr.SrcRange
	}
	for _, block := range body.Blocks {
		for name, rng := range attrRanges(block.Body) {
			ranges[block.Type+"."+name] = rng
		}
	}
	return ranges
}

// instanceAddr is the address of an instance: run.a["x"], run.a[0], run.a.
func instanceAddr(addr string, key any) string {
	switch k := key.(type) {
	case string:
		return addr + "[" + quote(k) + "]"
	case int:
		return fmt.Sprintf("%s[%d]", addr, k)
	}
	return addr
}

// quote writes a string as HCL does.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case (r == '$' || r == '%') && strings.HasPrefix(s[i+1:], "{"):
			b.WriteRune(r)
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// secretType is the type of secret.NAME: it holds the block, never a value.
var secretType = cty.Capsule("secret", secretReflect)
