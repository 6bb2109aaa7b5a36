package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/hcl/v2"

	"github.com/overbrainer/overbrainer/config"
	"github.com/overbrainer/overbrainer/internal/ui"
	"github.com/overbrainer/overbrainer/plan"
)

// validation is the document of `validate -json`.
type validation struct {
	FormatVersion string            `json:"format_version"`
	Valid         bool              `json:"valid"`
	Errors        int               `json:"error_count"`
	Warnings      int               `json:"warning_count"`
	Diagnostics   []plan.Diagnostic `json:"diagnostics"`
}

func validateCommand(a *app) *command {
	var in inputs
	asJSON := false
	return &command{
		name:     "validate",
		synopsis: "check the configuration, and nothing else",
		usage:    "[-json]",
		text: `Reads the configuration and tells everything that is wrong with it. It asks
		no API, reads no state and needs no key, nor values of variables: what uses one
		that has none is checked when it is planned.`,
		example:  "$ overbrainer validate",
		register: func(f *flags) { f.boolean(&asJSON, "json", "as JSON"); in.register(f) },
		run: func(ctx context.Context, _ []string) error {
			p := &project{app: a}
			p.init()
			defer p.close()
			err := p.read(ctx, in, config.Options{Vars: config.Vars{MayMiss: true}, Unread: true})
			if err == nil {
				err = p.validBackend()
			}
			var wrong *diagnosed
			if err != nil && !errors.As(err, &wrong) {
				return err
			}
			diags := p.warnings
			sources := map[string][]byte{}
			if wrong != nil {
				diags, sources = wrong.diags, wrong.sources
			} else if len(diags) > 0 && errors.As(p.wrong(diags), &wrong) {
				sources = wrong.sources
			}
			if asJSON {
				if told := ui.JSONLine(a.out, validationOf(diags, sources)); told != nil {
					return told
				}
				return err
			}
			if err != nil {
				return err
			}
			p.warn()
			_, err = fmt.Fprintln(a.out, a.outLook().Bold("The configuration is valid."))
			return err
		},
	}
}

// validBackend checks the backend block, completed from the environment, without
// connecting to anything.
func (p *project) validBackend() error {
	b := p.cfg.Settings.Backend
	_, err := p.app.openBackend(b, 0)
	if err == nil {
		return nil
	}
	return p.wrong(append(p.warnings, &hcl.Diagnostic{
		Severity: hcl.DiagError, Summary: "backend not valid", Detail: err.Error(), Subject: b.Range.Ptr(),
	}))
}

func validationOf(diags hcl.Diagnostics, sources map[string][]byte) validation {
	doc := validation{FormatVersion: plan.FormatVersion, Diagnostics: ui.Diagnostics(diags, sources)}
	for _, d := range doc.Diagnostics {
		if d.Severity == "error" {
			doc.Errors++
		} else {
			doc.Warnings++
		}
	}
	doc.Valid = doc.Errors == 0
	return doc
}
