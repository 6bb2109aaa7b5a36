package plugin_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/providers/plugin"
	"github.com/overbrainer/overbrainer/providers/providertest"
)

// childEnv turns the test binary into a plugin with a character.
const childEnv = "OVERBRAINER_TEST_CHILD"

func TestMain(m *testing.M) {
	if kind := os.Getenv(childEnv); kind != "" {
		os.Exit(serveChild(kind))
	}
	os.Exit(m.Run())
}

func serveChild(kind string) int {
	m := providertest.NewMemory()
	switch kind {
	case "silent":
		time.Sleep(time.Hour)
	case "exit":
		fmt.Fprintln(os.Stderr, "first complaint\nno licence found")
		return 3
	case "other protocol":
		fmt.Println("1|7|unix|/nowhere|grpc|")
		time.Sleep(time.Hour)
	case "panic in create":
		m.Boot = func(providers.CreatePod, providers.Pod) providers.Pod {
			go panic("the price list is empty")
			time.Sleep(time.Hour)
			return providers.Pod{}
		}
	case "panic in read":
		m.Fail(providertest.Fault{Op: "ListPods", Do: func() { os.Exit(0) }})
	case "slow create":
		m.Boot = slowBoot
	case "tells its environment":
		fmt.Fprintf(os.Stderr, "secret=%q given=%q home=%q\n", os.Getenv("AWS_SECRET"), os.Getenv("GIVEN"), os.Getenv("HOME"))
	case "stubborn":
		m.Boot = func(_ providers.CreatePod, p providers.Pod) providers.Pod { time.Sleep(time.Hour); return p }
	case "refuses unless configured":
		return plugin.Serve(&configuredOnly{Memory: m})
	case "parent":
		return beParent()
	}
	return plugin.Serve(m)
}

// configuredOnly lists pods for whoever gave the key.
type configuredOnly struct {
	*providertest.Memory
	key atomic.Value
}

func (c *configuredOnly) Configure(ctx context.Context, req providers.ConfigureRequest) (providers.Configured, error) {
	c.key.Store(req.Environment["KEY"])
	return c.Memory.Configure(ctx, req)
}

func (c *configuredOnly) ListPods(ctx context.Context) (providers.PodList, error) {
	if c.key.Load() != "k" {
		return providers.PodList{}, &providers.Error{Kind: providers.Invalid, Message: "no key"}
	}
	return c.Memory.ListPods(ctx)
}

// beParent starts a plugin, tells its process ID and calls it until it is
// killed.
func beParent() int {
	exe, _ := os.Executable()
	p, err := plugin.Start(context.Background(), plugin.Command{
		Name: "memory", Path: exe, Environ: os.Environ(),
		Env: []string{childEnv + "=" + os.Getenv("GRANDCHILD"), "EFFECT_DIR=" + os.Getenv("EFFECT_DIR")},
	})
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	fmt.Println(p.PID())
	_, _ = p.Provider().CreatePod(context.Background(), providers.CreatePod{GPUType: "NVIDIA A40"})
	time.Sleep(time.Hour)
	return 0
}

// slowBoot takes a second and leaves a file when the effect is complete.
func slowBoot(_ providers.CreatePod, p providers.Pod) providers.Pod {
	dir := os.Getenv("EFFECT_DIR")
	_ = os.WriteFile(filepath.Join(dir, "begun"), nil, 0o600)
	time.Sleep(time.Second)
	_ = os.WriteFile(filepath.Join(dir, "finished"), nil, 0o600)
	return p
}

func start(t *testing.T, kind string, change func(*plugin.Command)) (*plugin.Process, error) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := plugin.Command{Name: "memory", Path: exe, Environ: os.Environ(), Env: []string{childEnv + "=" + kind}}
	if change != nil {
		change(&c)
	}
	p, err := plugin.Start(context.Background(), c)
	if err == nil {
		t.Cleanup(func() { _ = p.Close() })
	}
	return p, err
}

func mustStart(t *testing.T, kind string, change func(*plugin.Command)) *plugin.Process {
	t.Helper()
	p, err := start(t, kind, change)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
