package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/overbrainer/overbrainer/config"
	"github.com/overbrainer/overbrainer/plan"
)

// knownTargets refuses addresses that -target and -replace cannot take: those
// that are neither in the configuration nor in the state, and those of blocks
// that are no work by themselves.
func (p *project) knownTargets(o planning) error {
	runs, volumes := []string{}, []string{}
	for _, addr := range p.st.Addresses() {
		if p.st.Resources[addr].Volume != nil {
			volumes = append(volumes, addr)
		} else {
			runs = append(runs, addr)
		}
	}
	for _, r := range p.cfg.Runs {
		runs = append(runs, r.Address)
	}
	volumes = append(volumes, slices.Collect(maps.Keys(p.cfg.Volumes))...)
	if err := p.known("-target", "a run or a volume", o.targets, append(slices.Clone(runs), volumes...)); err != nil {
		return err
	}
	return p.known("-replace", "a run", o.replace, runs)
}

// known refuses what is not among the addresses that a flag can take.
func (p *project) known(flag, takes string, wanted, addresses []string) error {
	for _, w := range wanted {
		if slices.ContainsFunc(addresses, func(a string) bool { return a == w || strings.HasPrefix(a, w+"[") }) {
			continue
		}
		e := &usageError{text: "there is no " + w + " in the configuration or the state"}
		near := nearestAddress(w, addresses)
		switch users := p.runsOf(w); {
		case p.declares(w):
			e.text = flag + "=" + w + ": it takes the address of " + takes
			if len(users) > 0 {
				e.hint = "runs with " + w + ": " + strings.Join(users, ", ")
			}
		case near != "":
			e.hint = "did you mean " + plan.ShellWord(near) + "?"
		}
		return e
	}
	return nil
}

// declares reports whether the configuration has a block of that address.
func (p *project) declares(addr string) bool {
	kind, name, _ := strings.Cut(addr, ".")
	switch kind {
	case "target":
		return has(p.cfg.Targets, addr)
	case "cap":
		return has(p.cfg.Caps, addr)
	case "volume":
		return has(p.cfg.Volumes, addr)
	case "secret":
		return has(p.cfg.Secrets, name)
	case "var", "variable":
		return has(p.cfg.Variables, name)
	case "output":
		return has(p.cfg.Outputs, name)
	case "provider":
		return has(p.cfg.Providers, name)
	case "check":
		return slices.ContainsFunc(p.cfg.Checks, func(c *config.CheckBlock) bool { return c.Name == name })
	}
	return false
}

// has reports whether a key is there, or one of its instances.
func has[V any](m map[string]V, key string) bool {
	for k := range m {
		if k == key || strings.HasPrefix(k, key+"[") {
			return true
		}
	}
	return false
}

// runsOf gives the first runs that use a target or a cap.
func (p *project) runsOf(addr string) []string {
	var users []string
	for _, r := range p.cfg.Runs {
		if r.Target.Address != addr && r.Cap.Address != addr {
			continue
		}
		if len(users) == 3 {
			return append(users, "…")
		}
		users = append(users, r.Address)
	}
	return users
}
