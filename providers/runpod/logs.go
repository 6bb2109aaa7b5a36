package runpod

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/overbrainer/overbrainer/internal/safetext"
	"github.com/overbrainer/overbrainer/providers"
)

const (
	logTail = "5000" // the most that the API replays
	// replaySilence ends a replay, whose end nothing marks; replayLimit ends
	// one in which nothing comes: not even the headers arrive before a line.
	replaySilence = 750 * time.Millisecond
	replayLimit   = 5 * time.Second
	// resumeLimit is how long who has read up to a cursor waits for a first
	// line: most often nothing has come since.
	resumeLimit = 2 * time.Second

	reconnectMin = 500 * time.Millisecond
	reconnectMax = 15 * time.Second
	reconnectAsk = 60 * time.Second // at most this long where the API asks
)

// logReader is one reading of a pod's log over as many connections as it takes.
type logReader struct {
	c      *client
	pod    string
	cursor string
	sink   func(providers.LogLine) error
	mask   *safetext.Writer
	// silence and limit are those of a replay, first is how long it waits for a
	// line at all; 0 for a followed log.
	silence, limit, first time.Duration
	queue                 admission
}

// podLogs streams a pod's log as the contract says.
func (c *client) podLogs(ctx context.Context, req providers.LogRequest, sink func(providers.LogLine) error) error {
	if !validID(req.PodID) {
		return badID("read pod log")
	}
	r := &logReader{c: c, pod: req.PodID, sink: sink, mask: c.redact.Writer(io.Discard)}
	if validCursor(req.Cursor) {
		r.cursor = req.Cursor
	}
	if !req.Follow {
		r.silence, r.limit, r.first = replaySilence, replayLimit, replayLimit
		if r.cursor != "" {
			r.first = resumeLimit
		}
		_, err := r.connect(ctx)
		if err != nil && ctx.Err() != nil {
			return ctx.Err()
		}
		return err
	}
	return r.follow(ctx)
}

// sinkError is a failure of the taker of the lines, which ends a reading
// whatever it is.
type sinkError struct{ err error }

func (e *sinkError) Error() string { return e.err.Error() }
func (e *sinkError) Unwrap() error { return e.err }

// follow connects again and again until something ends it for good.
func (r *logReader) follow(ctx context.Context) error {
	wait := reconnectMin
	for {
		delivered, err := r.connect(ctx)
		var e *providers.Error
		var failed *sinkError
		switch {
		case errors.As(err, &failed):
			return failed.err
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && (!errors.As(err, &e) || final(e)):
			return err
		}
		if delivered {
			wait = reconnectMin
		}
		pause := wait
		if e != nil && e.RetryAfter > pause {
			pause = min(e.RetryAfter, reconnectAsk)
		}
		if err := r.c.sleep(ctx, pause); err != nil {
			return err
		}
		wait = min(2*wait, reconnectMax)
	}
}

