package runpod_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/providers/runpod"
)

var ctx = context.Background()

func TestReadsAreRetried(t *testing.T) {
	p := func(a *api) map[string]func() error {
		c := a.provider()
		return map[string]func() error{
			"catalog":   func() error { _, err := c.Catalog(ctx, providers.CatalogQuery{GPUCount: 1}); return err },
			"pods":      func() error { _, err := c.ListPods(ctx); return err },
			"volumes":   func() error { _, err := c.ListVolumes(ctx); return err },
			"templates": func() error { _, err := c.ListTemplates(ctx); return err },
			"secrets":   func() error { _, err := c.ListSecrets(ctx, ""); return err },
		}
	}
	for name := range p(newAPI(t)) {
		t.Run(name, func(t *testing.T) {
			a := newAPI(t, reply{status: 503}, reply{status: 429, headers: map[string]string{"Retry-After": "0"}}, reply{status: 200, body: "{}"})
			if err := p(a)[name](); err != nil {
				t.Fatal(err)
			}
			// The catalog is two listings; the second one is not held up.
			if want := map[bool]int{true: 4, false: 3}[name == "catalog"]; len(a.got()) != want {
				t.Errorf("%d requests", len(a.got()))
			}
			a.waited(time.Second, time.Second)
		})
	}
}

func TestRetryDelays(t *testing.T) {
	limited := func(h map[string]string) reply { return reply{status: 429, headers: h} }
	for _, test := range []struct {
		name   string
		script []reply
		want   []time.Duration
		told   time.Duration // that its caller should wait
	}{
		{"doubling", []reply{{status: 500}}, []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second}, 0},
		{"asked for", []reply{limited(map[string]string{"Retry-After": "2"}), {status: 200, body: "{}"}}, []time.Duration{2 * time.Second}, 0},
		{"asked for long", []reply{limited(map[string]string{"Retry-After": "22"}), {status: 200, body: "{}"}}, nil, 22 * time.Second},
		{"asked for again and again", []reply{limited(map[string]string{"Retry-After": "1"})},
			slices.Repeat([]time.Duration{time.Second}, 2), time.Second},
		{"not told for how long", []reply{limited(nil)}, []time.Duration{time.Second}, 2 * time.Second},
		{"capped", []reply{limited(map[string]string{"Retry-After": "4000"})}, nil, 600 * time.Second},
		{"a date is not read", []reply{{status: 503, headers: map[string]string{"Retry-After": "Sun, 29 Nov 2026 10:00:00 GMT"}}, {status: 200, body: "{}"}},
			[]time.Duration{time.Second}, 0},
		{"another window is used up", []reply{limited(map[string]string{"Retry-After": "5", "RateLimit": `"minute";r=0;t=5, "hour";r=0;t=27, "day";r=4;t=900`}),
			{status: 200, body: "{}"}}, nil, 900 * time.Second},
		{"only the header of windows", []reply{limited(map[string]string{"RateLimit": `"minute"; r=0; t=2`}), {status: 200, body: "{}"}}, []time.Duration{2 * time.Second}, 0},
		{"windows count for 429 only", []reply{{status: 503, headers: map[string]string{"RateLimit": `"hour";r=0;t=77`}}, {status: 200, body: "{}"}},
			[]time.Duration{time.Second}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := newAPI(t, test.script...)
			_, err := a.provider().ListPods(ctx)
			a.waited(test.want...)
			if test.told > 0 && errorOf(t, err).RetryAfter != test.told {
				t.Errorf("%v, told to wait %s, want %s", err, errorOf(t, err).RetryAfter, test.told)
			}
		})
	}
	// What is to be done waits longer than a look, and not for ever either.
	a := newAPI(t, limited(map[string]string{"Retry-After": "400"}))
	_, err := a.provider().DeletePod(ctx, "p1")
	wantError(t, err, providers.RateLimited, 429)
	a.waited(400 * time.Second)
	if e := errorOf(t, err); e.RetryAfter != 400*time.Second {
		t.Errorf("asked to wait %s", e.RetryAfter)
	}
}

func TestRequestsCarry(t *testing.T) {
	a := newAPI(t, reply{status: 200, body: "{}"})
	if _, err := a.provider().ListPods(ctx); err != nil {
		t.Fatal(err)
	}
	r := a.got()[0]
	if r.header.Get("Authorization") != "Bearer "+apiKey || r.header.Get("User-Agent") != "overbrainer/1.2.3" {
		t.Errorf("%v", r.header)
	}
	if r.path != "/v2/pods" || r.query != "limit=1000" {
		t.Errorf("%s?%s", r.path, r.query)
	}
}

