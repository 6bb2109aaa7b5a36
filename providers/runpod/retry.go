package runpod

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const (
	maxRetries   = 5
	baseDelay    = time.Second
	maxDelay     = 60 * time.Second
	maxRetryWait = 600 * time.Second
	// maxWaiting bounds the waits of one call together, so that a call always
	// ends within a time that its caller can expect.
	maxWaiting = 12 * time.Minute
	// maxLooking is the same for what waits at a limit and changes nothing: a
	// longer wait is the caller's, who adds them up and can say so.
	maxLooking = 2 * time.Second
)

// retryable tells failures that a request which may be repeated survives.
func retryable(f failure) bool {
	return f.transport != nil || f.status == http.StatusRequestTimeout || f.status == http.StatusTooManyRequests || f.status >= 500
}

// onlyLimited is for requests that may be repeated only where the API says that
// it has not run them.
func onlyLimited(f failure) bool {
	return f.transport == nil && f.status == http.StatusTooManyRequests
}

// delay is how long to wait before the next try: what the API asked for, else a
// second doubling up to a minute, spread by chance.
func (c *client) delay(try int, a answer) time.Duration {
	if asked := retryAfter(a); asked >= 0 {
		return min(asked, maxRetryWait)
	}
	return c.backoff(try)
}

func (c *client) backoff(try int) time.Duration {
	d := maxDelay
	if try < 6 {
		d = min(baseDelay<<try, maxDelay)
	}
	return time.Duration(float64(d) * c.jitter())
}

// retryAfter is how long the API asked to wait; negative if it did not. The
// Retry-After header covers the window that was met first; another one that is
// used up as well may take longer.
func retryAfter(a answer) time.Duration {
	asked := time.Duration(-1)
	if s, err := strconv.ParseUint(strings.TrimSpace(a.header.Get("Retry-After")), 10, 31); err == nil {
		asked = time.Duration(s) * time.Second
	}
	if a.status == http.StatusTooManyRequests {
		for _, line := range a.header.Values("RateLimit") {
			asked = max(asked, exhausted(line))
		}
	}
	return asked
}

// limitPattern reads one window of a RateLimit header: "minute";r=57;t=22
var limitPattern = regexp.MustCompile(`;\s*([rt])=(\d{1,9})`)

// exhausted gives the longest time to a reset among the windows that have
// nothing left; negative without one.
func exhausted(line string) time.Duration {
	longest := time.Duration(-1)
	for _, window := range strings.Split(line, ",") {
		if left, reset := parseWindow(window); left == 0 && reset >= 0 {
			longest = max(longest, time.Duration(reset)*time.Second)
		}
	}
	return longest
}