// final reports whether asking again would get the same answer.
func final(e *providers.Error) bool {
	switch e.Status {
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

// connect reads one connection to its end. A cursor that the API refuses is
// replaced once by the time in it, or by the longest tail.
func (r *logReader) connect(ctx context.Context) (delivered bool, err error) {
	query, last := url.Values{"tail": {logTail}}, r.cursor
	if last != "" {
		query = nil
	}
	delivered, err = r.stream(ctx, query, last)
	var e *providers.Error
	if last == "" || !errors.As(err, &e) || e.Status != http.StatusBadRequest && e.Status != http.StatusUnprocessableEntity {
		return delivered, err
	}
	query = url.Values{"tail": {logTail}}
	if since, _, _ := strings.Cut(last, "/"); validTime(since) {
		query = url.Values{"since": {since}}
	}
	r.cursor = ""
	return r.stream(ctx, query, "")
}

// stream opens one connection and passes on what comes. A nil error means that
// the replay is complete or the server has closed the stream.
func (r *logReader) stream(ctx context.Context, query url.Values, last string) (delivered bool, err error) {
	k := call{op: "read pod log", method: http.MethodGet, path: "/pods/" + r.pod + "/logs", query: query}
	r.queue.waited = 0
	if left, err := r.c.admit(ctx, k, &r.queue); err != nil {
		return false, err
	} else if left > 0 {
		return false, r.c.fail(k, tooLong(k, nil, left))
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	quiet := r.watchSilence(cancel)
	defer quiet.stop()

	req, err := r.c.request(ctx, k, nil)
	if err != nil {
		return false, err
	}
	req.Header.Set("Accept", "text/event-stream")
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	began := time.Now()
	res, err := r.c.http.Do(req)
	if err != nil {
		r.c.log.Debug("request failed", "method", k.method, "path", k.path, "error", r.c.plainCause(err))
		return false, r.streamError(k, err, quiet)
	}
	defer func() { _ = res.Body.Close() }()
	r.c.log.Debug("request", "method", k.method, "path", k.path, "status", res.StatusCode, "stream", true,
		"took", time.Since(began).Round(time.Millisecond), "request_id", safetext.Cell(res.Header.Get("X-Request-Id"), 64))
	r.c.quota.note(answer{status: res.StatusCode, header: res.Header}, r.c.backoff, r.c.now())
	if err := r.c.refusedStream(k, res); err != nil {
		return false, err
	}
	return r.events(k, res.Body, quiet)
}

// events passes events on until the stream ends.
func (r *logReader) events(k call, body io.Reader, quiet *silence) (delivered bool, err error) {
	reader := newEventReader(body)
	for {
		if delivered {
			quiet.resume()
		}
		ev, err := reader.next()
		if err != nil {
			return delivered, r.streamError(k, err, quiet)
		}
		quiet.pause() // what is done with it here is no silence of the stream's
		delivered = true
		l := ev.line()
		if l.Text != "" {
			l.Text = r.mask.Line(l.Text)
		}
		if l.Cursor != "" {
			r.cursor = l.Cursor
		}
		if l.Text == "" && l.Cursor == "" {
			continue
		}
		if err := r.sink(l); err != nil {
			return delivered, &sinkError{err}
		}
	}
}

// streamError says what the end of a connection means.
func (r *logReader) streamError(k call, err error, quiet *silence) error {
	if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) || quiet.ended() {
		return nil
	}
	return r.c.fail(k, &failure{transport: err})
}

// refusedStream reads an answer that is not a log stream.
func (c *client) refusedStream(k call, res *http.Response) error {
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if res.StatusCode == http.StatusOK && kind == "text/event-stream" {
		return nil
	}
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxStreamError))
	if res.StatusCode >= 200 && res.StatusCode < 300 {
		return &providers.Error{Kind: providers.Transient, Op: k.op, Status: res.StatusCode, Message: "the answer is not a log stream"}
	}
	return c.fail(k, &failure{answer: answer{status: res.StatusCode, header: res.Header, body: body}})
}

// silence cuts a replay's connection after the limit, or a while after the
// last event.
type silence struct {
	after time.Duration
	end   time.Time
	timer *time.Timer
	fired chan struct{}
	// paused: the timer was stopped in time.
	paused bool
}

func (r *logReader) watchSilence(cancel func()) *silence {
	if r.limit == 0 {
		return &silence{}
	}
	s := &silence{after: r.silence, end: time.Now().Add(r.limit), fired: make(chan struct{}, 1)}
	s.timer = time.AfterFunc(r.first, func() {
		s.fired <- struct{}{}
		cancel()
	})
	return s
}

// pause stops the clock, resume starts it anew, unless it has run out.
func (s *silence) pause() {
	if s.timer != nil {
		s.paused = s.timer.Stop()
	}
}

func (s *silence) resume() {
	if s.paused {
		s.paused = false
		s.timer.Reset(min(s.after, time.Until(s.end)))
	}
}

func (s *silence) stop() {
	if s.timer != nil {
		s.timer.Stop()
	}
}

// ended reports whether it was the silence that cut the connection.
func (s *silence) ended() bool {
	if s.fired == nil {
		return false
	}
	return len(s.fired) > 0
}
