package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/overbrainer/overbrainer/internal/ui"
	"github.com/overbrainer/overbrainer/plan"
)

// lacking is a secret that a launch of a plan would not get.
type lacking struct {
	secret string
	runs   []string // addresses
	why    error
}

// neededBy names the runs, which may be thousands.
func (l lacking) neededBy() string { return "needed by " + plan.List(l.runs, 3) }

// lackingSecrets looks whether the secrets that a plan's launches need can be
// read here. No value is kept, and no command is run.
func (a *app) lackingSecrets(pl *plan.Plan) []lacking {
	var out []lacking
	fine := map[string]bool{}
	for _, step := range pl.Steps {
		if step.Run == nil || step.Action != plan.Run && step.Action != plan.Rerun && step.Action != plan.Resume {
			continue
		}
		for _, spec := range step.Run.Secrets {
			i := slices.IndexFunc(out, func(l lacking) bool { return l.secret == spec.Name })
			if i >= 0 && out[i].runs[len(out[i].runs)-1] != step.Address {
				out[i].runs = append(out[i].runs, step.Address)
			}
			if i >= 0 || fine[spec.Name] {
				continue
			}
			if why := a.secretThere(spec); why != nil {
				out = append(out, lacking{secret: spec.Name, runs: []string{step.Address}, why: why})
			} else {
				fine[spec.Name] = true
			}
		}
	}
	slices.SortFunc(out, func(x, y lacking) int { return strings.Compare(x.secret, y.secret) })
	return out
}

// requireSecrets refuses a plan whose launches would lack a secret, before
// anything is rented for them.
func (a *app) requireSecrets(pl *plan.Plan) error {
	for _, l := range a.lackingSecrets(pl) {
		return &problem{code: "secret", address: l.runs[0], message: l.why.Error(),
			hint: l.neededBy() + "; nothing was created"}
	}
	return nil
}

// warnSecrets says in a plan what secrets its launches would lack here.
func (p *project) warnSecrets(pl *plan.Plan) {
	var diags hcl.Diagnostics
	for _, l := range p.app.lackingSecrets(pl) {
		d := &hcl.Diagnostic{Severity: hcl.DiagWarning, Summary: "a secret is not there, where this is planned",
			Detail: fmt.Sprintf("%v. It is %s: apply begins nothing without it.", l.why, l.neededBy())}
		if block := p.cfg.Secrets[l.secret]; block != nil {
			d.Subject = &block.Range
		}
		diags = append(diags, d)
	}
	var wrong *diagnosed
	if len(diags) > 0 && errors.As(p.wrong(diags), &wrong) {
		pl.Diagnostics = append(pl.Diagnostics, ui.Diagnostics(wrong.diags, wrong.sources)...)
	}
}

// secretThere says why a secret cannot be read, as far as that shows without
// reading it.
func (a *app) secretThere(s plan.SecretSpec) error {
	switch {
	case s.Env != "":
		if os.Getenv(s.Env) == "" {
			return secretFault(s, "the variable %s is not set", s.Env)
		}
	case s.File != "":
		info, err := os.Stat(a.secretFile(s.File))
		switch {
		case err != nil:
			return secretFault(s, "%s: %v", s.File, reason(err))
		case info.IsDir():
			return secretFault(s, "%s is a directory", s.File)
		case info.Mode().IsRegular() && info.Size() == 0:
			return secretFault(s, "%s is empty", s.File)
		}
	case len(s.Command) > 0:
		program := s.Command[0]
		if strings.ContainsRune(program, filepath.Separator) && !filepath.IsAbs(program) {
			program = filepath.Join(a.dir, program)
		}
		if _, err := exec.LookPath(program); err != nil {
			return secretFault(s, "there is no program %s", s.Command[0])
		}
	}
	return nil
}

func secretFault(s plan.SecretSpec, format string, args ...any) error {
	return &problem{code: "secret", message: fmt.Sprintf("secret %q: ", s.Name) + fmt.Sprintf(format, args...)}
}

// secretFile gives the path of a secret's file.
func (a *app) secretFile(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(a.environ("HOME"), rest)
	}
	return a.path(path)
}
