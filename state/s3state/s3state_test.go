package s3state_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/overbrainer/overbrainer/state"
	"github.com/overbrainer/overbrainer/state/s3state"
	"github.com/overbrainer/overbrainer/state/statetest"
)

func TestMain(m *testing.M) {
	statetest.Main(m, func(args string) (state.Backend, error) {
		endpoint, key, _ := strings.Cut(args, "|")
		return s3state.New(s3state.Config{Bucket: "states", Key: key, Endpoint: endpoint, UsePathStyle: true, MaxRetries: 2})
	})
}

func server(t *testing.T) *statetest.S3 {
	t.Helper()
	if !statetest.HaveS3() && os.Getenv("CI") != "true" {
		t.Skip(statetest.ErrNoS3)
	}
	s, err := statetest.StartS3()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	for _, pair := range s.Env() {
		name, value, _ := strings.Cut(pair, "=")
		t.Setenv(name, value)
	}
	return s
}

func backend(t *testing.T, endpoint, key string) *s3state.Backend {
	t.Helper()
	b, err := s3state.New(s3state.Config{Bucket: "states", Key: key, Endpoint: endpoint, UsePathStyle: true, MaxRetries: 2})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestRealServer shares one server: building it takes a while.
func TestRealServer(t *testing.T) {
	srv := server(t)
	t.Run("conformance", func(t *testing.T) { conformance(t, srv) })
	t.Run("what cannot be used", func(t *testing.T) { cannotBeUsed(t, srv) })
}

func conformance(t *testing.T, srv *statetest.S3) {
	var places atomic.Int64
	statetest.RunRemote(t, func(t *testing.T) statetest.RemotePlace {
		proxy := statetest.NewProxy(t, srv.Addr)
		endpoint, key := "http://"+proxy.Addr(), fmt.Sprintf("projects/%d/state.json", places.Add(1))
		return statetest.RemotePlace{
			Backend: func() state.Backend { return backend(t, endpoint, key) },
			Proxy:   proxy,
			Write:   "PUT /states/" + key + "?x-id=PutObject ",
			Put:     func(t *testing.T, data []byte) { put(t, srv, key, data) },
			Args:    endpoint + "|" + key,
		}
	})
}

func put(t *testing.T, srv *statetest.S3, key string, data []byte) {
	t.Helper()
	client := s3.New(s3.Options{
		Region: "us-east-1", BaseEndpoint: aws.String("http://" + srv.Addr), UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider(srv.AccessKey, srv.SecretKey, ""),
	})
	_, err := client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("states"), Key: aws.String(key), Body: bytes.NewReader(data)})
	if err != nil {
		t.Fatal(err)
	}
}

func cannotBeUsed(t *testing.T, srv *statetest.S3) {
	endpoint := "http://" + srv.Addr
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	const wrong = "s3cr3t-word"
	for name, test := range map[string]struct {
		cfg     s3state.Config
		trouble state.Trouble
		words   string
	}{
		"no bucket":    {s3state.Config{Bucket: "nothing-here", Key: "k", Endpoint: endpoint}, state.Missing, "make the bucket"},
		"wrong secret": {s3state.Config{Bucket: "states", Key: "k", Endpoint: endpoint, AccessKey: srv.AccessKey, SecretKey: wrong}, state.Denied, "credentials"},
		"no server":    {s3state.Config{Bucket: "states", Key: "k", Endpoint: gone.URL}, state.Unreachable, "endpoint"},
	} {
		test.cfg.UsePathStyle, test.cfg.MaxRetries = true, 1
		b, err := s3state.New(test.cfg)
		if err != nil {
			t.Fatal(err)
		}
		_, readErr := b.Read(t.Context())
		_, beginErr := b.Begin(t.Context(), state.Lock{ID: "1"})
		for _, err := range []error{readErr, beginErr} {
			var told *state.BackendError
			if !errors.As(err, &told) || told.Trouble != test.trouble || !strings.Contains(told.Hint, test.words) {
				t.Errorf("%s: %v (%+v)", name, err, told)
			} else if text := told.Error() + told.Hint; strings.Contains(text, wrong) || strings.Contains(text, srv.SecretKey) {
				t.Errorf("%s: a secret is in %s", name, text)
			}
		}
	}
}

func TestConfigurationIsChecked(t *testing.T) {
	for words, cfg := range map[string]s3state.Config{
		"bucket is missing": {Key: "k"},
		"key must be":       {Bucket: "b", Key: "/k"},
		"belong together":   {Bucket: "b", Key: "k", AccessKey: "a"},
	} {
		if _, err := s3state.New(cfg); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", words, err)
		}
	}
}
