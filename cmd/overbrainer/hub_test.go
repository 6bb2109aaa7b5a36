package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/overbrainer/overbrainer/internal/safetext"
	"github.com/overbrainer/overbrainer/plan"
)

// The shape of a model comes from the hub's two answers. Whatever the hub says
// when it refuses, the error has the status only, never the token; one that is
// too slow is named as such; and a name that cannot be a model is never asked
// for.
func TestModelHub(t *testing.T) {
	const token = "hf_canary0123456789"
	var asked atomic.Int64
	stall := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		switch {
		case strings.Contains(r.URL.Path, "gated"):
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, "no access for %s", r.Header.Get("Authorization"))
		case strings.Contains(r.URL.Path, "slow"):
			<-stall
		case strings.HasPrefix(r.URL.Path, "/api/models/"):
			fmt.Fprint(w, `{"safetensors": {"total": 4022468096}}`)
		default:
			fmt.Fprint(w, `{"text_config": {"hidden_size": 2560, "num_hidden_layers": 36}, "vocab_size": 151936}`)
		}
	}))
	defer server.Close()
	defer close(stall)
	a := &app{redactor: safetext.NewRedactor(), known: &secrets{}, environ: func(name string) string {
		return map[string]string{"HF_TOKEN": token, "HF_ENDPOINT": server.URL + "/"}[name]
	}}
	h := a.newHub()
	h.limit = 200 * time.Millisecond
	read := plan.LocalShapes(fstest.MapFS{}, h.shape)

	shape, err := read(t.Context(), "org/Model-4B")
	if want := (plan.ModelShape{Params: 4022468096, Hidden: 2560, Layers: 36, Vocab: 151936}); err != nil || shape != want {
		t.Errorf("%+v, %v", shape, err)
	}
	for model, word := range map[string]string{"org/gated": "401", "org/slow": "too slow"} {
		_, err := read(t.Context(), model)
		if err == nil || !strings.Contains(err.Error(), word) || strings.Contains(err.Error(), token) || strings.Contains(err.Error(), "no access") {
			t.Errorf("%s: %v", model, err)
		}
	}
	asked.Store(0)
	for _, name := range []string{"/etc/x", "../x", "a/b/c", "org/.hidden"} {
		if _, err := read(t.Context(), name); err == nil || asked.Load() > 0 {
			t.Errorf("%q: %v, asked %d times", name, err, asked.Load())
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := read(ended, "org/Model-4B"); err == nil || strings.Contains(err.Error(), "too slow") {
		t.Errorf("cancelled: %v", err)
	}
}
