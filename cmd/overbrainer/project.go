package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/hashicorp/hcl/v2"

	"github.com/overbrainer/overbrainer/apply"
	"github.com/overbrainer/overbrainer/config"
	"github.com/overbrainer/overbrainer/internal/ui"
	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/state"
)

// project is a directory with its configuration read, its state open and the
// providers that it needs running.
type project struct {
	app      *app
	store    *projectStore
	st       *state.State
	cfg      *config.Config
	warnings hcl.Diagnostics

	mu       sync.Mutex // guards procs and versions
	procs    map[string]*process
	versions map[string]string // of the providers whose schema was asked
	rented   map[string]apply.Rented
	// pins takes what init pins; nil for every other command.
	pins *pins
}

// inputs are the flags of every command that reads the configuration.
type inputs struct {
	vars, files []string
	ask         bool
}

func (in *inputs) register(f *flags) {
	in.ask = true
	f.many(&in.vars, "var", "NAME=VALUE", "the value of a variable")
	f.many(&in.files, "var-file", "FILE", "values of variables")
	f.boolean(&in.ask, "input", "never ask for a value")
}

// reading says how a configuration is read.
type reading struct {
	replace []string          // addresses that are to run again
	sources map[string][]byte // where not nil, instead of the directory's files
	// ending: for a command that ends or looks at what there is. It does not
	// need what runs left behind, so a metric that is missing cannot keep it
	// from ending what bills.
	ending bool
	// unread: for one that plans nothing. Files to upload are not read.
	unread bool
	// blind: goes on without a state that cannot be read.
	blind bool
}

