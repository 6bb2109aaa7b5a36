package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

func graphCommand(a *app) *command {
	var in inputs
	return &command{
		name:     "graph",
		synopsis: "what depends on what, in DOT",
		text: `Prints the runs, volumes, targets and caps of the configuration and their
		dependencies in the language of Graphviz.`,
		example:  "$ overbrainer graph | dot -Tsvg > graph.svg",
		register: func(f *flags) { in.register(f) },
		run: func(ctx context.Context, _ []string) error {
			p, err := a.open(ctx, in, reading{})
			if err != nil {
				return err
			}
			defer p.close()
			p.warn()
			_, err = fmt.Fprint(a.out, p.dot())
			return err
		},
	}
}

// dot writes the graph; the same configuration gives the same text.
func (p *project) dot() string {
	var text strings.Builder
	text.WriteString("digraph overbrainer {\n  rankdir = \"RL\";\n  node [fontname = \"sans-serif\", shape = \"box\"];\n")
	node := func(name, shape string) { fmt.Fprintf(&text, "  %q [shape = %q];\n", name, shape) }
	edge := func(from, to string) { fmt.Fprintf(&text, "  %q -> %q;\n", from, to) }
	for _, name := range slices.Sorted(maps.Keys(p.cfg.Volumes)) {
		node(name, "cylinder")
	}
	for _, name := range slices.Sorted(maps.Keys(p.cfg.Targets)) {
		node(name, "component")
		if v := p.cfg.Targets[name].Volume; v != nil {
			edge(name, v.Address)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.cfg.Caps)) {
		node(name, "note")
	}
	for _, r := range p.cfg.Runs {
		node(r.Address, "box")
		edge(r.Address, r.Target.Address)
		edge(r.Address, r.Cap.Address)
		for _, d := range r.DependsOn {
			edge(r.Address, d)
		}
	}
	text.WriteString("}\n")
	return text.String()
}
