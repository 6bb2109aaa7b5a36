package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/overbrainer/overbrainer/internal/safetext"
	"github.com/overbrainer/overbrainer/internal/ui"
	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/providers/plugin"
)

func providersCommand(a *app) *command {
	var in inputs
	asJSON := false
	return &command{
		name:     "providers",
		synopsis: "the providers that the configuration uses",
		usage:    "[-json]",
		text:     "Lists the providers of the configuration, and where each comes from.",
		example:  "$ overbrainer providers",
		register: func(f *flags) { f.boolean(&asJSON, "json", "an array of objects"); in.register(f) },
		run: func(ctx context.Context, _ []string) error {
			p, err := a.openLoosely(ctx, in, reading{ending: true, unread: true})
			if err != nil {
				return err
			}
			defer p.close()
			locks, err := a.readLocks()
			if err != nil {
				return err
			}
			rows := []providerRow{}
			t := ui.Table{Columns: []string{"PROVIDER", "VERSION", "REQUIRED", "SHA-256", "BLOCK", "FROM"}, Empty: "The configuration has no provider block."}
			for _, name := range slices.Sorted(maps.Keys(p.cfg.Providers)) {
				one := p.providerRow(name, locks[name])
				rows = append(rows, one)
				t.Add(one.Name, orDash(one.Version), orDash(one.Required), orDash(safetext.Cut(one.SHA256, 12)), one.Where, one.from())
			}
			if asJSON {
				return ui.JSONLine(a.out, rows)
			}
			return t.Write(a.out, a.look(os.Stdout))
		},
	}
}

// providerRow is a provider in `providers -json`.
type providerRow struct {
	Name     string `json:"name"`
	Origin   string `json:"origin"` // bundled, or plugin
	Version  string `json:"version"`
	Required string `json:"required,omitempty"` // constraint
	Source   string `json:"source,omitempty"`
	Path     string `json:"path"`
	SHA256   string `json:"sha256,omitempty"` // as pinned
	Where    string `json:"where"`
}

// from says in the table where a provider comes from.
func (r providerRow) from() string {
	if r.Origin == "plugin" {
		return r.Path
	}
	return r.Origin
}

func (p *project) providerRow(name string, l lock) providerRow {
	r, required := p.cfg.Providers[name].Range, p.cfg.Settings.RequiredProviders[name]
	row := providerRow{
		Name: name, Origin: "bundled", Version: version, Required: required.Version, Source: required.Source,
		Path: p.app.exe, Where: fmt.Sprintf("%s:%d", r.Filename, r.Start.Line),
	}
	if name != bundled {
		row.Origin, row.Version, row.SHA256 = "plugin", l.Version, l.SHA256[platform]
		if path, err := plugin.Find(name, p.app.pluginDirs()...); err == nil {
			row.Path = path
		}
	}
	return row
}

// attribute is an argument of a provider's block in `providers schema -json`.
type attribute struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Description string `json:"description"`
	Required    bool   `json:"required"`
	Sensitive   bool   `json:"sensitive"`
}

// described is a provider there.
type described struct {
	Version string `json:"version"`
	Path    string `json:"path"`
	SHA256  string `json:"sha256,omitempty"`
	// Environment names the variables that the provider reads.
	Environment  []string    `json:"environment"`
	Capabilities []string    `json:"capabilities"`
	Attributes   []attribute `json:"attributes"`
}

func providersSchemaCommand(a *app) *command {
	asJSON := false
	return &command{
		name:     "providers schema",
		synopsis: "what may stand in each provider's block",
		usage:    "-json",
		text: `Prints the arguments that each provider takes: the bundled one, and those
		made by others that ` + lockFile + ` pins.`,
		example:  "$ overbrainer providers schema -json",
		register: func(f *flags) { f.boolean(&asJSON, "json", "as JSON") },
		run: func(ctx context.Context, _ []string) error {
			p := &project{app: a}
			p.init()
			defer p.close()
			doc := struct {
				FormatVersion string               `json:"format_version"`
				Providers     map[string]described `json:"providers"`
			}{plan.FormatVersion, map[string]described{}}
			locks, err := a.readLocks()
			if err != nil {
				return err
			}
			for _, name := range a.providerNames() {
				sum := locks[name].SHA256[platform]
				if name != bundled && sum == "" {
					fmt.Fprintf(a.err, "provider %s is here, but not pinned: overbrainer init does that once the configuration names it\n", name)
					continue
				}
				command, err := p.program(name)
				if err != nil {
					return err
				}
				d, err := p.describe(ctx, name)
				if err != nil {
					return err
				}
				one := described{Version: d.Version, Path: command.Path, SHA256: sum, Environment: d.Environment, Capabilities: []string{}, Attributes: []attribute{}}
				for _, c := range d.Capabilities {
					one.Capabilities = append(one.Capabilities, string(c))
				}
				for _, attr := range d.Schema.Attributes {
					one.Attributes = append(one.Attributes, attribute{attr.Name, string(attr.Type), attr.Description, attr.Required, attr.Sensitive})
				}
				doc.Providers[name] = one
			}
			if asJSON {
				return ui.JSONLine(a.out, doc)
			}
			t := ui.Table{Columns: []string{"PROVIDER", "ARGUMENT", "TYPE", "MEANING"}}
			for _, name := range slices.Sorted(maps.Keys(doc.Providers)) {
				for _, attr := range doc.Providers[name].Attributes {
					t.Add(name, attr.Name, attr.Type, attr.Description)
				}
			}
			return t.Write(a.out, a.look(os.Stdout))
		},
	}
}
