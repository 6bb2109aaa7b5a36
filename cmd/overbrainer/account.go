package main

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/overbrainer/overbrainer/config"
	"github.com/overbrainer/overbrainer/internal/money"
	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/state"
)

// account is what the commands that only look at a provider need: the provider
// of the project, or the bundled one where there is no configuration.
type account struct {
	*project
	name     string
	provider providers.Provider
}

// lookAt opens the provider named by -provider, or the only one.
func (a *app) lookAt(ctx context.Context, in inputs, name string) (*account, error) {
	return a.lookAtWith(ctx, in, name, reading{ending: true, unread: true})
}

func (a *app) lookAtWith(ctx context.Context, in inputs, name string, how reading) (*account, error) {
	p, err := a.openLoosely(ctx, in, how)
	if err != nil {
		return nil, err
	}
	if name == "" {
		if name, err = p.onlyProvider(); err != nil {
			p.close()
			return nil, err
		}
	}
	if err := p.configure(ctx, map[string]bool{name: true}); err != nil {
		p.close()
		return nil, err
	}
	p.warn()
	return &account{project: p, name: name, provider: p.rented[name].Provider}, nil
}

func (p *project) onlyProvider() (string, error) {
	var names []string
	for name := range p.cfg.Providers {
		names = append(names, name)
	}
	slices.Sort(names)
	switch len(names) {
	case 0:
		return bundled, nil
	case 1:
		return names[0], nil
	}
	return "", &usageError{text: "the configuration has several providers", hint: "-provider takes one of: " + strings.Join(names, ", ")}
}

// openLoosely reads the configuration where there is one.
func (a *app) openLoosely(ctx context.Context, in inputs, how reading) (*project, error) {
	if a.hasConfiguration() {
		return a.open(ctx, in, how)
	}
	p := &project{app: a, store: a.store(0), cfg: &config.Config{Dir: a.dir}}
	p.init()
	var err error
	if p.st, err = p.store.Read(ctx); err != nil && how.blind {
		p.st, err = state.New(""), nil
	}
	return p, err
}

func (a *app) hasConfiguration() bool {
	entries, err := os.ReadDir(a.dir)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		return e.Name() == "overbrainer.hcl" || strings.HasSuffix(e.Name(), ".ob.hcl")
	})
}

// providerFlag declares -provider.
func providerFlag(f *flags, to *string) {
	f.text(to, "provider", "NAME", "which provider, where the configuration has several")
}

func figure(v float64) string {
	if v <= 0 {
		return "-"
	}
	return strings.TrimPrefix(money.Price(v), "$")
}
