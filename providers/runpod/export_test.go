package runpod

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// NewForTest returns a provider that talks to base and waits with sleep.
func NewForTest(base, key string, sleep func(context.Context, time.Duration) error) (*Provider, error) {
	p := New(Options{Version: "1.2.3"})
	c, err := newClient(base, key, keyVariable, "1.2.3", func(string) string { return "" })
	if err != nil {
		return nil, err
	}
	var asleep atomic.Int64 // time passes by sleeping only
	began := time.Now()
	c.now = func() time.Time { return began.Add(time.Duration(asleep.Load())) }
	c.sleep = func(ctx context.Context, d time.Duration) error {
		asleep.Add(int64(d))
		return sleep(ctx, d)
	}
	c.jitter = func() float64 { return 1 }
	c.quota.jitter = nil
	p.use(c, "secure")
	return p, nil
}

// SimulatorHome and GuardFunctions are for tests.
var (
	SimulatorHome  = simulatorHome
	GuardFunctions = guardFunctions
)

// DrainStream reads every event of a stream.
func DrainStream(data []byte) (lines int) {
	r := newEventReader(bytes.NewReader(data))
	for {
		ev, err := r.next()
		if err != nil {
			return lines
		}
		_ = ev.line()
		lines++
	}
}

// Answering makes every request of a provider end with one answer.
func (p *Provider) Answering(status int, header http.Header, body []byte) {
	p.client.http.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
		return &http.Response{
			StatusCode: status, Header: header, Request: r, ProtoMajor: 1, ProtoMinor: 1,
			Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
		}, nil
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
