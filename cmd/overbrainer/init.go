package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/overbrainer/overbrainer/config"
	"github.com/overbrainer/overbrainer/examples"
)

func initCommand(a *app) *command {
	var in inputs
	var from string
	var upgrade bool
	var move moving
	return &command{
		name:     "init",
		synopsis: "start a project, or get one ready",
		usage:    "[-from=EXAMPLE] [-upgrade] [-migrate-state | -reconfigure]",
		text: `In a directory without a configuration it writes a commented project to start
		from: one of ` + strings.Join(examples.Names(), ", ") + ` (the first unless -from
		says otherwise). No file that is there is touched. In every project it looks
		for the programs of the providers that the configuration names, starts them
		to ask who they are, and pins them by version and SHA-256 in
		` + lockFile + `. What is pinned stays so without -upgrade.
		It needs no values of variables.
		It gets the directory ready for the backend of the configuration; where that
		has changed, -migrate-state copies the state over, and neither copy is lost.`,
		example: "$ mkdir sweep && overbrainer -chdir=sweep init -from=sweep",
		register: func(f *flags) {
			f.text(&from, "from", "EXAMPLE", "which project to start from: "+strings.Join(examples.Names(), ", "))
			f.boolean(&upgrade, "upgrade", "move the pins to the programs that are there now")
			move.register(f)
			in.register(f)
		},
		run: func(ctx context.Context, _ []string) error {
			if err := a.starter(from); err != nil {
				return err
			}
			locks, err := a.readLocks()
			if err != nil {
				return err
			}
			p := &project{app: a, pins: &pins{locks: locks, upgrade: upgrade, sums: map[string]string{}}}
			p.init()
			defer p.close()
			if err := p.read(ctx, in, config.Options{Vars: config.Vars{MayMiss: true}, Unread: true}); err != nil {
				return err
			}
			if err := p.pin(ctx); err != nil {
				return err
			}
			if err := a.readyBackend(ctx, p.cfg.Settings.Backend, move); err != nil {
				return err
			}
			p.warn()
			fmt.Fprintln(a.out, "The project is ready. overbrainer plan tells what it would do.")
			return nil
		},
	}
}

// starter writes an example where there is no configuration yet.
func (a *app) starter(from string) error {
	if a.hasConfiguration() {
		if from != "" {
			return &problem{code: "exists", message: "there is a configuration here already: nothing was written",
				hint: "give an empty directory with -chdir"}
		}
		return nil
	}
	if from == "" {
		from = examples.Names()[0]
	}
	files, err := examples.Files(from)
	if err != nil {
		e := &usageError{text: "there is no example " + from, hint: "there are " + strings.Join(examples.Names(), ", ")}
		if near := nearest(from, examples.Names()); near != "" {
			e.hint = "did you mean -from=" + near + "?"
		}
		return e
	}
	names := slices.Sorted(maps.Keys(files))
	for _, name := range names {
		if _, err := os.Lstat(filepath.Join(a.dir, filepath.FromSlash(name))); !errors.Is(err, fs.ErrNotExist) {
			return &problem{code: "exists", message: name + " is there already: nothing was written"}
		}
	}
	for _, name := range names {
		path := filepath.Join(a.dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, files[name], 0o644); err != nil {
			return err
		}
		fmt.Fprintln(a.out, "wrote "+name)
	}
	return nil
}
