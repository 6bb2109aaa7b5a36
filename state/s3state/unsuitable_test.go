package s3state_test

import (
	"crypto/md5"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/state"
	"github.com/overbrainer/overbrainer/state/statetest"
)

// bare is an S3 server that knows only some of the headers of a conditional
// write, as older ones do, and whose clock can be set.
type bare struct {
	knows   map[string]bool
	refuses bool // says so, instead of ignoring them
	later   time.Duration

	mu      sync.Mutex
	objects map[string][]byte
}

func (s *bare) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Date", time.Now().Add(s.later).UTC().Format(http.TimeFormat))
	now, there := s.objects[r.URL.Path]
	switch r.Method {
	case http.MethodGet:
		if !there {
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, "<Error><Code>NoSuchKey</Code></Error>")
			return
		}
		w.Header().Set("ETag", tag(now))
		w.Header().Set("Last-Modified", time.Now().UTC().Format(http.TimeFormat))
		_, _ = w.Write(now)
	case http.MethodPut:
		if status := s.condition(r, now, there); status != 0 {
			w.WriteHeader(status)
			return
		}
		s.objects[r.URL.Path] = body
		w.Header().Set("ETag", tag(body))
	case http.MethodDelete:
		delete(s.objects, r.URL.Path)
		w.WriteHeader(http.StatusNoContent)
	}
}

func (s *bare) condition(r *http.Request, now []byte, there bool) int {
	for header, fails := range map[string]bool{"If-None-Match": there, "If-Match": !there || r.Header.Get("If-Match") != tag(now)} {
		switch {
		case r.Header.Get(header) == "":
		case !s.knows[header] && s.refuses:
			return http.StatusNotImplemented
		case s.knows[header] && fails:
			return http.StatusPreconditionFailed
		}
	}
	return 0
}

func tag(data []byte) string {
	sum := md5.Sum(data)
	return `"` + hex.EncodeToString(sum[:]) + `"`
}

func bareServer(t *testing.T, s *bare) (open func() state.Backend) {
	t.Setenv("AWS_ACCESS_KEY_ID", "tester")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "word")
	s.objects = map[string][]byte{}
	front := httptest.NewServer(s)
	t.Cleanup(front.Close)
	return func() state.Backend { return backend(t, front.URL, "k") }
}

// A server that takes every write keeps nobody apart: it is found out before
// the first state is written, and nothing is left behind.
func TestServerWithoutConditionalWrites(t *testing.T) {
	for name, s := range map[string]*bare{
		"none":                {},
		"refuses them":        {refuses: true},
		"only If-None-Match":  {knows: map[string]bool{"If-None-Match": true}},
		"refuses If-Match":    {knows: map[string]bool{"If-None-Match": true}, refuses: true},
		"only If-Match":       {knows: map[string]bool{"If-Match": true}},
		"refuses If-None-Mat": {knows: map[string]bool{"If-Match": true}, refuses: true},
	} {
		open := bareServer(t, s)
		store := state.Remote(open(), state.RemoteOptions{Dir: t.TempDir(), Version: "test"})
		_, err := store.Update(t.Context(), statetest.Count("n"))
		var told *state.BackendError
		if !errors.As(err, &told) || told.Trouble != state.Unsuitable || told.Hint == "" {
			t.Errorf("%s: %v", name, err)
		}
		if len(s.objects) > 0 {
			t.Errorf("%s: left behind: %v", name, s.objects)
		}
	}
}

// A lock that its holder's machine took to the grave ends by itself, two
// minutes later by the server's clock. A holder that was only slow writes
// nothing any more.
func TestOldLockIsTakenOver(t *testing.T) {
	s := &bare{knows: map[string]bool{"If-None-Match": true, "If-Match": true}}
	open := bareServer(t, s)
	slow, err := open().Begin(t.Context(), state.Lock{ID: "feedbeef0001", Who: "bob@elsewhere"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := slow.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	store := state.Remote(open(), state.RemoteOptions{Dir: t.TempDir(), Version: "test", Wait: 1})
	var locked *state.LockedError
	if _, err := store.Update(t.Context(), statetest.Count("n")); !errors.As(err, &locked) {
		t.Fatalf("a fresh lock: %v", err)
	}
	s.mu.Lock()
	s.later = 3 * time.Minute
	s.mu.Unlock()
	if _, err := store.Update(t.Context(), statetest.Count("n")); err != nil {
		t.Fatalf("an old lock: %v", err)
	}
	if err := slow.Write(t.Context(), []byte("{}")); !errors.Is(err, state.ErrMoved) {
		t.Errorf("the slow writer: %v", err)
	}
}
