package runpod_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/providers/runpod"
)

// frame writes one event.
func frame(id, data string) string {
	s := ""
	if id != "" {
		s += "id: " + id + "\n"
	}
	if data != "" {
		s += "data: " + data + "\n"
	}
	return s + "\n"
}

func payload(source, line string) string {
	return fmt.Sprintf(`{"ts":"2026-11-29T09:15:07Z","source":%q,"line":%q}`, source, line)
}

// stream answers with an event stream in the given pieces.
func stream(w http.ResponseWriter, pieces ...string) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	for _, p := range pieces {
		_, _ = io.WriteString(w, p)
		w.(http.Flusher).Flush()
	}
}

// replay reads a log once.
func replay(t *testing.T, a *api, cursor string) ([]providers.LogLine, error) {
	t.Helper()
	var got []providers.LogLine
	err := a.provider().PodLogs(ctx, providers.LogRequest{PodID: "p1", Cursor: cursor}, func(l providers.LogLine) error {
		got = append(got, l)
		return nil
	})
	return got, err
}

func TestStreamReader(t *testing.T) {
	big := strings.Repeat("x", 2<<20)
	line := func(cursor, text string) providers.LogLine {
		return providers.LogLine{Cursor: cursor, Time: "2026-11-29T09:15:07Z", Source: providers.LogContainer, Text: text}
	}
	raw := func(cursor, text string) providers.LogLine {
		return providers.LogLine{Cursor: cursor, Source: providers.LogRaw, Text: text}
	}
	for _, test := range []struct {
		name   string
		pieces []string
		want   []providers.LogLine
	}{
		{"pieces", []string{"id: c/1\nda", "ta: " + payload("container", "one")[:20], payload("container", "one")[20:] + "\n", "\n"}, []providers.LogLine{line("c/1", "one")}},
		{"CR LF", []string{"id: c/1\r\ndata: " + payload("container", "one") + "\r\n\r\n"}, []providers.LogLine{line("c/1", "one")}},
		{"several data lines", []string{"id:c/1\ndata:one\ndata: two\n\n"}, []providers.LogLine{raw("c/1", "one\ntwo")}},
		{"no blank line at the end", []string{"id: c/1\ndata: " + payload("container", "one") + "\n"}, []providers.LogLine{line("c/1", "one")}},
		{"no line end at the end", []string{"id: c/1\ndata: " + payload("container", "one")}, []providers.LogLine{line("c/1", "one")}},
		{"torn at the end", []string{frame("c/1", payload("container", "one")), "id: c/2\ndata: {\"ts\":\"2026"}, []providers.LogLine{line("c/1", "one")}},
		{"torn cursor", []string{"id: c/1234"}, []providers.LogLine{}},
		{"comments and lone cursors", []string{": keep alive\n\n", "id: c/7\n\n", ": x\nevent: ping\n\n"}, []providers.LogLine{{Cursor: "c/7"}}},
		{"empty line", []string{frame("c/1", payload("container", ""))}, []providers.LogLine{{Cursor: "c/1", Time: "2026-11-29T09:15:07Z", Source: providers.LogContainer}}},
		{"long line", []string{frame("c/1", big), frame("c/2", payload("system", "next"))},
			[]providers.LogLine{raw("c/1", big[:1<<20-len("data: ")]+" [cut]"), {Cursor: "c/2", Time: "2026-11-29T09:15:07Z", Source: providers.LogSystem, Text: "next"}}},
		{"long frame", []string{"id: c/1\n" + strings.Repeat("data: "+big[:1<<20-6]+"\n", 6) + "\n", frame("c/2", payload("container", "next"))}, nil},
		{"long comment", []string{":" + big + "\n\n", frame("c/2", payload("container", "next"))}, []providers.LogLine{line("c/2", "next")}},
		{"odd time and source", []string{frame("c/1", `{"ts":"yesterday","source":"kernel","line":"x"}`)}, []providers.LogLine{raw("c/1", "x")}},
		{"no payload", []string{frame("c/1", `{"other":1}`), frame("", "plain")}, []providers.LogLine{raw("c/1", `{"other":1}`), raw("", "plain")}},
		{"unusable cursor", []string{frame("ünï", payload("container", "x")), frame(strings.Repeat("c", 201), payload("container", "y"))},
			[]providers.LogLine{line("", "x"), line("", "y")}},
		{"secrets", []string{frame("c/1", payload("container", "NAME_KEY=rpa_ABCDEFGHIJ "+apiKey))}, []providers.LogLine{line("c/1", "NAME_KEY=*** ***")}},
		{"not UTF-8", []string{"id: c/1\ndata: a\xffb\n\n"}, []providers.LogLine{raw("c/1", "a\ufffdb")}},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := newAPI(t)
			a.handle = func(w http.ResponseWriter, _ *http.Request) { stream(w, test.pieces...) }
			got, err := replay(t, a, "")
			if err != nil {
				t.Fatal(err)
			}
			if test.name == "long frame" {
				if len(got) != 2 || len(got[0].Text) != 4<<20+len(" [cut]") || got[1].Text != "next" {
					t.Errorf("%d lines", len(got))
				}
				return
			}
			if fmt.Sprint(got) != fmt.Sprint(test.want) {
				t.Errorf("\n got %.300v\nwant %.300v", got, test.want)
			}
		})
	}
}

