package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/overbrainer/overbrainer/internal/ui"
	"github.com/overbrainer/overbrainer/plan"
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
			p, err := a.openLoosely(ctx, in)
			if err != nil {
				return err
			}
			defer p.close()
			type row struct {
				Name    string `json:"name"`
				Origin  string `json:"origin"`
				Version string `json:"version"`
				Where   string `json:"where"`
			}
			locks, err := a.readLocks()
			if err != nil {
				return err
			}
			rows := []row{}
			t := ui.Table{Columns: []string{"PROVIDER", "ORIGIN", "VERSION", "BLOCK"}, Empty: "The configuration has no provider block."}
			for _, name := range slices.Sorted(maps.Keys(p.cfg.Providers)) {
				r := p.cfg.Providers[name].Range
				one := row{Name: name, Origin: "bundled", Version: version, Where: fmt.Sprintf("%s:%d", r.Filename, r.Start.Line)}
				if name != bundled {
					one.Origin, one.Version = a.plugins()[name], locks[name].Version
				}
				rows = append(rows, one)
				t.Add(one.Name, one.Origin, orDash(one.Version), one.Where)
			}
			if asJSON {
				return ui.JSONLine(a.out, rows)
			}
			return t.Write(a.out, a.look(os.Stdout))
		},
	}
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
	Version      string      `json:"version"`
	Capabilities []string    `json:"capabilities"`
	Attributes   []attribute `json:"attributes"`
}

func providersSchemaCommand(a *app) *command {
	asJSON := false
	return &command{
		name:     "providers schema",
		synopsis: "what may stand in each provider's block",
		usage:    "-json",
		text:     "Prints the arguments that each provider found here takes.",
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
			for _, name := range a.providerNames() {
				d, err := p.describe(ctx, name)
				if err != nil {
					return err
				}
				one := described{Version: d.Version, Capabilities: []string{}, Attributes: []attribute{}}
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
