package runpod

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// reserve is what stays of a window for requests that change something: a pod
// must be deleted even where looking at pods has used up the rest.
const reserve = 5

// quota keeps all requests of a client under the API's limits, which hold for
// the account. What it knows are the answers' RateLimit headers.
type quota struct {
	mu      sync.Mutex
	windows map[string]*window
}

// window is one of the API's limits: so many requests are left until then.
type window struct {
	left  int
	until time.Time
}

// take counts one request, or gives how long it has to wait first.
func (q *quota) take(effect bool, now time.Time) time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	least := reserve
	if effect {
		least = 0
	}
	var wait time.Duration
	for name, w := range q.windows {
		switch left := w.until.Sub(now); {
		case left <= 0:
			delete(q.windows, name)
		case w.left <= least:
			wait = max(wait, left)
		}
	}
	if wait == 0 {
		for _, w := range q.windows {
			w.left--
		}
	}
	return wait
}

// note takes in what an answer says of the limits. One that is a failure of the
// API's may come from before where they are known.
func (q *quota) note(a answer, now time.Time) {
	if a.status >= 500 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, line := range a.header.Values("RateLimit") {
		for text := range strings.SplitSeq(line, ",") {
			name, rest, _ := strings.Cut(text, ";")
			left, reset := parseWindow(";" + rest)
			if left >= 0 && reset >= 0 {
				q.set(strings.TrimSpace(name), left, now.Add(time.Duration(reset)*time.Second))
			}
		}
	}
	if a.status == http.StatusTooManyRequests {
		if asked := retryAfter(a); asked > 0 {
			q.set("refused", 0, now.Add(min(asked, maxRetryWait)))
		}
	}
}

func (q *quota) set(name string, left int, until time.Time) {
	if q.windows == nil {
		q.windows = map[string]*window{}
	}
	if len(q.windows) < 16 || q.windows[name] != nil { // the names are the API's
		q.windows[name] = &window{left, until}
	}
}

// parseWindow reads what follows a window's name: ;r=57;t=22. What is missing
// is negative.
func parseWindow(text string) (left, reset int) {
	left, reset = -1, -1
	for _, m := range limitPattern.FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(m[2])
		if m[1] == "r" {
			left = n
		} else {
			reset = n
		}
	}
	return left, reset
}
