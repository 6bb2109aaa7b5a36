package config

import (
	"context"

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
	// refs holds the addresses that shared references lead to, "" for faults.
	refs map[string]string
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
	shared    map[*sharedExpr]cty.Value // of the session that evaluates
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

// secretType is the type of secret.NAME: it holds the block, never a value.
var secretType = cty.Capsule("secret", secretReflect)
