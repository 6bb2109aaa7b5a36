package providertest

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/providers"
)

// Subject is a provider to be tested: configured, with an account that holds
// nothing. Each test leaves it so, so that several may share one.
type Subject struct {
	Provider providers.Provider
	// Image is one that the provider can run; empty means "busybox".
	Image string
	// Command keeps a pod running; empty means a sleep.
	Command []string
}

// Run checks that a provider keeps the contract. open makes a new subject for
// each test.
func Run(t *testing.T, open func(t *testing.T) Subject) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, *suite){
		"describe":          testDescribe,
		"catalog":           testCatalog,
		"pod life":          testPodLife,
		"unknown pod":       testUnknownPod,
		"unknown GPU type":  testUnknownGPU,
		"concurrent pods":   testConcurrent,
		"cancelled read":    testCancelledRead,
		"log of a pod":      testLog,
		"secrets":           testSecrets,
		"volumes":           testVolumes,
		"templates":         testTemplates,
		"absent parts":      testAbsent,
		"values of any use": testText,
	} {
		t.Run(name, func(t *testing.T) { test(t, newSuite(t, open(t))) })
	}
}

type suite struct {
	Subject
	description providers.Description
	ctx         context.Context
	n           int
	free        bool // as the catalog said when the last request was made
}

func newSuite(t *testing.T, s Subject) *suite {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	d, err := s.Provider.Describe(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if s.Image == "" {
		s.Image = "busybox"
	}
	if s.Command == nil {
		s.Command = []string{"sh", "-c", "sleep 600"}
	}
	return &suite{Subject: s, description: d, ctx: ctx}
}

// request makes a create request for a type that is in stock.
func (s *suite) request(t *testing.T) providers.CreatePod {
	t.Helper()
	c, err := s.Provider.Catalog(s.ctx, providers.CatalogQuery{Cloud: providers.Secure, GPUCount: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range c.GPUs {
		if g.Offered && g.Stock.In() && (g.Price > 0 || c.Free) {
			s.free = c.Free
			s.n++
			run := fmt.Sprintf("train-20261129-%d", s.n)
			return providers.CreatePod{
				Marker: providers.Marker{RunID: run, Lineage: "lineage-1", Attempt: "overbrainer-" + run + "-1"},
				Image:  s.Image, Cloud: providers.Secure, GPUType: g.ID, GPUCount: 1, DiskGB: 20,
				Env: map[string]string{"GREETING": "hello, wörld\n\"$x\""}, Command: s.Command,
			}
		}
	}
	t.Fatal("the catalog has no type in stock")
	return providers.CreatePod{}
}

func wantKind(t *testing.T, what string, err error, kinds ...providers.Kind) {
	t.Helper()
	if !providers.Is(err, kinds...) {
		t.Errorf("%s: error %v is of kind %s, want one of %v", what, err, providers.KindOf(err), kinds)
	}
}

func testDescribe(t *testing.T, s *suite) {
	d := s.description
	if d.Name == "" || d.Version == "" {
		t.Errorf("name %q, version %q", d.Name, d.Version)
	}
	seen := map[string]bool{}
	for _, a := range d.Schema.Attributes {
		if a.Name == "" || seen[a.Name] {
			t.Errorf("attribute %q is empty or named twice", a.Name)
		}
		seen[a.Name] = true
		if a.Type != providers.String && a.Type != providers.Bool && a.Type != providers.Number {
			t.Errorf("attribute %s has type %q", a.Name, a.Type)
		}
	}
	if d.Has(providers.CapSecrets) && strings.Count(d.SecretPlaceholder, "%s") != 1 {
		t.Errorf("secret placeholder %q", d.SecretPlaceholder)
	}
	if d.Has(providers.CapVolumes) && !strings.HasPrefix(d.VolumeMount, "/") {
		t.Errorf("volume mount %q", d.VolumeMount)
	}
	if d.Has(providers.CapGuard) {
		testGuard(t, d.Guard)
	}
}

// testGuard checks that the guard's text is shell that only defines functions.
func testGuard(t *testing.T, g providers.Guard) {
	script := "set -eu\n" + g.Functions + "\ncommand -v provider_probe\ncommand -v provider_delete\n"
	out, err := exec.Command("sh", "-c", script).CombinedOutput()
	if err != nil || string(out) != "provider_probe\nprovider_delete\n" {
		t.Errorf("guard functions: %v, %q", err, out)
	}
}

func testCatalog(t *testing.T, s *suite) {
	for _, count := range []int{0, 1, 2} {
		c, err := s.Provider.Catalog(s.ctx, providers.CatalogQuery{Cloud: providers.Secure, GPUCount: count})
		if err != nil {
			t.Fatal(err)
		}
		if len(c.GPUs) == 0 {
			t.Error("no GPU types")
		}
		seen := map[string]bool{}
		for _, g := range c.GPUs {
			if g.ID == "" || g.ID == "unknown" || seen[g.ID] {
				t.Errorf("type %q is empty, unknown or listed twice", g.ID)
			}
			seen[g.ID] = true
			if g.Price < 0 || g.VRAMGB < 0 || g.MaxCount < 0 || g.Stock == "" {
				t.Errorf("%+v", g)
			}
			if c.Free && g.Price != 0 {
				t.Errorf("%s has a price where everything is free: %v", g.ID, g.Price)
			}
		}
		if age := time.Since(c.ServerTime); !c.ServerTime.IsZero() && (age < -24*time.Hour || age > 24*time.Hour) {
			t.Logf("the provider's clock is %s off", age)
		}
	}
}

func testConcurrent(t *testing.T, s *suite) {
	const n = 5
	reqs := make([]providers.CreatePod, n)
	for i := range reqs {
		reqs[i] = s.request(t)
	}
	ids := make([]string, n)
	var wg sync.WaitGroup
	for i := range reqs {
		wg.Go(func() {
			p, err := s.Provider.CreatePod(s.ctx, reqs[i])
			if err != nil {
				t.Error(err)
			}
			ids[i] = p.ID
		})
	}
	wg.Wait()
	seen := map[string]bool{}
	for _, id := range ids {
		if id == "" || seen[id] {
			t.Errorf("pod IDs %q", ids)
		}
		seen[id] = true
		wg.Go(func() {
			if existed, err := s.Provider.DeletePod(s.ctx, id); err != nil || !existed {
				t.Errorf("delete %s: %v, %v", id, existed, err)
			}
		})
	}
	wg.Wait()
}
