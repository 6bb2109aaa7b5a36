package runpod_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/providers/runpod"
)

// apiKey and hostKey are the secrets that must show nowhere.
const (
	apiKey  = "rpx-K3y0fTh3Acc0untAbcdefgh"
	hostKey = "LS0tLS1CRUdJTiBPUEVOU1NIIFBSSVZBVEUgS0VZ"
)

// reply is one scripted answer.
type reply struct {
	status  int
	body    string
	headers map[string]string
	drop    bool // cut the connection instead
}

// seen is one request as it arrived.
type seen struct {
	method, path, query, body string
	header                    http.Header
}

// api plays the API from a script: replies in order, the last one for ever.
type api struct {
	*httptest.Server
	t *testing.T

	mu       sync.Mutex
	requests []seen
	waits    []time.Duration
	script   []reply
	// handle, when set, answers instead of the script.
	handle http.HandlerFunc
}

func newAPI(t *testing.T, script ...reply) *api {
	t.Helper()
	a := &api{t: t, script: script}
	a.Server = httptest.NewServer(a)
	t.Cleanup(a.Close)
	return a
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	a.mu.Lock()
	a.requests = append(a.requests, seen{r.Method, r.URL.EscapedPath(), r.URL.RawQuery, string(body), r.Header.Clone()})
	var next reply
	if len(a.script) > 0 {
		next = a.script[0]
		if len(a.script) > 1 {
			a.script = a.script[1:]
		}
	}
	handle := a.handle
	a.mu.Unlock()
	if handle != nil {
		handle(w, r)
		return
	}
	if next.drop {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_ = conn.Close()
		}
		return
	}
	w.Header().Set("Content-Type", "application/json")
	for k, v := range next.headers {
		w.Header().Set(k, v)
	}
	w.WriteHeader(next.status)
	_, _ = io.WriteString(w, next.body)
}

func (a *api) provider() *runpod.Provider {
	a.t.Helper()
	p, err := runpod.NewForTest(a.URL+"/v2/", apiKey, func(ctx context.Context, d time.Duration) error {
		a.mu.Lock()
		a.waits = append(a.waits, d)
		a.mu.Unlock()
		return ctx.Err()
	})
	if err != nil {
		a.t.Fatal(err)
	}
	return p
}

func (a *api) got() []seen {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]seen(nil), a.requests...)
}

func (a *api) count(want int) {
	a.t.Helper()
	if n := len(a.got()); n != want {
		a.t.Errorf("%d requests, want %d", n, want)
	}
}

func (a *api) waited(want ...time.Duration) {
	a.t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if fmt.Sprint(a.waits) != fmt.Sprint(want) {
		a.t.Errorf("waited %v, want %v", a.waits, want)
	}
}

// errorOf gives an error of the contract.
func errorOf(t *testing.T, err error) *providers.Error {
	t.Helper()
	var e *providers.Error
	if !errors.As(err, &e) {
		t.Fatalf("%T: %v", err, err)
	}
	return e
}

// wantError checks an error's kind, status and text, and that it shows no
// secret in any form of printing.
func wantError(t *testing.T, err error, kind providers.Kind, status int, texts ...string) {
	t.Helper()
	e := errorOf(t, err)
	if e.Kind != kind || e.Status != status {
		t.Errorf("kind %s, status %d: %v; want %s, %d", e.Kind, e.Status, e, kind, status)
	}
	for _, text := range texts {
		if !strings.Contains(e.Error(), text) {
			t.Errorf("%q is not in %q", text, e)
		}
	}
	noSecret(t, fmt.Sprintf("%v %+v %#v", err, *e, *e))
}

// noSecret checks that no 8 characters of a secret stand in text.
func noSecret(t *testing.T, text string) {
	t.Helper()
	for _, secret := range []string{apiKey, hostKey} {
		for i := 0; i+8 <= len(secret); i++ {
			if strings.Contains(text, secret[i:i+8]) {
				t.Errorf("a piece of a secret in %q", text)
				return
			}
		}
	}
}

func problem(status int, detail string) reply {
	return reply{status: status, body: fmt.Sprintf(`{"title":"%s","status":%d,"detail":%q}`, http.StatusText(status), status, detail),
		headers: map[string]string{"Content-Type": "application/problem+json"}}
}

const podBody = `{"id":"q3w8z0m5t1xk7","name":"overbrainer-r-1","status":"RUNNING","cost":2.18,"cloud":"SECURE","disk":60,
 "gpu":{"id":"NVIDIA L40S","count":2},"dataCenterId":"US-NC-1","cudaVersion":"12.8","createdAt":"2026-11-29T09:14:02.118Z",
 "mounts":{"network":[{"volumeId":"v7k2p0xw3d","path":"/workspace/data"}]},"template":null,"future":{"x":[1]},
 "env":{"OVERBRAINER_RUN_ID":"r","OVERBRAINER_LINEAGE":"l","TOKEN":"{{ RUNPOD_SECRET_x }}"},
 "ssh":{"proxy":null,"direct":{"host":"203.0.113.9","port":40122,"username":"root"}}}`
