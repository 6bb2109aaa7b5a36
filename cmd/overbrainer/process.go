package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/providers/plugin"
	"github.com/overbrainer/overbrainer/providers/runpod"
)

// process is a provider at work in a process of its own.
type process struct {
	provider providers.Provider
	close    func()
}

// process starts a provider, once.
func (p *project) process(ctx context.Context, name string) (*process, error) {
	p.mu.Lock()
	if have, ok := p.procs[name]; ok {
		p.mu.Unlock()
		return have, nil
	}
	p.mu.Unlock()
	command, err := p.program(name)
	if err != nil {
		return nil, err
	}
	command.Environ, command.Log = os.Environ(), p.app.logs.writer("provider."+name)
	if p.app.logs.level != "" {
		command.Env = append(command.Env, "OVERBRAINER_LOG="+p.app.logs.level)
	}
	began := time.Now()
	started, err := plugin.Start(ctx, command)
	p.app.logs.done(slog.LevelDebug, "provider process", began, err, "provider", name)
	if err != nil {
		return nil, err
	}
	proc := &process{provider: started.Provider(), close: func() { _ = started.Close() }}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.procs[name] = proc
	return proc, nil
}

// bundled is the provider that is part of this program.
const bundled = "runpod"

// schema gives the form of a provider's block.
func (p *project) schema(ctx context.Context, name string) (providers.Schema, error) {
	d, err := p.describe(ctx, name)
	if err != nil {
		// Whose it is stands at the block that it is shown at.
		return d.Schema, errors.New(strings.TrimPrefix(err.Error(), "provider "+name+": "))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.versions[name] = d.Version
	return d.Schema, nil
}

// version gives the version of a provider that schema answered for.
func (p *project) version(name string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.versions[name]
}

// describe asks a provider who it is. The bundled one is asked without a
// process; it is the same code.
func (p *project) describe(ctx context.Context, name string) (providers.Description, error) {
	if name == bundled {
		return p.app.bundledProvider(nil).Describe(ctx)
	}
	proc, err := p.process(ctx, name)
	if err != nil {
		return providers.Description{}, err
	}
	d, err := proc.provider.Describe(ctx)
	switch {
	case err != nil:
		return d, err
	case d.Name != name:
		return d, &problem{code: "other_provider", message: fmt.Sprintf("the program of provider %s says that it is provider %q %s; put it under its own name", name, d.Name, d.Version)}
	case p.pins != nil:
		err = p.pins.note(name, d)
	}
	return d, err
}

// bundledProvider gives the provider that is part of this program. log takes its
// requests; nil discards them.
func (a *app) bundledProvider(log *slog.Logger) providers.Provider {
	return runpod.New(runpod.Options{Version: version, Build: buildID(), Environ: a.environ, Exe: a.exe, Log: log})
}

// providerEnvironment holds the variables that a provider may look at, since
// its process does not see ours: those that it names, and where its files may
// lie. What is this program's own, such as OVERBRAINER_KEY, is for nobody else.
func (a *app) providerEnvironment(name string, d providers.Description) map[string]string {
	out := map[string]string{}
	for _, variable := range append([]string{"HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"}, d.Environment...) {
		if strings.HasPrefix(variable, "OVERBRAINER_") && name != bundled {
			continue
		}
		if v := a.environ(variable); v != "" {
			out[variable] = v
		}
	}
	return out
}

// serve runs the program as something that is no command for people: a
// provider's process, the first process of a simulated pod, or the writer of the
// manual.
func (a *app) serve() (code int, is bool) {
	if len(a.args) == 2 && a.args[0] == "provider" {
		return a.serveProvider(a.args[1]), true
	}
	if len(a.args) >= 2 && a.args[0] == "sim" && a.args[1] == "pod-init" {
		return a.podInit(a.args[2:]), true
	}
	if len(a.args) > 0 && a.args[0] == "manual" {
		return a.manual(a.args[1:]), true
	}
	return 0, false
}

func (a *app) serveProvider(name string) int {
	if name != bundled {
		return a.fail(&usageError{text: "there is no bundled provider " + name, hint: "the bundled one is " + bundled})
	}
	return plugin.Serve(a.bundledProvider(a.logs.Logger))
}
