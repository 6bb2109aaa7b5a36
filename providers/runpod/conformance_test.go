package runpod_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/providers/providertest"
	"github.com/overbrainer/overbrainer/providers/runpod"
	"github.com/overbrainer/overbrainer/providers/runpod/openapitest"
	"github.com/overbrainer/overbrainer/providers/runpod/sim"
)

// TestConformsOnTheSimulator runs the conformance suite against a simulator.
// Where the API's description is at hand, every request and answer in between
// is checked against it.
func TestConformsOnTheSimulator(t *testing.T) {
	base := serveSimulator(t)
	if openapitest.Directory() != "" {
		base = inspect(t, base)
	}
	providertest.Run(t, func(t *testing.T) providertest.Subject {
		p, c := configure(t, map[string]string{"RUNPOD_API_KEY": apiKey}, map[string]any{"api_url": base + "/v2"})
		if len(c.Problems) > 0 {
			t.Fatalf("%+v", c.Problems)
		}
		return providertest.Subject{Provider: p}
	})
}

// serveSimulator runs a simulator for one test and gives its address.
func serveSimulator(t *testing.T) string {
	t.Helper()
	home := filepath.Join(t.TempDir(), "home")
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- sim.Serve(ctx, sim.Options{Home: home, Build: "test", Form: sim.FormRelocated}) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("simulator: %v", err)
		}
	})
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("simulator: %v", err)
		default:
		}
		a, err := sim.ReadAddress(home)
		if err != nil {
			continue
		}
		pull := 0.0
		if err := (&sim.Client{URL: a.URL}).Adjust(t.Context(), sim.Settings{PullSeconds: &pull}); err != nil {
			t.Fatal(err)
		}
		return a.URL
	}
	t.Fatal("the simulator has no address")
	return ""
}

// inspect puts a proxy in front of the simulator that reports what does not fit
// the description.
func inspect(t *testing.T, base string) string {
	t.Helper()
	target, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		FlushInterval: -1,
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	server := httptest.NewServer(openapitest.Load(t).Handler(proxy, func(err error) { t.Error(err) }))
	t.Cleanup(server.Close)
	return server.URL
}

var _ providers.Provider = (*runpod.Provider)(nil)