func TestReplayEnds(t *testing.T) {
	a := newAPI(t)
	a.handle = func(w http.ResponseWriter, r *http.Request) {
		stream(w, frame("c/1", payload("container", "one")), frame("c/2", payload("container", "two")))
		<-r.Context().Done()
	}
	begin := time.Now()
	got, err := replay(t, a, "")
	if err != nil || len(got) != 2 || time.Since(begin) > 4*time.Second {
		t.Errorf("%v, %v after %s", got, err, time.Since(begin))
	}
	if q := a.got()[0].query; q != "tail=5000" {
		t.Error(q)
	}
}

func TestReplayRefusals(t *testing.T) {
	_, err := replay(t, newAPI(t, reply{status: 200, body: "{}"}), "")
	wantError(t, err, providers.Transient, 200, "not a log stream")
	_, err = replay(t, newAPI(t, problem(404, "resource not found")), "")
	wantError(t, err, providers.NotFound, 404)
}

func TestFollowing(t *testing.T) {
	a := newAPI(t)
	a.handle = func(w http.ResponseWriter, _ *http.Request) {
		switch len(a.got()) {
		case 1:
			stream(w, frame("c/1", payload("container", "1")), frame("c/2", payload("container", "2")))
		case 2:
			stream(w, frame("c/3", payload("container", "3")))
		default:
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(404)
			_, _ = io.WriteString(w, `{"title":"Not Found","status":404}`)
		}
	}
	var got []string
	err := a.provider().PodLogs(ctx, providers.LogRequest{PodID: "p1", Follow: true}, func(l providers.LogLine) error {
		got = append(got, l.Text)
		return nil
	})
	wantError(t, err, providers.NotFound, 404)
	if fmt.Sprint(got) != "[1 2 3]" {
		t.Error(got)
	}
	a.count(3)
	r := a.got()
	if r[1].header.Get("Last-Event-ID") != "c/2" || r[1].query != "" || r[2].header.Get("Last-Event-ID") != "c/3" {
		t.Errorf("%+v", r)
	}
	a.waited(500*time.Millisecond, 500*time.Millisecond)
}

func TestFollowingBacksOff(t *testing.T) {
	limited := reply{status: 429, headers: map[string]string{"Retry-After": "300"}}
	a := newAPI(t, reply{drop: true}, reply{status: 503}, reply{status: 200, body: "{}"}, reply{status: 502}, reply{status: 500}, reply{status: 500}, limited, problem(401, "no "+apiKey))
	err := a.provider().PodLogs(ctx, providers.LogRequest{PodID: "p1", Follow: true}, nil)
	wantError(t, err, providers.Unauthenticated, 401)
	// The last one waits until the limit is lifted, and looks each minute.
	a.waited(500*time.Millisecond, time.Second, 2*time.Second, 4*time.Second, 8*time.Second, 15*time.Second,
		time.Minute, time.Minute, time.Minute, time.Minute, time.Minute)
	for _, status := range []int{400, 401, 403, 404, 422} {
		a := newAPI(t, problem(status, "no "+apiKey))
		err := a.provider().PodLogs(ctx, providers.LogRequest{PodID: "p1", Follow: true}, nil)
		if err == nil {
			t.Errorf("%d: no error", status)
			continue
		}
		noSecret(t, err.Error())
		a.count(1)
	}
}

func TestRefusedCursor(t *testing.T) {
	for cursor, query := range map[string]string{
		"2026-11-29T09:15:07Z/000042": "since=2026-11-29T09%3A15%3A07Z",
		"opaque":                      "tail=5000",
	} {
		for _, status := range []int{400, 422} {
			a := newAPI(t)
			a.handle = func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Last-Event-ID") != "" {
					w.WriteHeader(status)
					return
				}
				stream(w, frame("c/9", payload("container", "back")))
			}
			got, err := replay(t, a, cursor)
			if err != nil || len(got) != 1 || got[0].Text != "back" {
				t.Errorf("%v, %v", got, err)
			}
			if r := a.got(); len(r) != 2 || r[0].query != "" || r[1].query != query {
				t.Errorf("%+v", r)
			}
		}
	}
}

func TestFollowingEndsWithItsTakerOrContext(t *testing.T) {
	a := newAPI(t)
	a.handle = func(w http.ResponseWriter, r *http.Request) {
		stream(w, frame("c/1", payload("container", "1")))
		<-r.Context().Done()
	}
	full := errors.New("disk full")
	err := a.provider().PodLogs(ctx, providers.LogRequest{PodID: "p1", Follow: true}, func(providers.LogLine) error { return full })
	if !errors.Is(err, full) {
		t.Error(err)
	}
	live, cancel := context.WithCancel(ctx)
	err = a.provider().PodLogs(live, providers.LogRequest{PodID: "p1", Follow: true}, func(providers.LogLine) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func FuzzLogStream(f *testing.F) {
	f.Add([]byte(frame("c/1", payload("container", "one"))))
	f.Add([]byte("data: {\n\ndata\nid\n:\r\n\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) { drainStream(t, data) })
}

func drainStream(t *testing.T, data []byte) {
	if n := runpod.DrainStream(data); n > len(data) {
		t.Errorf("%d events in %d bytes", n, len(data))
	}
}