func TestUnknownObjects(t *testing.T) {
	gone := problem(404, "resource not found")
	a := newAPI(t, gone)
	_, err := a.provider().GetPod(ctx, "p1")
	wantError(t, err, providers.NotFound, 404)
	if existed, err := newAPI(t, gone).provider().DeletePod(ctx, "p1"); existed || err != nil {
		t.Errorf("%v, %v", existed, err)
	}
	for name, r := range map[string]reply{
		"page":             {status: 404, body: "<html>not found</html>", headers: map[string]string{"Content-Type": "text/html"}},
		"empty":            {status: 404},
		"list":             {status: 404, body: `[{"title":"x"}]`},
		"status disagrees": {status: 404, body: `{"title":"x","status":500}`},
		"neither":          {status: 404, body: `{"message":"no route"}`},
		"null":             {status: 404, body: `null`},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAPI(t, r)
			_, err := a.provider().GetPod(ctx, "p1")
			wantError(t, err, providers.Transient, 404)
			_, err = a.provider().DeletePod(ctx, "p1")
			wantError(t, err, providers.Unknown, 404)
			a.count(2)
		})
	}
	for name, body := range map[string]string{"status": `{"status":404}`, "title": `{"title":"Not Found"}`, "detail": `{"detail":""}`} {
		_, err := newAPI(t, reply{status: 404, body: body}).provider().GetPod(ctx, "p1")
		if !providers.Is(err, providers.NotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDeleteIsRetried(t *testing.T) {
	a := newAPI(t, reply{status: 500}, reply{status: 204})
	if existed, err := a.provider().DeletePod(ctx, "p1"); err != nil || !existed {
		t.Errorf("%v, %v", existed, err)
	}
	a.count(2)
	_, err := newAPI(t, reply{status: 500}).provider().DeletePod(ctx, "p1")
	wantError(t, err, providers.Ambiguous, 500)
	_, err = newAPI(t, problem(409, "member of a cluster")).provider().DeletePod(ctx, "p1")
	wantError(t, err, providers.Conflict, 409, "member of a cluster")
}

func TestRefusedKey(t *testing.T) {
	a := newAPI(t, problem(401, "bad token "+apiKey))
	_, err := a.provider().GetPod(ctx, "p1")
	wantError(t, err, providers.Unauthenticated, 401, "RUNPOD_API_KEY")
	a.count(1)

	_, err = newAPI(t, reply{status: 403, body: "error code: 1010", headers: map[string]string{"Content-Type": "text/plain"}}).provider().ListPods(ctx)
	wantError(t, err, providers.Forbidden, 403, "permission denied", "error code: 1010")
	_, err = newAPI(t, problem(403, "access denied to "+apiKey)).provider().ListPods(ctx)
	wantError(t, err, providers.Forbidden, 403, "permission denied", "RUNPOD_API_KEY")

	for _, key := range []string{"two\nlines", "with blank", "ünïcode", "tab\t"} {
		if _, err := runpod.NewForTest("https://x", key, nil); err == nil || strings.Contains(err.Error(), key) {
			t.Errorf("key %q: %v", key, err)
		}
	}
}

func TestPages(t *testing.T) {
	page := func(id, next string, more bool) reply {
		return reply{status: 200, body: fmt.Sprintf(`{"pods":[{"id":%q},null],"pagination":{"nextCursor":%q,"hasNextPage":%v}}`, id, next, more)}
	}
	a := newAPI(t, page("one", "c2", true), page("two", "", false))
	list, err := a.provider().ListPods(ctx)
	if err != nil || len(list.Pods) != 2 || list.Pods[0].ID != "one" || list.Pods[1].ID != "two" {
		t.Errorf("%+v, %v", list, err)
	}
	if r := a.got(); r[0].query != "limit=1000" || r[1].query != "cursor=c2&limit=1000" {
		t.Errorf("%+v", r)
	}
	if list.ServerTime.IsZero() || time.Since(list.ServerTime) > time.Minute {
		t.Errorf("server time %s", list.ServerTime)
	}

	a = newAPI(t, page("one", "c2", true))
	_, err = a.provider().ListPods(ctx)
	wantError(t, err, providers.Transient, 200, "circles")
	a.count(2)

	n := 0
	a = newAPI(t)
	a.handle = func(w http.ResponseWriter, _ *http.Request) {
		n++
		_, _ = fmt.Fprintf(w, `{"pods":[],"pagination":{"nextCursor":"c%d","hasNextPage":true}}`, n)
	}
	_, err = a.provider().ListPods(ctx)
	wantError(t, err, providers.Transient, 0, "100 pages")
	a.count(100)

	_, err = newAPI(t, reply{status: 200, body: `{"pods":[{"id":"../etc"}]}`}).provider().ListPods(ctx)
	wantError(t, err, providers.Transient, 200, "usable ID")
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	elsewhere := newAPI(t, reply{status: 200, body: "{}"})
	a := newAPI(t, reply{status: 302, headers: map[string]string{"Location": elsewhere.URL}})
	_, err := a.provider().ListPods(ctx)
	wantError(t, err, providers.Unknown, 302, "redirect")
	elsewhere.count(0)
}

func TestAnswersAreBounded(t *testing.T) {
	for _, length := range []bool{true, false} {
		a := newAPI(t)
		a.handle = func(w http.ResponseWriter, _ *http.Request) {
			if length {
				w.Header().Set("Content-Length", fmt.Sprint(9<<20))
			}
			chunk := []byte(strings.Repeat(" ", 1<<20))
			for range 9 {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		}
		_, err := a.provider().GetPod(ctx, "p1")
		wantError(t, err, providers.Unknown, 200, "8 MiB")
		a.count(1)
	}
}

// TestListsOfManyPods: a pod's start command is in it twice, so a list of some
// hundred is large, and without it nothing can be looked at or swept.
func TestListsOfManyPods(t *testing.T) {
	const pods = 600
	command := strings.Repeat("x", 70<<10)
	a := newAPI(t)
	a.handle = func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"pods":[`)
		for i := range pods {
			if i > 0 {
				fmt.Fprint(w, ",")
			}
			fmt.Fprintf(w, `{"id":"pod%d","args":%q}`, i, command)
		}
		fmt.Fprint(w, `],"pagination":{"hasNextPage":false}}`)
	}
	list, err := a.provider().ListPods(ctx)
	if err != nil || len(list.Pods) != pods {
		t.Errorf("%d pods, %v", len(list.Pods), err)
	}
}

func TestUnreadableAnswersQuoteNothing(t *testing.T) {
	_, err := newAPI(t, reply{status: 200, body: "{\"id\":\"p1\",\n \"env\":\"" + apiKey + "\"}"}).provider().GetPod(ctx, "p1")
	wantError(t, err, providers.Transient, 200, "line 2, column")
	_, err = newAPI(t, reply{status: 200, body: apiKey}).provider().GetPod(ctx, "p1")
	wantError(t, err, providers.Transient, 200, "line 1, column 1")
	_, err = newAPI(t, reply{status: 200}).provider().GetPod(ctx, "p1")
	wantError(t, err, providers.Transient, 200, "not readable")
	_, err = newAPI(t, reply{status: 200, body: `{"id":"p2"}`}).provider().GetPod(ctx, "p1")
	wantError(t, err, providers.Transient, 200, "another pod")
}

func TestDetailsAreMasked(t *testing.T) {
	echo := problem(400, "cannot use "+apiKey+" here")
	p := newAPI(t, echo).provider()
	for name, call := range map[string]func() error{
		"catalog":   func() error { _, err := p.Catalog(ctx, providers.CatalogQuery{}); return err },
		"pods":      func() error { _, err := p.ListPods(ctx); return err },
		"volumes":   func() error { _, err := p.ListVolumes(ctx); return err },
		"templates": func() error { _, err := p.ListTemplates(ctx); return err },
		"secrets":   func() error { _, err := p.ListSecrets(ctx, "x"); return err },
	} {
		t.Run(name, func(t *testing.T) {
			wantError(t, call(), providers.Rejected, 400, "cannot use *** here")
		})
	}
	long := problem(400, strings.Repeat("wörd ", 200)+"\x1b[31m")
	_, err := newAPI(t, long).provider().ListPods(ctx)
	if e := errorOf(t, err); len([]rune(e.Detail)) != 300 {
		t.Errorf("detail of %d characters", len([]rune(e.Detail)))
	}
	list := reply{status: 422, body: `{"title":"Unprocessable Entity","status":422,"detail":"Request validation failed.",
		"errors":["$: missing property 'name'",{"message":"two"},{"detail":"three"},{"x":4}]}`}
	_, err = newAPI(t, list).provider().ListPods(ctx)
	wantError(t, err, providers.Invalid, 422, `Request validation failed.; $: missing property 'name'; two; three; {"x":4}`)
}

func TestTransportErrors(t *testing.T) {
	a := newAPI(t, reply{drop: true})
	_, err := a.provider().ListPods(ctx)
	wantError(t, err, providers.Transient, 0, "no usable answer")
	a.count(6)
	if strings.Contains(err.Error(), a.URL) {
		t.Errorf("%v names the address", err)
	}
	p, err := runpod.NewForTest("http://127.0.0.1:1/v2", apiKey, func(context.Context, time.Duration) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.ListPods(ctx)
	wantError(t, err, providers.Transient, 0, "refused")
}

func TestInterruptedCalls(t *testing.T) {
	ended, cancel := context.WithCancel(ctx)
	cancel()
	a := newAPI(t, reply{status: 204})
	_, err := a.provider().DeletePod(ended, "p1")
	wantError(t, err, providers.Transient, 0, "before the request was sent")
	a.count(0)

	// A request that was sent is finished; nothing more is begun.
	live, cancel := context.WithCancel(ctx)
	a = newAPI(t)
	a.handle = func(w http.ResponseWriter, _ *http.Request) {
		cancel()
		time.Sleep(20 * time.Millisecond)
		w.WriteHeader(503)
	}
	_, err = a.provider().DeletePod(live, "p1")
	wantError(t, err, providers.Ambiguous, 503)
	a.count(1)
}

func TestUnconfigured(t *testing.T) {
	_, err := runpod.New(runpod.Options{}).ListPods(ctx)
	wantError(t, err, providers.Invalid, 0, "not configured")
}
