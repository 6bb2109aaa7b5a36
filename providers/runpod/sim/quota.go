package sim

import (
	"fmt"
	"net/http"
	"sync"
	"time"
)

// Quotas of one account. They are told, as the API tells them, and never
// enforced: a limit that is met is a fault to be armed.
const (
	perMinute = 6000
	perHour   = 300000
)

// quota counts requests in the current minute and hour.
type quota struct {
	mu           sync.Mutex
	minute, hour int64
	inMinute     int
	inHour       int
}

func newQuota() *quota { return &quota{} }

// headers counts one request and sets the headers that tell what is left.
func (q *quota) headers(h http.Header) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now().Unix()
	if m := now / 60; m != q.minute {
		q.minute, q.inMinute = m, 0
	}
	if m := now / 3600; m != q.hour {
		q.hour, q.inHour = m, 0
	}
	q.inMinute++
	q.inHour++
	h.Set("RateLimit", fmt.Sprintf(`"minute";r=%d;t=%d, "hour";r=%d;t=%d`,
		max(0, perMinute-q.inMinute), 60-now%60, max(0, perHour-q.inHour), 3600-now%3600))
	h.Set("RateLimit-Policy", fmt.Sprintf(`"minute";q=%d;w=60, "hour";q=%d;w=3600`, perMinute, perHour))
}
