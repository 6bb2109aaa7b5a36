package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/overbrainer/overbrainer/internal/ui"
	"github.com/overbrainer/overbrainer/plan"
)

// planning are the flags of every command that makes a plan.
type planning struct {
	inputs
	targets, replace []string
	destroy          bool
	volumes          bool // destroy: volumes, too
	refresh          bool
	refreshOnly      bool
}

func (o *planning) register(f *flags) {
	o.registerEnding(f)
	f.many(&o.replace, "replace", "ADDR", "run this address again")
	f.boolean(&o.refreshOnly, "refresh-only", "only bring the state up to what exists")
}

// registerEnding declares those flags that mean something to destroying, too.
func (o *planning) registerEnding(f *flags) {
	o.inputs.register(f)
	o.refresh = true
	f.many(&o.targets, "target", "ADDR", "only this address and what it depends on")
	f.boolean(&o.refresh, "refresh", "do not ask the provider what exists")
}

// none refuses the flags that make a plan where there is one already: it is
// executed as it is, so they would say something that does not happen.
func (o *planning) none() error {
	given := ""
	switch {
	case len(o.targets) > 0:
		given = "-target"
	case len(o.replace) > 0:
		given = "-replace"
	case !o.refresh:
		given = "-refresh=false"
	case o.refreshOnly:
		given = "-refresh-only"
	default:
		return nil
	}
	return &usageError{text: given + " makes a plan, and a plan file is executed as it is", hint: "give it to overbrainer plan -out=FILE"}
}

// agree refuses flags of which one says what the other one does not do.
func (o *planning) agree() error {
	for _, addr := range append(append([]string{}, o.targets...), o.replace...) {
		if strings.TrimSpace(addr) == "" {
			return &usageError{text: "an address is empty", hint: "-target and -replace take the address of a run, such as run.train; -target also that of a volume"}
		}
	}
	with := ""
	switch {
	case o.destroy && len(o.replace) > 0:
		return &usageError{text: "-replace does not go together with destroying", hint: "-replace runs an address again"}
	case !o.refreshOnly:
		return nil
	case o.destroy:
		with = "destroying"
	case len(o.replace) > 0:
		with = "-replace"
	case !o.refresh:
		with = "-refresh=false"
	default:
		return nil
	}
	return &usageError{text: "-refresh-only does not go together with " + with, hint: "-refresh-only compares the state with what exists, and does nothing else"}
}

// prepare reads the configuration and starts the providers.
func (a *app) prepare(ctx context.Context, o planning, sources map[string][]byte) (*project, error) {
	if err := o.agree(); err != nil {
		return nil, err
	}
	p, err := a.open(ctx, o.inputs, reading{replace: o.replace, sources: sources, ending: o.destroy})
	if err != nil {
		return nil, err
	}
	if err := p.connect(ctx); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// fold adds the configuration's warnings to a plan.
func (p *project) fold(pl *plan.Plan) {
	var d *diagnosed
	if len(p.warnings) > 0 && errors.As(p.wrong(p.warnings), &d) {
		pl.Diagnostics = append(ui.Diagnostics(d.diags, d.sources), pl.Diagnostics...)
	}
	if pl.Diagnostics == nil {
		pl.Diagnostics = []plan.Diagnostic{}
	}
}

// catalogCache is where a plan leaves the catalog it saw, for the next one to
// tell what moved.
func (a *app) catalogCache() string {
	return filepath.Join(a.dir, ".overbrainer", "cache", "catalog.json")
}

// seenCatalogs reads the catalogs of the last plan. A cache that cannot be
// read is none.
func (a *app) seenCatalogs() map[string]plan.CatalogSeen {
	data, err := os.ReadFile(a.catalogCache())
	if err != nil {
		return nil
	}
	var seen map[string]plan.CatalogSeen
	if json.Unmarshal(data, &seen) != nil {
		return nil
	}
	return seen
}

// rememberCatalogs keeps what a plan saw, with what earlier plans saw of other
// scopes.
func (a *app) rememberCatalogs(seen map[string]plan.CatalogSeen) {
	if len(seen) == 0 {
		return
	}
	all := a.seenCatalogs()
	if all == nil {
		all = map[string]plan.CatalogSeen{}
	}
	for scope, c := range seen {
		all[scope] = c
	}
	data, err := json.Marshal(all)
	if err != nil || os.MkdirAll(filepath.Dir(a.catalogCache()), 0o700) != nil {
		return
	}
	_ = replaceFile(a.catalogCache(), data, 0o600)
}

// unapplyable says why a plan cannot be applied.
func unapplyable(p *plan.Plan) error {
	if p.Applyable {
		return nil
	}
	var wrong []plan.Diagnostic
	for _, d := range p.Diagnostics {
		if d.Severity == "error" {
			wrong = append(wrong, d)
		}
	}
	if len(wrong) > 0 {
		return &problem{code: "plan", message: wrong[0].Summary, diags: wrong}
	}
	for _, c := range p.Checks {
		if c.Status == "fail" || c.Status == "error" {
			return &problem{code: "check", message: "check " + c.Name + ": " + c.Message, hint: c.Where}
		}
	}
	return &problem{code: "plan", message: "this plan cannot be applied"}
}

// now in UTC with whole seconds, as plans are stamped.
func (a *app) stamp() time.Time { return a.now().UTC().Truncate(time.Second) }
