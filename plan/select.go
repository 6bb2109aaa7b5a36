package plan

import (
	"fmt"
	"slices"
	"strings"
)

// names reports whether a flag's address means this one.
func names(flag, addr string) bool { return flag == addr || flag == blockOf(addr) }

func namesAny(flags []string, addr string) bool {
	for _, f := range flags {
		if names(f, addr) {
			return true
		}
	}
	return false
}

// selectTargets keeps the steps that -target asks for and what they depend
// on, and says when -target or -replace names nothing.
func (b *builder) selectTargets() {
	known := map[string]string{}
	for _, s := range b.p.Steps {
		known[s.Address], known[blockOf(s.Address)] = "", ""
	}
	for _, flag := range []struct {
		name   string
		values []string
	}{{"-target", b.in.Targets}, {"-replace", b.in.Replace}} {
		for _, addr := range flag.values {
			if _, ok := known[addr]; !ok {
				b.error(fmt.Sprintf("%s=%s names nothing", flag.name, addr), hint(addr, known))
			}
		}
	}
	if len(b.in.Targets) == 0 {
		return
	}
	byAddress := map[string]*Step{}
	for _, s := range b.p.Steps {
		byAddress[s.Address] = s
	}
	keep := map[string]bool{}
	var mark func(addr string)
	mark = func(addr string) {
		if s := byAddress[addr]; s != nil && !keep[addr] {
			keep[addr] = true
			for _, dep := range s.DependsOn {
				mark(dep)
			}
		}
	}
	for _, s := range b.p.Steps {
		if namesAny(b.in.Targets, s.Address) {
			mark(s.Address)
		}
	}
	kept := []*Step{}
	for _, s := range b.p.Steps {
		if keep[s.Address] {
			kept = append(kept, s)
		} else {
			delete(b.p.Offers, s.Address)
		}
	}
	b.p.Steps = kept
	for _, addr := range b.in.Replace {
		if !slices.ContainsFunc(kept, func(s *Step) bool { return names(addr, s.Address) }) {
			b.error(fmt.Sprintf("-replace=%s is outside of what -target asks for", ShellWord(addr)), "Name it with -target, too, or leave one of the two out.")
		}
	}
	b.warn("the plan is limited by -target", "Other resources may need changes, too; run again without -target afterwards.")
}

func hint(name string, known map[string]string) string {
	if near := nearest(name, known, 3); len(near) > 0 {
		return "Did you mean " + or(near) + "?"
	}
	if len(known) == 0 {
		return "There is nothing in the configuration or the state."
	}
	return "There are " + strings.Join(sortedKeys(known), ", ") + "."
}
