package main

import (
	"context"
	"os"

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
	program, args, err := p.app.providerProgram(name)
	if err != nil {
		return nil, err
	}
	started, err := plugin.Start(ctx, plugin.Command{
		Name: name, Path: program, Args: args, Environ: os.Environ(),
		Log: p.app.logs.writer("provider." + name),
	})
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

// schema gives the form of a provider's block. The bundled one is asked
// without a process; it is the same code.
func (p *project) schema(ctx context.Context, name string) (providers.Schema, error) {
	d, err := p.describe(ctx, name)
	return d.Schema, err
}

func (p *project) describe(ctx context.Context, name string) (providers.Description, error) {
	if name == bundled {
		return p.app.bundledProvider().Describe(ctx)
	}
	proc, err := p.process(ctx, name)
	if err != nil {
		return providers.Description{}, err
	}
	return proc.provider.Describe(ctx)
}

func (a *app) bundledProvider() providers.Provider {
	return runpod.New(runpod.Options{Version: version, Build: buildID(), Environ: a.environ, Exe: a.exe})
}

// providerEnvironment holds the variables that a provider may look at: its
// process does not see ours.
func (a *app) providerEnvironment() map[string]string {
	out := map[string]string{}
	for _, name := range []string{
		"RUNPOD_API_KEY", "OVERBRAINER_SIMULATOR", "HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME",
	} {
		if v := a.environ(name); v != "" {
			out[name] = v
		}
	}
	return out
}

// serve runs the program as something it starts itself: a provider's process
// or the first process of a simulated pod.
func (a *app) serve() (code int, is bool) {
	if len(a.args) == 2 && a.args[0] == "provider" {
		return a.serveProvider(a.args[1]), true
	}
	if len(a.args) >= 2 && a.args[0] == "sim" && a.args[1] == "pod-init" {
		return a.podInit(a.args[2:]), true
	}
	return 0, false
}

func (a *app) serveProvider(name string) int {
	if name != bundled {
		return a.fail(&usageError{text: "there is no bundled provider " + name, hint: "the bundled one is " + bundled})
	}
	return plugin.Serve(a.bundledProvider())
}
