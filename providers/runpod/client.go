package runpod

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"

	"github.com/overbrainer/overbrainer/internal/safetext"
	"github.com/overbrainer/overbrainer/providers"
)

// client talks to one base URL with one key.
type client struct {
	base      string // without a trailing slash
	key       string
	keySource string // where the key came from, for messages
	userAgent string
	http      *http.Client
	redact    *safetext.Redactor
	log       *slog.Logger
	quota     quota
	clock
}

// clock is what the client waits with. Tests bring their own.
type clock struct {
	now    func() time.Time
	sleep  func(ctx context.Context, d time.Duration) error
	jitter func() float64 // 0.5 to 1
}

func realClock() clock {
	return clock{
		now: time.Now,
		sleep: func(ctx context.Context, d time.Duration) error {
			t := time.NewTimer(d)
			defer t.Stop()
			select {
			case <-t.C:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		},
		jitter: func() float64 { return 0.5 + rand.Float64()/2 },
	}
}

// newClient returns a client, or an error that says why the key cannot be
// used, without it.
func newClient(base, key, keySource, version string, environ func(string) string) (*client, error) {
	for i := 0; i < len(key); i++ {
		if key[i] <= ' ' || key[i] > '~' {
			return nil, fmt.Errorf("the API key from %s cannot be used: it holds a blank, a line break or a character that is not ASCII", keySource)
		}
	}
	proxy := (&httpproxy.Config{
		HTTPProxy:  first(environ("HTTP_PROXY"), environ("http_proxy")),
		HTTPSProxy: first(environ("HTTPS_PROXY"), environ("https_proxy")),
		NoProxy:    first(environ("NO_PROXY"), environ("no_proxy")),
	}).ProxyFunc()
	clock := realClock()
	dialer := &net.Dialer{Timeout: connectTimeout, KeepAlive: keepAlive}
	return &client{
		base: strings.TrimRight(base, "/"), key: key, keySource: keySource,
		userAgent: "overbrainer/" + version,
		redact:    safetext.NewRedactor(key),
		log:       slog.New(slog.DiscardHandler),
		quota:     quota{jitter: clock.jitter},
		clock:     clock,
		http: &http.Client{
			// An answer elsewhere than where the key was meant for is an answer
			// of its own.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport: &http.Transport{
				Proxy:               func(r *http.Request) (*url.URL, error) { return proxy(r.URL) },
				DialContext:         dialer.DialContext,
				TLSHandshakeTimeout: connectTimeout,
				IdleConnTimeout:     90 * time.Second,
				MaxIdleConnsPerHost: 4,
				ForceAttemptHTTP2:   true,
				// Tells a dead connection under a silent log stream.
				HTTP2: &http.HTTP2Config{SendPingTimeout: keepAlive, PingTimeout: 15 * time.Second},
			},
		},
	}, nil
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// call is one request, retries included.
type call struct {
	op     string // for errors: "read pod"
	method string
	path   string // below the base, escaped
	query  url.Values
	body   any // encoded as JSON; nil sends none
	// effect says that the request changes something: an unclear outcome is
	// Ambiguous, and a request that was sent is finished even when ctx ends.
	effect  bool
	timeout time.Duration // 0 means requestTimeout
	retry   func(failure) bool
	tries   int   // retries; 0 means maxRetries
	most    int64 // bytes of an answer; 0 means maxAnswer
}

// answer is what the API said to a request.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// failure is a request without a usable answer: either an error of the
// transport, or a status that is no success.
type failure struct {
	answer
	transport error
	tooLarge  bool
	left      time.Duration // until the API's limits let it be tried again
}

// send makes the request once.
func (c *client) send(ctx context.Context, k call, body []byte) (answer, error) {
	timeout := k.timeout
	if timeout == 0 {
		timeout = requestTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := c.request(ctx, k, body)
	if err != nil {
		return answer{}, err
	}
	began := time.Now()
	res, err := c.http.Do(req)
	if err != nil {
		c.log.Debug("request failed", "method", k.method, "path", k.path, "error", c.plainCause(err))
		return answer{}, err
	}
	defer func() { _ = res.Body.Close() }()
	a := answer{status: res.StatusCode, header: res.Header}
	most := cmp.Or(k.most, maxAnswer)
	a.body, err = io.ReadAll(io.LimitReader(res.Body, most+1))
	c.log.Debug("request", "method", k.method, "path", k.path, "status", a.status, "bytes", len(a.body),
		"took", time.Since(began).Round(time.Millisecond), "request_id", safetext.Cell(res.Header.Get("X-Request-Id"), 64))
	if err == nil && int64(len(a.body)) > most {
		a.body, err = nil, fmt.Errorf("%w: more than %d MiB", errTooLarge, most>>20)
	}
	return a, err
}

var errTooLarge = errors.New("the answer is too large")

func (c *client) request(ctx context.Context, k call, body []byte) (*http.Request, error) {
	target := c.base + k.path
	if len(k.query) > 0 {
		target += "?" + k.query.Encode()
	}
	var reader io.Reader
	if body != nil {
		reader = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, k.method, target, reader)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+c.key)
	req.Header.Set("User-Agent", c.userAgent)
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}

// do makes a request until it succeeds, must not be retried, or has been
// retried often enough.
func (c *client) do(ctx context.Context, k call) (answer, *failure, error) {
	var body []byte
	if k.body != nil {
		var err error
		if body, err = json.Marshal(k.body); err != nil {
			return answer{}, nil, &providers.Error{Kind: providers.Invalid, Op: k.op, Message: "the request cannot be encoded"}
		}
	}
	limit := k.tries
	if limit == 0 {
		limit = maxRetries
	}
	var (
		last   *failure // of the try before
		queue  admission
		failed int // tries that failed, without those that met a limit
	)
	for {
		if ctx.Err() != nil {
			return ended(k, last)
		}
		switch left, err := c.admit(ctx, k, &queue); {
		case err != nil:
			return ended(k, last)
		case left > 0:
			return answer{}, tooLong(k, last, left), nil
		}
		sendCtx := ctx
		if k.effect {
			sendCtx = context.WithoutCancel(ctx)
		}
		a, err := c.send(sendCtx, k, body)
		c.quota.note(a, c.backoff, c.now())
		if err == nil && a.status >= 200 && a.status < 300 {
			return a, nil, nil
		}
		f := &failure{answer: a, transport: err, tooLarge: errors.Is(err, errTooLarge)}
		if f.tooLarge || ctx.Err() != nil || k.retry == nil || !k.retry(*f) {
			return answer{}, f, nil
		}
		if last = f; onlyLimited(*f) { // waited for above, with all others
			continue
		}
		wait := c.delay(failed, f.answer)
		if failed++; failed > limit || queue.waited+wait > maxWaiting {
			return answer{}, f, nil
		}
		c.log.Debug("retry", "method", k.method, "path", k.path, "status", f.status, "in", wait)
		queue.waited += wait
		if c.sleep(ctx, wait) != nil {
			return answer{}, f, nil
		}
	}
}

// admission is what one call has waited for and where it stands.
type admission struct {
	turn   turn
	waited time.Duration
}

// admit waits until the API's limits let a request through; left is how long
// they would have to be waited for yet where that is too long for one call.
func (c *client) admit(ctx context.Context, k call, queue *admission) (left time.Duration, err error) {
	patience := maxLooking
	if k.effect {
		patience = maxWaiting
	}
	for {
		wait := c.quota.take(&queue.turn, k.effect, c.now())
		if wait <= 0 {
			return 0, nil
		}
		if queue.waited+wait > patience {
			c.quota.leave(&queue.turn, k.effect)
			return wait, nil
		}
		queue.waited += wait
		c.log.Debug("wait for the rate limit", "method", k.method, "path", k.path, "in", wait)
		if err := c.sleep(ctx, wait); err != nil {
			c.quota.leave(&queue.turn, k.effect)
			return 0, err
		}
	}
}

// tooLong is the end of a call at a limit that takes so much longer. One that may
// have had its effect says that.
func tooLong(k call, last *failure, left time.Duration) *failure {
	f := &failure{answer: answer{status: http.StatusTooManyRequests}, left: left}
	switch {
	case last != nil && onlyLimited(*last):
		f.body = last.body
	case last != nil && k.effect:
		return last
	}
	return f
}

// ended is a call that its caller gave up between two tries.
func ended(k call, last *failure) (answer, *failure, error) {
	if last != nil {
		return answer{}, last, nil
	}
	return answer{}, nil, interrupted(k.op)
}

func interrupted(op string) error {
	return &providers.Error{Kind: providers.Transient, Op: op, Message: "interrupted before the request was sent"}
}
