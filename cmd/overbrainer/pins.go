package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/providers/plugin"
)

// pins collects, during init, what is to be pinned: the programs that were
// started and said who they are. What the lock file pins already stays so,
// unless it is to be upgraded.
type pins struct {
	locks   map[string]lock
	upgrade bool
	sums    map[string]string // of the programs that init starts
}

// expected gives the digest that a program has to have to be started: the
// pinned one, or its own where none is or the pin is to move.
func (p *pins) expected(name, path string) (string, error) {
	if sum := p.locks[name].SHA256[platform]; sum != "" && !p.upgrade {
		p.sums[name] = sum
		return sum, nil
	}
	sum, err := plugin.Digest(path)
	if err != nil {
		return "", nil // Start says what is wrong with it
	}
	p.sums[name] = sum
	return sum, nil
}

// note pins a program by what it says of itself.
func (p *pins) note(name string, d providers.Description) error {
	have, sum := p.locks[name], p.sums[name]
	next := lock{Name: name, Version: d.Version, Constraints: have.Constraints, Source: have.Source, SHA256: map[string]string{platform: sum}}
	if have.Version == d.Version {
		// The same release on other platforms keeps its pins.
		sums := maps.Clone(have.SHA256)
		maps.Copy(next.SHA256, withoutKey(sums, platform))
	} else if have.Version != "" && !p.upgrade {
		return &problem{code: "other_provider", message: fmt.Sprintf("provider %s is version %s here, and %s pins %s for other platforms; install that one, or move the pin with overbrainer init -upgrade",
			name, d.Version, lockFile, have.Version)}
	}
	p.locks[name] = next
	return nil
}

func withoutKey(m map[string]string, key string) map[string]string {
	delete(m, key)
	return m
}

// pin writes the lock file: the bundled provider by its version, and every
// other one that the configuration names by the digest of its program.
func (p *project) pin(ctx context.Context) error {
	required := p.cfg.Settings.RequiredProviders
	for _, name := range slices.Sorted(maps.Keys(required)) {
		if name == bundled {
			continue
		}
		if _, err := p.describe(ctx, name); err != nil {
			return err
		}
		l := p.pins.locks[name]
		l.Constraints, l.Source = required[name].Version, required[name].Source
		p.pins.locks[name] = l
	}
	p.pins.locks[bundled] = lock{Name: bundled, Version: version}
	changed, err := p.app.writeLocks(p.pins.locks)
	if changed {
		fmt.Fprintln(p.app.out, "wrote "+lockFile)
	}
	return err
}
