package sim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// keepAliveEvery is the time between frames that carry a cursor and no line.
const keepAliveEvery = 15 * time.Second

// readLog streams a pod's log as server-sent events. Nothing is sent, not even
// the headers, before there is a line; the stream ends only with the pod.
func (s *server) readLog(c *call) reply {
	p := s.find(c.id)
	if p == nil {
		return notFound()
	}
	return s.streamLog(c, p.log)
}

func (s *server) streamLog(c *call, log *podLog) reply {
	q := c.r.URL.Query()
	source := q.Get("source")
	if source != "" && source != "container" && source != "system" {
		return unprocessable("query.source: value must be one of 'container', 'system'")
	}
	match := func(l logLine) bool { return source == "" || l.source == source }
	tail := 100
	if v := q.Get("tail"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 0 || n > 5000 {
			return unprocessable("query.tail: must be an integer from 0 to 5000")
		}
		tail = n
	}
	var from int64
	switch {
	case c.r.Header.Get("Last-Event-ID") != "":
		seq, ok := log.knows(c.r.Header.Get("Last-Event-ID"))
		if !ok {
			return problem(http.StatusBadRequest, "Last-Event-ID: unknown cursor")
		}
		from = seq
	case q.Get("since") != "":
		t, err := time.Parse(time.RFC3339Nano, q.Get("since"))
		if err != nil {
			return unprocessable("query.since: must be an RFC 3339 time")
		}
		from = log.since(t)
	default:
		from = log.tail(tail, match)
	}
	return reply{status: http.StatusOK, stream: func(w http.ResponseWriter, r *http.Request) {
		follow(w, r, log, from, match)
	}}
}

func follow(w http.ResponseWriter, r *http.Request, log *podLog, from int64, match func(logLine) bool) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
	flush := http.NewResponseController(w)
	alive := time.NewTicker(keepAliveEvery)
	defer alive.Stop()
	begun := false
	last := ""
	for {
		lines, more, ended := log.after(from)
		wrote := false
		for _, l := range lines {
			from = l.seq
			if !match(l) {
				continue
			}
			data, _ := json.Marshal(map[string]string{
				"ts": l.at.UTC().Format(time.RFC3339), "source": l.source, "line": l.text})
			if _, err := fmt.Fprintf(w, "id: %s\ndata: %s\n\n", l.id(), data); err != nil {
				return
			}
			last, begun, wrote = l.id(), true, true
		}
		if wrote && flush.Flush() != nil {
			return
		}
		if ended {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-more:
		case <-alive.C:
			if begun {
				if _, err := fmt.Fprintf(w, "id: %s\n\n", last); err != nil || flush.Flush() != nil {
					return
				}
			}
		}
	}
}
