package runpod

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// reserve is what stays of a window for requests that change something: a pod
// must be deleted even where looking at pods has used up the rest.
const reserve = 5

// firstOnes is how many go on at once where many have waited.
const firstOnes = 8

// maxSpread: what the API asks to wait is waited for up to half as long again, by
// chance, and up to half of this.
const maxSpread = 10 * time.Second

// quota keeps all requests of a client under the API's limits, which hold for
// the account. What it knows are the answers' RateLimit headers, and refusals.
type quota struct {
	jitter func() float64 // as the clock's; nil: none

	mu      sync.Mutex
	windows map[string]*window
	refused int  // in a row, without being told for how long to wait
	looking lane // requests that change nothing
	acting  lane // those that change something
}

// window is one of the API's limits: so many requests are left until then.
type window struct {
	left  int
	until time.Time
}

// lane is where requests wait for a limit to be lifted, all of them for the same
// time. Then a few go on, and twice as many with each second: all at once would
// meet the limit again.
type lane struct {
	asked time.Time // what the API wants to be waited for
	until time.Time // a little later, by chance: other clients wait for it, too
	round int       // counts how often the lane was closed
	turns int       // given out since it was
}

// turn is the place of a request among those that wait. The zero value has none.
type turn struct{ round, n int }

// close keeps a lane shut until then. Whoever waits in it keeps his place.
func (q *quota) close(l *lane, until, now time.Time) {
	if !until.After(l.asked) {
		return
	}
	if !now.Before(l.until) {
		l.round++
		l.turns = 0
	}
	l.asked, l.until = until, until
	if q.jitter != nil {
		l.until = until.Add(time.Duration((1 - q.jitter()) * float64(min(until.Sub(now), maxSpread))))
	}
}

// opens is when the request's turn comes; one that has none gets the next.
func (l *lane) opens(t *turn) time.Time {
	if t.round != l.round {
		*t = turn{l.round, l.turns}
		l.turns++
	}
	later := math.Log2(max(1, float64(t.n+1)/firstOnes))
	return l.until.Add(time.Duration(later * float64(time.Second)))
}

// take counts one request, or gives how long it has to wait first.
func (q *quota) take(t *turn, effect bool, now time.Time) time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	l, least := q.lane(effect), reserve
	if effect {
		least = 0
	}
	for name, w := range q.windows {
		switch {
		case !w.until.After(now):
			delete(q.windows, name)
		case w.left <= least:
			q.close(l, w.until, now)
		}
	}
	if wait := l.opens(t).Sub(now); wait > 0 {
		return wait
	}
	for _, w := range q.windows {
		w.left--
	}
	return 0
}

// leave gives back the turn of a request that waits no longer: those that come
// instead, or come back, are not to wait behind it.
func (q *quota) leave(t *turn, effect bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if l := q.lane(effect); t.round == l.round && l.turns > 0 {
		l.turns--
	}
	*t = turn{}
}

func (q *quota) lane(effect bool) *lane {
	if effect {
		return &q.acting
	}
	return &q.looking
}

// note takes in what an answer says of the limits; a refusal that asks for no wait
// asks for that of so many in a row by backoff. An answer that is a failure of the API's may come from before
// where the limits are known.
func (q *quota) note(a answer, backoff func(before int) time.Duration, now time.Time) {
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
	switch {
	case a.status >= 200 && a.status < 300:
		q.refused = 0
	case a.status == http.StatusTooManyRequests:
		asked := retryAfter(a)
		if asked <= 0 {
			if !now.Before(q.looking.until) { // else it is one of several at the same time
				q.refused++
			}
			asked = backoff(max(0, q.refused-1))
		}
		until := now.Add(min(asked, maxRetryWait))
		q.close(&q.looking, until, now)
		q.close(&q.acting, until, now)
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
