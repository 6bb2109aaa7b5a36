package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/providers/plugin"
	"github.com/overbrainer/overbrainer/providers/providertest"
	"github.com/overbrainer/overbrainer/providers/runpod/sim"
)

// buildProvider is the command provider FILE VERSION: the example of a provider
// by others, as its author would build it.
func buildProvider(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: provider FILE VERSION")
	}
	cmd := exec.Command("go", "build", "-ldflags", "-X main.version="+args[1], "-o", ts.MkAbs(args[0]), "../../examples/provider-local")
	if out, err := cmd.CombinedOutput(); err != nil {
		ts.Fatalf("go build: %v\n%s", err, out)
	}
}

// TestBundledProviderConformsThroughItsProcess: the program as users get it,
// its provider in a process of its own, its client, HTTP and the simulator.
func TestBundledProviderConformsThroughItsProcess(t *testing.T) {
	binary := build(t)
	home := t.TempDir()
	project := t.TempDir()
	environ := append(os.Environ(), "HOME="+home, "XDG_STATE_HOME="+filepath.Join(home, "state"))
	url := startSimulator(t, binary, project, environ)
	providertest.Run(t, func(t *testing.T) providertest.Subject {
		started, err := plugin.Start(context.Background(), plugin.Command{
			Name: bundled, Path: binary, Args: []string{"provider", bundled}, Environ: environ,
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = started.Close() })
		c, err := started.Provider().Configure(context.Background(), providers.ConfigureRequest{
			Values: map[string]any{"api_url": url + "/v2", "api_key": "rpa_conformance"}, Project: project,
		})
		if err != nil || len(c.Problems) > 0 {
			t.Fatalf("%v, %+v", err, c.Problems)
		}
		return providertest.Subject{Provider: started.Provider()}
	})
}

// startSimulator starts the simulator of a project by the command for it, and
// gives its address.
func startSimulator(t *testing.T, binary, project string, environ []string) string {
	t.Helper()
	run := func(args ...string) {
		cmd := exec.Command(binary, args...)
		cmd.Dir, cmd.Env = project, environ
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	run("sim", "start")
	t.Cleanup(func() { run("sim", "stop") })
	get := func(name string) string {
		for i := len(environ) - 1; i >= 0; i-- {
			if value, ok := strings.CutPrefix(environ[i], name+"="); ok {
				return value
			}
		}
		return ""
	}
	s, err := sim.ReadAddress(sim.Home(get, project))
	if err != nil {
		t.Fatal(err)
	}
	none := 0.0
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := (&sim.Client{URL: s.URL}).Adjust(ctx, sim.Settings{PullSeconds: &none}); err != nil {
		t.Fatal(err)
	}
	return s.URL
}

// TestProvidersSeeOnlyWhatTheyName: a provider by others gets neither the key of
// the bundled one nor anything of this program's own.
func TestProvidersSeeOnlyWhatTheyName(t *testing.T) {
	a := &app{environ: func(name string) string { return "value of " + name }}
	ask := providers.Description{Environment: []string{"ACME_TOKEN", "OVERBRAINER_KEY"}}
	got := a.providerEnvironment("acme", ask)
	if got["ACME_TOKEN"] == "" || got["HOME"] == "" || got["RUNPOD_API_KEY"] != "" || got["OVERBRAINER_KEY"] != "" {
		t.Errorf("a provider by others gets %v", got)
	}
	own, err := a.bundledProvider(nil).Describe(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if got := a.providerEnvironment(bundled, own); got["RUNPOD_API_KEY"] == "" || got["OVERBRAINER_SIMULATOR"] == "" || got["OVERBRAINER_KEY"] != "" {
		t.Errorf("the bundled one gets %v", got)
	}
}
