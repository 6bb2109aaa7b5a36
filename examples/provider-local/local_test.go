//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/providers/plugin"
	"github.com/overbrainer/overbrainer/providers/providertest"
)

// childEnv turns the test binary into the provider's own program.
const childEnv = "PROVIDER_LOCAL_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" || len(os.Args) == 3 && os.Args[1] == holdCommand {
		main()
	}
	os.Exit(m.Run())
}

func need(t *testing.T) {
	t.Helper()
	if _, err := findSSHD(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("sshd is needed in CI")
		}
		t.Skip("sshd is missing")
	}
}

// configure gives a provider with an account of its own in a new directory.
func configure(t *testing.T, p providers.Provider, values map[string]any) {
	t.Helper()
	need(t)
	if values["directory"] == nil {
		values["directory"] = t.TempDir()
	}
	c, err := p.Configure(context.Background(), providers.ConfigureRequest{Values: values, Project: t.TempDir()})
	if err != nil || len(c.Problems) > 0 {
		t.Fatalf("%v, %+v", err, c.Problems)
	}
}

func TestConformsInProcess(t *testing.T) {
	providertest.Run(t, func(t *testing.T) providertest.Subject {
		p := newLocal()
		configure(t, p, map[string]any{})
		return providertest.Subject{Provider: p}
	})
}

func TestConformsThroughAProcess(t *testing.T) {
	providertest.Run(t, func(t *testing.T) providertest.Subject {
		p := child(t).Provider()
		configure(t, p, map[string]any{"price_per_hour": 0.25})
		return providertest.Subject{Provider: p}
	})
}

