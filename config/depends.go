package config

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// readResume reads the run whose snapshot this one starts from.
func (s *session) readResume(r *reader, run *Run) {
	f := r.get("resume_from")
	if !f.set || f.bad {
		return
	}
	addr, ok := s.referenced(r, f, "run")
	if !ok {
		return
	}
	run.DependsOn = append(run.DependsOn, addr)
	run.ResumeFrom = addr
	if _, ended := s.resultOf(addr); !ended {
		run.Late = insert(run.Late, "resume_from")
	}
}

// dependsOn gives the addresses that depends_on names.
func (s *session) dependsOn(d *decl) []string {
	attr := d.block.Body.Attributes["depends_on"]
	if attr == nil {
		return nil
	}
	var out []string
	exprs, _ := hcl.ExprList(attr.Expr)
	for _, expr := range exprs {
		trav, diags := hcl.AbsTraversalForExpr(expr)
		if diags.HasErrors() || len(trav) < 2 {
			continue
		}
		step, ok := trav[1].(hcl.TraverseAttr)
		if !ok {
			continue
		}
		to := s.p.decls[trav.RootName()+"."+step.Name]
		if to == nil {
			continue
		}
		found := s.p.addresses(to)
		if len(trav) > 2 {
			want := addressOf(trav)
			if !slices.Contains(found, want) {
				if !to.failed && !to.bad {
					s.report(at(expr.Range(), "no such instance", hint(want+" does not exist", didYouMean(want, found, ""))))
				}
				continue
			}
			found = []string{want}
		}
		out = append(out, found...)
	}
	return out
}

// addresses lists the instances of a block.
func (p *program) addresses(d *decl) []string {
	var out []string
	for _, ri := range p.runs[d] {
		out = append(out, ri.run.Address)
	}
	for _, v := range p.volumes[d] {
		out = append(out, v.Address)
	}
	for _, t := range p.targets[d] {
		out = append(out, t.Address)
	}
	return out
}

// addressOf writes a reference as an address.
func addressOf(trav hcl.Traversal) string {
	addr := trav.RootName() + "." + trav[1].(hcl.TraverseAttr).Name
	if len(trav) < 3 {
		return addr
	}
	index, ok := trav[2].(hcl.TraverseIndex)
	if !ok {
		return addr
	}
	if index.Key.Type() == cty.Number {
		n, _ := index.Key.AsBigFloat().Int64()
		return instanceAddr(addr, int(n))
	}
	if index.Key.Type() == cty.String {
		return instanceAddr(addr, index.Key.AsString())
	}
	return addr
}
