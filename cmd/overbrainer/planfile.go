package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"unicode/utf8"

	"github.com/overbrainer/overbrainer/config"
	"github.com/overbrainer/overbrainer/internal/ui"
	"github.com/overbrainer/overbrainer/plan"
)

// unsaveable refuses uploads whose names a plan file, which is JSON, cannot hold.
func unsaveable(pl *plan.Plan) error {
	for _, step := range pl.Steps {
		if step.Run == nil {
			continue
		}
		for _, u := range step.Run.Uploads {
			if !utf8.ValidString(u.Path) {
				return &problem{code: "plan_file", message: fmt.Sprintf("the upload %q of %s has a name that is not UTF-8, which a plan file cannot hold", u.Path, step.Address),
					hint: "rename it, or apply without a plan file"}
			}
		}
	}
	return nil
}

// writePlan saves a plan with the configuration it was made of.
func (p *project) writePlan(name string, pl *plan.Plan, quiet bool) error {
	if err := unsaveable(pl); err != nil {
		return err
	}
	file, err := plan.NewFile(pl, p.cfg, p.store.Where())
	if err != nil {
		return err
	}
	if err := plan.WriteFile(p.app.path(name), file); err != nil {
		return err
	}
	if quiet {
		return nil
	}
	fmt.Fprintf(p.app.out, "\nThe plan is in %s. This does exactly that:\n  overbrainer apply %s\n", name, plan.ShellWord(name))
	return nil
}

// mayBecomePlan refuses to replace what is not a plan file.
func (a *app) mayBecomePlan(name string) error {
	info, err := os.Lstat(a.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	hint := "give -out another name, or remove it first"
	switch {
	case err != nil:
		return &problem{code: "plan_file", message: fmt.Sprintf("%s: %v", name, reason(err))}
	case !info.Mode().IsRegular():
		return &problem{code: "plan_file", message: name + " is no plain file, so no plan is written there", hint: hint}
	case info.Size() == 0:
		return nil // as mktemp makes it
	}
	if ours, err := plan.IsFile(a.path(name)); err == nil && !ours {
		return &problem{code: "plan_file", message: name + " is there already and is no plan file, so it is not replaced", hint: hint}
	}
	return nil
}

// openPlan reads a plan file and gets ready to execute it: with the
// configuration and the values that the file carries, once it is sure that
// nothing here has changed since.
func (a *app) openPlan(ctx context.Context, name string, o planning) (*project, *plan.Plan, error) {
	file, err := plan.ReadFile(a.path(name))
	if err != nil {
		return nil, nil, planFileProblem(err)
	}
	if _, err := a.keys(); err != nil {
		return nil, nil, err
	}
	p := &project{app: a, store: a.storeOf(file.SourceBytes())}
	p.init()
	if p.st, err = p.store.Read(ctx); err != nil {
		return nil, nil, err
	}
	opt := config.Options{Settled: file.Plan.Settled(p.st), Volume: file.Plan.VolumeIDs(p.st), Sources: file.SourceBytes(), Project: file.Plan.Project.Name}
	opt.Vars.Given = file.Variables
	err = p.read(ctx, o.inputs, opt)
	var wrong *diagnosed
	if err != nil && !errors.As(err, &wrong) {
		return nil, nil, err
	}
	// What is stale explains more than what follows from it.
	if stale := a.stale(ctx, p, file, o); stale != nil {
		p.close()
		return nil, nil, stale
	}
	if err == nil {
		err = p.connect(ctx)
	}
	if err != nil {
		p.close()
		return nil, nil, err
	}
	return p, file.Plan, nil
}

// stale compares the file with what is here.
func (a *app) stale(ctx context.Context, p *project, file *plan.File, o planning) error {
	now := plan.Current{Version: version, State: p.st, Where: p.store.Where(), Project: config.ProjectName(a.dir), Config: p.cfg}
	if a.hasConfiguration() {
		here := &project{app: a, st: p.st}
		here.init()
		defer here.close()
		// A configuration that does not evaluate any more has changed, too.
		_ = here.read(ctx, o.inputs, config.Options{Settled: plan.Settled(p.st, nil), Volume: plan.VolumeIDs(p.st)})
		if here.cfg != nil {
			now.Sources = here.cfg.Sources
			now.Variables = values(here.cfg)
		}
	}
	for _, s := range file.Stale(now) {
		return &problem{code: s.Code, message: s.Error()}
	}
	return nil
}

// values gives the variables that are not sensitive.
func values(cfg *config.Config) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for name, v := range cfg.Variables {
		if v.Sensitive {
			continue
		}
		if data, err := v.JSON(); err == nil {
			out[name] = data
		}
	}
	return out
}

func planFileProblem(err error) error {
	var f *plan.FileError
	if errors.As(err, &f) {
		f.Err = reason(f.Err) // it names the path itself
		return &problem{code: "plan_file", message: f.Error()}
	}
	return err
}

// showPlanFile shows a plan file, with what is stale about it.
func (a *app) showPlanFile(ctx context.Context, name string, asJSON bool) error {
	file, err := plan.ReadFile(a.path(name))
	if err != nil {
		return planFileProblem(err)
	}
	store := a.storeOf(file.SourceBytes())
	st, err := store.Read(ctx)
	if err != nil {
		return err
	}
	stale := file.Stale(plan.Current{Version: version, State: st, Where: store.Where(), Project: config.ProjectName(a.dir)})
	if !asJSON {
		for _, s := range stale {
			a.warn(s.Message)
		}
		return ui.Plan(a.out, file.Plan, a.outLook())
	}
	reasons := []string{}
	for _, s := range stale {
		reasons = append(reasons, s.Code)
	}
	if err := file.WriteJSON(a.out, reasons); err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.out)
	return err
}