func child(t *testing.T) *plugin.Process {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	started, err := plugin.Start(context.Background(), plugin.Command{
		Name: "local", Path: exe, Environ: os.Environ(), Env: []string{childEnv + "=1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = started.Close() })
	return started
}

func request(n int, script string) providers.CreatePod {
	run := fmt.Sprintf("train-%d", n)
	return providers.CreatePod{
		Marker:  providers.Marker{RunID: run, Lineage: "l", Attempt: "overbrainer-" + run + "-1"},
		GPUType: "local", GPUCount: 1, Image: "any", Env: map[string]string{"KEY": fmt.Sprintf(secretPlaceholder, "host_key")},
		Command: []string{"sh", "-c", script},
	}
}

// follow reads a pod's log until one that holds text.
func follow(t *testing.T, p providers.Provider, id, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	found := fmt.Errorf("found")
	var seen []string
	err := p.PodLogs(ctx, providers.LogRequest{PodID: id, Follow: true}, func(l providers.LogLine) error {
		seen = append(seen, l.Text)
		if strings.Contains(l.Text, text) {
			return found
		}
		return nil
	})
	if err != found {
		t.Fatalf("no %q in the log: %v\n%s", text, err, strings.Join(seen, "\n"))
	}
}

func TestPodOutlivesTheProcessThatMadeIt(t *testing.T) {
	need(t)
	dir := t.TempDir()
	first := child(t)
	configure(t, first.Provider(), map[string]any{"directory": dir})
	made, err := first.Provider().CreatePod(context.Background(), request(1, "echo up; sleep 600"))
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	<-first.Exited()
	second := child(t).Provider()
	configure(t, second, map[string]any{"directory": dir})
	follow(t, second, made.ID, "up")
	if got, err := second.GetPod(context.Background(), made.ID); err != nil || got.Status != providers.Running || got.SSH == nil {
		t.Errorf("%+v, %v", got, err)
	}
	if existed, err := second.DeletePod(context.Background(), made.ID); err != nil || !existed {
		t.Errorf("%v, %v", existed, err)
	}
}

func TestSecretReachesThePodAndNoFile(t *testing.T) {
	p := newLocal()
	configure(t, p, map[string]any{})
	const value = "aG9zdCBrZXk=" // "host key"
	if _, err := p.PutSecret(context.Background(), "host_key", value); err != nil {
		t.Fatal(err)
	}
	made, err := p.CreatePod(context.Background(), request(1, `printf %s "$KEY" | base64 -d; echo; sleep 600`))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = p.DeletePod(context.Background(), made.ID) }()
	follow(t, p, made.ID, "host key")
	data, err := os.ReadFile(filepath.Join(p.store.podDir(made.ID), recordFile))
	if err != nil || strings.Contains(string(data), value) {
		t.Errorf("%v, %s", err, data)
	}
}

// TestGuardEndsThePod: with no provider and no client around, the pod's own
// functions end it and everything it started.
func TestGuardEndsThePod(t *testing.T) {
	p := newLocal()
	configure(t, p, map[string]any{})
	script := guardFunctions + `
(trap '' TERM HUP; setsid sh -c 'sleep 600' & )
provider_probe
provider_delete
sleep 600`
	made, err := p.CreatePod(context.Background(), request(1, script))
	if err != nil {
		t.Fatal(err)
	}
	gone(t, p, made.ID)
	if left := marked(made.ID); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
	if _, err := os.Stat(p.store.podDir(made.ID)); !os.IsNotExist(err) {
		t.Errorf("its directory: %v", err)
	}
}

// gone follows a pod's log until the provider does not know the pod.
func gone(t *testing.T, p providers.Provider, id string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	err := p.PodLogs(ctx, providers.LogRequest{PodID: id, Follow: true}, func(providers.LogLine) error { return nil })
	if !providers.Is(err, providers.NotFound) {
		t.Fatalf("the pod is still there: %v", err)
	}
}

// TestKilledHolderLeavesAPodThatCanBeDeleted: the pod is shown as ended, and a
// delete ends what is left of it.
func TestKilledHolderLeavesAPodThatCanBeDeleted(t *testing.T) {
	p := newLocal()
	configure(t, p, map[string]any{})
	made, err := p.CreatePod(context.Background(), request(1, "setsid sleep 600 & echo up; sleep 600"))
	if err != nil {
		t.Fatal(err)
	}
	follow(t, p, made.ID, "up")
	if err := syscall.Kill(p.store.holder(made.ID), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	alive, err := os.Open(filepath.Join(p.store.podDir(made.ID), aliveFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(alive.Fd()), syscall.LOCK_SH); err != nil { // until it has ended
		t.Fatal(err)
	}
	_ = alive.Close()
	if got, err := p.GetPod(context.Background(), made.ID); err != nil || got.Status != providers.Exited {
		t.Errorf("%+v, %v", got, err)
	}
	if existed, err := p.DeletePod(context.Background(), made.ID); err != nil || !existed {
		t.Errorf("%v, %v", existed, err)
	}
	if left := marked(made.ID); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
}

func TestFullMachineHasNoCapacity(t *testing.T) {
	p := newLocal()
	configure(t, p, map[string]any{"max_pods": 1.0})
	made, err := p.CreatePod(context.Background(), request(1, "sleep 600"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.CreatePod(context.Background(), request(2, "sleep 600")); !providers.Is(err, providers.Capacity) {
		t.Errorf("a second pod: %v", err)
	}
	if c, err := p.Catalog(context.Background(), providers.CatalogQuery{GPUCount: 1}); err != nil || c.GPUs[0].Stock != providers.NoStock {
		t.Errorf("%+v, %v", c.GPUs, err)
	}
	if _, err := p.DeletePod(context.Background(), made.ID); err != nil {
		t.Fatal(err)
	}
}

func TestFaultsOfTheBlockAreShownAtTheirLine(t *testing.T) {
	need(t)
	c, err := newLocal().Configure(context.Background(), providers.ConfigureRequest{Values: map[string]any{
		"directory": "relative", "gpu_count": 1.5, "price_per_hour": -1.0,
	}})
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]bool{}
	for _, p := range c.Problems {
		at[p.Attribute] = p.Summary != "" && p.Detail != ""
	}
	if len(at) != 3 || !at["directory"] || !at["gpu_count"] || !at["price_per_hour"] {
		t.Errorf("%+v", c.Problems)
	}
}
