package runpod

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/overbrainer/overbrainer/providers"
)

func limits(status int, header ...string) answer {
	a := answer{status: status, header: http.Header{}}
	for i := 0; i < len(header); i += 2 {
		a.header.Add(header[i], header[i+1])
	}
	return a
}

// TestQuota: requests stay under what the API says is left, and what changes
// something goes before what looks.
func TestQuota(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	tests := []struct {
		name    string
		told    answer
		sent    int // requests that look, before
		look    time.Duration
		changes time.Duration
	}{
		{name: "nothing is known", told: limits(200)},
		{name: "enough", told: limits(200, "RateLimit", `"minute";r=57;t=22, "hour";r=2941;t=1530`)},
		{name: "used up by our own", told: limits(200, "RateLimit", `"minute";r=12;t=22`), sent: 7, look: 22 * time.Second},
		{name: "a reserve for changes", told: limits(200, "RateLimit", `"minute";r=57;t=22, "hour";r=3;t=90`), look: 90 * time.Second},
		{name: "nothing left", told: limits(200, "RateLimit", `"minute";r=0;t=22, "hour";r=0;t=90`), look: 90 * time.Second, changes: 90 * time.Second},
		{name: "refused", told: limits(429, "Retry-After", "7"), look: 7 * time.Second, changes: 7 * time.Second},
		{name: "refused, and an hour used up", told: limits(429, "Retry-After", "7", "RateLimit", `"hour";r=0;t=70`), look: 70 * time.Second, changes: 70 * time.Second},
		{name: "refused, and not told for how long", told: limits(429), look: time.Second, changes: time.Second},
		{name: "damaged", told: limits(200, "RateLimit", `"minute";r=;t=22,,;r=0, "x";r=99999999999;t=1`)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var q quota
			q.note(tt.told, aSecond, now)
			for range tt.sent {
				if wait := q.take(&turn{}, false, now); wait != 0 {
					t.Fatalf("waits %s too early", wait)
				}
			}
			var look, change turn
			if wait := q.take(&look, false, now); wait != tt.look {
				t.Errorf("what looks waits %s, want %s", wait, tt.look)
			}
			if wait := q.take(&change, true, now); wait != tt.changes {
				t.Errorf("what changes something waits %s, want %s", wait, tt.changes)
			}
			later := now.Add(max(tt.look, tt.changes))
			if wait := q.take(&look, false, later); wait != 0 {
				t.Errorf("still waits %s afterwards", wait)
			}
		})
	}
}

// TestManyGoOnOneByOne: a hundred calls that wait for the same limit do not all
// ask at the moment at which it is lifted, and none meets it a second time.
func TestManyGoOnOneByOne(t *testing.T) {
	const many, perMinute = 100, 60
	for _, told := range []bool{true, false} {
		t.Run(map[bool]string{true: "windows are told", false: "only Retry-After"}[told], func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var (
					mu      sync.Mutex
					minute  = -1
					left    int
					refused = map[int]int{} // by minute
					asked   []time.Time     // after the first minute
					began   = time.Now()
				)
				c, err := newClient("https://api.example", "key", keyVariable, "1", func(string) string { return "" })
				if err != nil {
					t.Fatal(err)
				}
				c.quota.jitter = func() float64 { return 0.8 } // 2 s
				c.http.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
					defer time.Sleep(50 * time.Millisecond) // the way back
					mu.Lock()
					defer mu.Unlock()
					since := time.Since(began)
					if m := int(since / time.Minute); m != minute {
						minute, left = m, perMinute
						if m > 0 && !told {
							left = many
						}
					}
					if minute > 0 {
						asked = append(asked, time.Now())
					}
					reset := int((since.Truncate(time.Minute) + time.Minute - since + time.Second - 1) / time.Second)
					a := httptest.NewRecorder()
					left--
					if told {
						a.Header().Set("RateLimit", fmt.Sprintf(`"minute";r=%d;t=%d`, max(0, left), reset))
					}
					if left < 0 {
						refused[minute]++
						a.Header().Set("Retry-After", strconv.Itoa(reset))
						a.WriteHeader(http.StatusTooManyRequests)
					} else {
						_, _ = a.WriteString(`{"pods":[]}`)
					}
					return a.Result(), nil
				})
				var all sync.WaitGroup
				for range many {
					all.Go(func() {
						// What waits for longer than a look does is asked for again.
						var e *providers.Error
						_, err := c.listPods(t.Context())
						for errors.As(err, &e) && e.Kind == providers.RateLimited {
							time.Sleep(e.RetryAfter)
							_, err = c.listPods(t.Context())
						}
						if err != nil {
							t.Error(err)
						}
					})
				}
				all.Wait()
				if first := refused[0]; first != many-perMinute || len(refused) != 1 {
					t.Errorf("refused by minute: %v", refused)
				}
				if first := asked[0].Sub(began); first < 62*time.Second || first > 63*time.Second {
					t.Errorf("the first asked after %s", first)
				}
				for i := firstOnes + 1; i < len(asked); i++ {
					if asked[i].Sub(asked[i-firstOnes-1]) <= 0 {
						t.Fatalf("%d calls at once, %s after the limit was lifted", firstOnes+1, asked[i].Sub(began)-time.Minute)
					}
				}
			})
		})
	}
}

func FuzzQuota(f *testing.F) {
	f.Add(`"minute";r=57;t=22, "hour";r=2941;t=1530`, "7", 200)
	f.Add(`;r=0;t=999999999`, "-1", 429)
	f.Fuzz(func(t *testing.T, limit, retry string, status int) {
		var q quota
		q.note(limits(status, "RateLimit", limit, "Retry-After", retry), aSecond, time.Unix(1_800_000_000, 0))
		_ = q.take(&turn{}, false, time.Unix(1_800_000_000, 0))
		if len(q.windows) > 16 {
			t.Errorf("%d windows", len(q.windows))
		}
	})
}

func aSecond(int) time.Duration { return time.Second }

// An API that refuses without saying for how long is asked less and less often, by all
// who ask together; refusals at the same time are one.
func TestRefusalsInARow(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	double := func(before int) time.Duration { return time.Second << before }
	var q quota
	for _, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
		for range 3 {
			q.note(limits(429), double, now)
		}
		if wait := q.take(&turn{}, false, now); wait != want {
			t.Errorf("waits %s, want %s", wait, want)
		}
		now = now.Add(want)
	}
	q.note(limits(200), double, now)
	q.note(limits(429), double, now)
	if wait := q.take(&turn{}, false, now); wait != time.Second {
		t.Errorf("after an answer: waits %s", wait)
	}
}