// open reads the configuration with what the state knows of it. No provider is
// started.
func (a *app) open(ctx context.Context, in inputs, how reading) (*project, error) {
	if _, err := a.keys(); err != nil {
		return nil, err
	}
	p := &project{app: a, store: a.store(0)}
	p.init()
	var err error
	if p.st, err = p.store.Read(ctx); err != nil {
		if !how.blind {
			return nil, err
		}
		p.st = state.New("")
	}
	p.tellPending()
	if err := p.load(ctx, in, how); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// tellPending warns of a state beside the present one that could not be written.
func (p *project) tellPending() {
	if p.app.json {
		return
	}
	for _, path := range p.store.Rescued() {
		name := filepath.Base(path)
		fmt.Fprintf(p.app.err, "Warning: %s holds changes that could not be written to the state\n\n  It may hold what the state lacks. overbrainer state push %s takes it\n  over, unless it is older; remove it where it is of no use any more.\n\n", name, plan.ShellWord(name))
	}
}

func (p *project) init() {
	p.procs, p.rented, p.versions = map[string]*process{}, map[string]apply.Rented{}, map[string]string{}
}

func (p *project) load(ctx context.Context, in inputs, how reading) error {
	opt := config.Options{Volume: plan.VolumeIDs(p.st), Sources: how.sources, Unread: how.unread}
	if !how.ending {
		opt.Settled = plan.Settled(p.st, how.replace)
	}
	if err := p.read(ctx, in, opt); err != nil || len(p.cfg.Moved) == 0 {
		return err
	}
	// What moved blocks rename is known by its new name when it is read again.
	moved := plan.Moved(p.st, p.cfg.Moved)
	opt.Volume = plan.VolumeIDs(moved)
	if !how.ending {
		opt.Settled = plan.Settled(moved, how.replace)
	}
	return p.read(ctx, in, opt)
}

// read reads the configuration; opt is completed with what is always the same.
func (p *project) read(ctx context.Context, in inputs, opt config.Options) error {
	hashes := openHashes(p.app.dir)
	defer hashes.save()
	opt.Schema, opt.ProviderVersion = p.schema, p.version
	opt.KnownProviders = p.app.providerNames()
	opt.Vars.Environ = os.Environ()
	opt.Vars.Files, opt.Vars.Flags = in.files, in.vars
	opt.Vars.Ask = p.app.asker(ctx, in.ask)
	opt.Hashes = hashes
	opt.Version = version
	cfg, diags := config.Load(ctx, p.app.dir, opt)
	p.cfg = cfg
	p.app.hide(sensitiveValues(cfg)...)
	if diags.HasErrors() {
		if ctx.Err() != nil && opt.Vars.Ask != nil {
			return p.app.leftOpen()
		}
		return p.wrong(diags)
	}
	p.warnings = diags
	return nil
}

// wrong makes an error of diagnostics, with the text they are about.
func (p *project) wrong(diags hcl.Diagnostics) error {
	sources := map[string][]byte{}
	if p.cfg != nil {
		for name, file := range p.cfg.Files() {
			sources[name] = file.Bytes
		}
	}
	return &diagnosed{diags: diags, sources: sources}
}

// warn shows the warnings of the configuration to a person.
func (p *project) warn() {
	if len(p.warnings) == 0 || p.app.json {
		return
	}
	var d *diagnosed
	if errors.As(p.wrong(p.warnings), &d) {
		_ = ui.WriteDiagnostics(p.app.err, ui.Diagnostics(d.diags, d.sources), p.app.errLook())
		fmt.Fprintln(p.app.err)
	}
}

// asker asks for the value of a variable on a terminal; nil where nobody can
// answer.
func (a *app) asker(ctx context.Context, input bool) func(name, description string, sensitive bool) (string, error) {
	if !a.asks(input) {
		return nil
	}
	return func(name, description string, sensitive bool) (string, error) {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		look := a.errLook()
		fmt.Fprintln(a.err, look.Bold("variable "+name))
		if description != "" {
			fmt.Fprintln(a.err, "  "+description)
		}
		fmt.Fprint(a.err, "  value: ")
		if sensitive {
			return a.readHidden(ctx)
		}
		return typed(ctx, func() (string, error) { return ui.Answer(a.in) })
	}
}

// sensitiveValues are those of sensitive variables, which nothing may print.
func sensitiveValues(cfg *config.Config) []string {
	if cfg == nil {
		return nil
	}
	var out []string
	for _, v := range cfg.Variables {
		if v.Sensitive {
			out = append(out, texts(v.Value)...)
		}
	}
	return out
}

// connect starts the providers that the project needs and configures them:
// those of its blocks that something uses, and those that the state names.
func (p *project) connect(ctx context.Context) error {
	needed := map[string]bool{}
	for _, r := range p.cfg.Runs {
		needed[r.Target.Provider] = true
	}
	for _, v := range p.cfg.Volumes {
		needed[v.Provider] = true
	}
	for _, r := range p.st.Resources {
		needed[r.Provider] = true
	}
	if len(needed) == 0 {
		for name := range p.cfg.Providers {
			needed[name] = true
		}
	}
	delete(needed, "")
	return p.configure(ctx, needed)
}

// configure starts and configures providers by name, side by side.
func (p *project) configure(ctx context.Context, names map[string]bool) error {
	var mu sync.Mutex
	var wg sync.WaitGroup
	var diags hcl.Diagnostics
	var errs []error
	for name := range names {
		if _, done := p.rented[name]; done {
			continue
		}
		wg.Go(func() {
			told := p.app.tellWaiting(name)
			rented, problems, err := p.startProvider(ctx, name)
			told()
			mu.Lock()
			defer mu.Unlock()
			diags = append(diags, problems...)
			if err != nil {
				errs = append(errs, err)
				return
			}
			p.rented[name] = rented
		})
	}
	wg.Wait()
	if diags.HasErrors() {
		return p.wrong(diags)
	}
	p.warnings = append(p.warnings, diags...)
	return errors.Join(errs...)
}

func (p *project) startProvider(ctx context.Context, name string) (apply.Rented, hcl.Diagnostics, error) {
	proc, err := p.process(ctx, name)
	if err != nil {
		return apply.Rented{}, nil, err
	}
	description, err := proc.provider.Describe(ctx)
	if err != nil {
		return apply.Rented{}, nil, err
	}
	block := p.cfg.Providers[name]
	req := providers.ConfigureRequest{Values: map[string]any{}, Project: p.app.dir, Environment: p.app.providerEnvironment(name, description)}
	if block != nil {
		for k, v := range block.Values {
			req.Values[k] = v
		}
		for attr, secret := range block.Secrets {
			value, err := p.app.readSecret(ctx, plan.SecretSpec{Name: secret.Name, Env: secret.Env, File: secret.File, Command: secret.Command})
			if err != nil {
				return apply.Rented{}, nil, err
			}
			req.Values[attr] = string(value)
		}
		for _, attr := range description.Schema.Attributes {
			if text, ok := req.Values[attr.Name].(string); ok && attr.Sensitive {
				p.app.hide(text)
			}
		}
	}
	configured, err := proc.provider.Configure(ctx, req)
	if err != nil {
		return apply.Rented{}, nil, err
	}
	diags := problems(block, name, configured.Problems)
	if !diags.HasErrors() {
		// What it says of itself may hang on its configuration: the guard's
		// environment names the API in use.
		if description, err = proc.provider.Describe(ctx); err != nil {
			return apply.Rented{}, nil, err
		}
	}
	provider := &patient{Provider: proc.provider, name: name, tell: p.app.tellWait}
	return apply.Rented{Provider: provider, Description: description, Configured: configured}, diags, nil
}

// problems puts what a provider says of its block at the lines it is about.
func problems(block *config.Provider, name string, found []providers.Problem) hcl.Diagnostics {
	var diags hcl.Diagnostics
	for _, f := range found {
		d := &hcl.Diagnostic{Severity: hcl.DiagError, Summary: f.Summary, Detail: f.Detail}
		if f.Warning {
			d.Severity = hcl.DiagWarning
		}
		if block != nil {
			r := block.Range
			if at, ok := block.AttrRanges[f.Attribute]; ok {
				r = at
			}
			d.Subject = &r
		} else if f.Attribute != "" {
			d.Summary = fmt.Sprintf("provider %s: %s", name, f.Summary)
		}
		diags = append(diags, d)
	}
	return diags
}

// simulated names the providers that rent nothing real.
func (p *project) simulated() []string {
	var names []string
	for name, r := range p.rented {
		if r.Configured.Simulated {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// close ends the providers' processes.
func (p *project) close() {
	var wg sync.WaitGroup
	for _, proc := range p.procs {
		wg.Go(proc.close)
	}
	wg.Wait()
}
