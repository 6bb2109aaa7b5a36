package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// sort puts declarations after what they refer to and reports circles.
func (p *program) sort() hcl.Diagnostics {
	var diags hcl.Diagnostics
	type node struct {
		index, low int
		on         bool
	}
	nodes := map[*decl]*node{}
	var stack []*decl
	var visit func(d *decl) *node
	visit = func(d *decl) *node {
		n := &node{index: len(nodes), low: len(nodes), on: true}
		nodes[d] = n
		stack = append(stack, d)
		self := false
		for _, e := range d.edges {
			self = self || e.to == d
			switch m := nodes[e.to]; {
			case m == nil:
				n.low = min(n.low, visit(e.to).low)
			case m.on:
				n.low = min(n.low, m.index)
			}
		}
		if n.low != n.index {
			return n
		}
		i := slices.Index(stack, d)
		group := slices.Clone(stack[i:])
		stack = stack[:i]
		for _, member := range group {
			nodes[member].on = false
			member.bad = len(group) > 1 || self
			p.order = append(p.order, member)
		}
		if len(group) > 1 || self {
			diags = append(diags, circle(group))
		}
		return n
	}
	for _, d := range p.all {
		if nodes[d] == nil {
			visit(d)
		}
	}
	for _, d := range p.order {
		d.late = d.kind == "run" || d.kind == "volume"
		for _, e := range d.edges {
			d.late = d.late || e.to.late
		}
	}
	return diags
}

// circle describes a shortest way round within a group of declarations that
// all refer to each other.
func circle(group []*decl) *hcl.Diagnostic {
	slices.SortFunc(group, func(a, b *decl) int { return strings.Compare(a.addr(), b.addr()) })
	start := group[0]
	member := map[*decl]bool{}
	for _, d := range group {
		member[d] = true
	}
	type from struct {
		d *decl
		e edge
	}
	came := map[*decl]from{}
	queue := []*decl{start}
	for len(queue) > 0 {
		d := queue[0]
		queue = queue[1:]
		for _, e := range d.edges {
			if e.to == start {
				names := []string{start.addr()}
				first := e
				for back := d; back != start; back = came[back].d {
					names = append(names, back.addr())
					first = came[back].e
				}
				names = append(names, start.addr())
				slices.Reverse(names)
				if d == start {
					return at(first.rng, "refers to itself", fmt.Sprintf("%s is computed from itself", start.addr()))
				}
				return at(first.rng, "circle of references", fmt.Sprintf("%s: none of them can come first", strings.Join(names, " → ")))
			}
			if _, seen := came[e.to]; !seen && member[e.to] {
				came[e.to] = from{d, e}
				queue = append(queue, e.to)
			}
		}
	}
	return at(start.rng, "circle of references", start.addr()+" is computed from itself")
}
