package httpstate_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/state"
	"github.com/overbrainer/overbrainer/state/httpstate"
	"github.com/overbrainer/overbrainer/state/statetest"
)

func TestMain(m *testing.M) {
	statetest.Main(m, func(address string) (state.Backend, error) { return open(address) })
}

func open(address string) (*httpstate.Backend, error) {
	return httpstate.New(httpstate.Config{
		Address: address, LockAddress: address, Username: "ann", Password: "s3cr3t-word",
		RetryMax: 1, RetryWaitMin: 10 * time.Millisecond, RetryWaitMax: 20 * time.Millisecond,
	})
}

func TestConformance(t *testing.T) {
	statetest.RunRemote(t, func(t *testing.T) statetest.RemotePlace {
		s := &statetest.HTTPServer{User: "ann", Password: "s3cr3t-word"}
		http := httptest.NewServer(s)
		t.Cleanup(http.Close)
		proxy := statetest.NewProxy(t, http.Listener.Addr().String())
		address := "http://" + proxy.Addr() + "/state/project"
		return statetest.RemotePlace{
			Backend: func() state.Backend {
				b, err := open(address)
				if err != nil {
					t.Fatal(err)
				}
				return b
			},
			Proxy: proxy,
			Write: "POST /state/project?ID=",
			Put:   func(_ *testing.T, data []byte) { s.Put(data) },
			Args:  address,
		}
	})
}

// What a server says that cannot be used is told with what to do, and without
// the password.
func TestAnswersThatCannotBeUsed(t *testing.T) {
	for _, test := range []struct {
		status  int
		trouble state.Trouble
		words   string
	}{
		{http.StatusUnauthorized, state.Denied, "OVERBRAINER_HTTP_PASSWORD"},
		{http.StatusForbidden, state.Denied, "Maintainer"},
		{http.StatusMethodNotAllowed, state.Unsuitable, "lock_method"},
		{http.StatusServiceUnavailable, state.Unreachable, "later"},
		{http.StatusFound, state.Refused, ""},
		{http.StatusTeapot, state.Refused, ""},
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "http://elsewhere.invalid/")
			w.WriteHeader(test.status)
		}))
		address := srv.URL + "/?private_token=s3cr3t-word"
		b, err := open(address)
		if err != nil {
			t.Fatal(err)
		}
		_, readErr := b.Read(t.Context())
		_, beginErr := b.Begin(t.Context(), state.Lock{ID: "1"})
		srv.Close()
		_, goneErr := b.Read(t.Context())
		for _, err := range []error{readErr, beginErr, goneErr} {
			var told *state.BackendError
			if !errors.As(err, &told) {
				t.Fatalf("%d: %v", test.status, err)
			}
			want := test.trouble
			if err == goneErr {
				want = state.Unreachable
			} else if !strings.Contains(told.Hint, test.words) {
				t.Errorf("%d: hint %q", test.status, told.Hint)
			}
			if told.Trouble != want {
				t.Errorf("%d: %s, want %s: %v", test.status, told.Trouble, want, err)
			}
			if strings.Contains(err.Error()+told.Hint+b.Where(), "s3cr3t-word") {
				t.Errorf("the password is in %v", err)
			}
		}
	}
}

func TestConfigurationIsChecked(t *testing.T) {
	for words, cfg := range map[string]httpstate.Config{
		"address must not hold":        {Address: "http://ann:word@x", LockAddress: "http://x"},
		"address must be":              {Address: "ftp://x", LockAddress: "http://x"},
		"lock_address is missing":      {Address: "http://x"},
		"unlock_address must be":       {Address: "http://x", LockAddress: "http://x", UnlockAddress: "nowhere"},
		"client_ca_certificate_pem":    {Address: "http://x", LockAddress: "http://x", ClientCAPEM: "x"},
		"client_private_key_pem belon": {Address: "http://x", LockAddress: "http://x", ClientCertPEM: "x"},
		"are no pair":                  {Address: "http://x", LockAddress: "http://x", ClientCertPEM: "x", ClientKeyPEM: "y"},
		"not negative":                 {Address: "http://x", LockAddress: "http://x", RetryMax: -1},
	} {
		if _, err := httpstate.New(cfg); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", words, err)
		}
	}
}

// GitLab locks with POST and unlocks with DELETE, at addresses of their own,
// the lock's ID in the query.
func TestMethodsOfGitLab(t *testing.T) {
	var came []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		came = append(came, r.Method+" "+r.URL.Path+" "+r.URL.RawQuery)
		if r.Method == http.MethodGet {
			w.WriteHeader(http.StatusNoContent)
		}
	}))
	defer srv.Close()
	b, err := httpstate.New(httpstate.Config{
		Address: srv.URL + "/state", LockAddress: srv.URL + "/state/lock", UnlockAddress: srv.URL + "/state/lock",
		LockMethod: "POST", UnlockMethod: "DELETE",
	})
	if err != nil {
		t.Fatal(err)
	}
	tx, err := b.Begin(t.Context(), state.Lock{ID: "abc"})
	if err != nil {
		t.Fatal(err)
	}
	if data, err := tx.Read(t.Context()); data != nil || err != nil {
		t.Errorf("an empty answer is %q, %v", data, err)
	}
	if err := tx.Write(t.Context(), []byte("{}")); err != nil {
		t.Error(err)
	}
	if err := tx.End(t.Context()); err != nil {
		t.Error(err)
	}
	want := "POST /state/lock , GET /state , POST /state ID=abc, DELETE /state/lock ID=abc"
	if got := strings.Join(came, ", "); got != want {
		t.Errorf("came %s\nwant %s", got, want)
	}
}

// A server that ends whatever lock it has, whoever asks, ends none by another ID.
func TestUnlockComparesTheID(t *testing.T) {
	var held string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case "LOCK":
			if held != "" {
				w.WriteHeader(http.StatusLocked)
				_, _ = w.Write([]byte(held))
				return
			}
			body, _ := io.ReadAll(r.Body)
			held = string(body)
		case "UNLOCK":
			held = ""
		}
	}))
	defer srv.Close()
	b, err := open(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Begin(t.Context(), state.Lock{ID: "abc-123"}); err != nil {
		t.Fatal(err)
	}
	var none *state.NoLockError
	if err := b.Unlock(t.Context(), "abc-124"); !errors.As(err, &none) || none.Held != "abc-123" || held == "" {
		t.Errorf("another ID: %v, held %q", err, held)
	}
	if err := b.Unlock(t.Context(), "abc-123"); err != nil || held != "" {
		t.Errorf("its ID: %v, held %q", err, held)
	}
	if err := b.Unlock(t.Context(), "abc-123"); !errors.As(err, &none) || none.Held != "" || held != "" {
		t.Errorf("no lock: %v, held %q", err, held)
	}
}
