package config

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// changes reads the moved and removed blocks.
func (s *session) changes() {
	from := map[string]hcl.Range{}
	for _, block := range s.p.moves {
		old, rng, ok := s.movable(block, "from")
		if !ok {
			continue
		}
		if first, twice := from[old]; twice {
			s.report(at(rng, "moved twice", fmt.Sprintf("%s is moved or removed at %s already", old, place(first))))
			continue
		}
		from[old] = rng
		if s.declaredStill(old) {
			s.report(at(rng, "still declared", fmt.Sprintf("%s is %s here, and is still declared; take its block out", old, block.Type)))
			continue
		}
		if block.Type == "removed" {
			s.removed(block, old)
			continue
		}
		to, toRange, ok := s.movable(block, "to")
		if !ok {
			continue
		}
		if kindOf(to) != kindOf(old) {
			s.report(at(toRange, "another kind of block", fmt.Sprintf("%s cannot become %s: a %s stays a %s", old, to, kindOf(old), kindOf(old))))
			continue
		}
		s.p.cfg.Moved = append(s.p.cfg.Moved, Move{From: old, To: to, Range: headerRange(block)})
	}
	s.moveCircles(from)
}

func (s *session) moveCircles(ranges map[string]hcl.Range) {
	next := map[string]string{}
	for _, m := range s.p.cfg.Moved {
		next[m.From] = m.To
	}
	for _, m := range s.p.cfg.Moved {
		at0 := m.From
		for range len(next) + 1 {
			to, ok := next[at0]
			if !ok {
				break
			}
			if to == m.From {
				s.report(at(ranges[m.From], "circle of moves", m.From+" is moved to itself"))
				break
			}
			at0 = to
		}
	}
}

func kindOf(addr string) string {
	kind, _, _ := strings.Cut(addr, ".")
	return kind
}

// movable reads an address of a run or volume.
func (s *session) movable(block *hclsyntax.Block, name string) (string, hcl.Range, bool) {
	attr := block.Body.Attributes[name]
	if attr == nil {
		return "", hcl.Range{}, false
	}
	rng := attr.Expr.Range()
	trav, diags := hcl.AbsTraversalForExpr(attr.Expr)
	if diags.HasErrors() || !isAddress(trav) {
		s.report(at(rng, "not an address", fmt.Sprintf("`%s` is the address of a run or volume, without quotes, such as %s = run.train[\"a\"]", name, name)))
		return "", rng, false
	}
	return addressOf(trav), rng, true
}

// isAddress reports whether a traversal is the address of a run or volume, or of
// one instance.
func isAddress(trav hcl.Traversal) bool {
	if len(trav) != 2 && len(trav) != 3 || trav.RootName() != "run" && trav.RootName() != "volume" {
		return false
	}
	_, ok := trav[1].(hcl.TraverseAttr)
	if !ok || len(trav) == 2 {
		return ok
	}
	index, ok := trav[2].(hcl.TraverseIndex)
	switch {
	case !ok:
	case index.Key.Type() == cty.Number:
		n := index.Key.AsBigFloat()
		ok = n.IsInt() && n.Sign() >= 0
	default:
		ok = index.Key.Type() == cty.String
	}
	return ok
}

// Address reads the address of a run or volume as people write it, and gives it as
// the state has it; ok is false where no block can have it.
func Address(text string) (kind, address string, ok bool) {
	trav, diags := hclsyntax.ParseTraversalAbs([]byte(text), "", hcl.InitialPos)
	if diags.HasErrors() || !isAddress(trav) {
		return "", "", false
	}
	return trav.RootName(), addressOf(trav), true
}

// declaredStill reports whether an address is part of the configuration.
func (s *session) declaredStill(addr string) bool {
	for _, d := range s.p.all {
		if d.kind != kindOf(addr) || addr != d.addr() && !strings.HasPrefix(addr, d.addr()+"[") {
			continue
		}
		if addr == d.addr() {
			return !d.repeated
		}
		for _, ri := range s.p.runs[d] {
			if ri.run.Address == addr {
				return true
			}
		}
		for _, v := range s.p.volumes[d] {
			if v.Address == addr {
				return true
			}
		}
	}
	return false
}

func (s *session) removed(block *hclsyntax.Block, addr string) {
	out := Removal{From: addr, Destroy: true, Range: headerRange(block)}
	bodies := []*hclsyntax.Body{block.Body}
	for _, b := range block.Body.Blocks {
		if b.Type == "lifecycle" {
			bodies = append(bodies, b.Body)
		}
	}
	for _, body := range bodies {
		if v, diag := constant(body, "destroy", cty.Bool); diag != nil {
			s.report(diag)
		} else if v != nil && !v.IsNull() {
			out.Destroy = v.True()
		}
	}
	s.p.cfg.Removed = append(s.p.cfg.Removed, out)
}
