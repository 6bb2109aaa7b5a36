package runpod

import (
	"net/http"
	"testing"
	"time"
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
		{name: "damaged", told: limits(200, "RateLimit", `"minute";r=;t=22,,;r=0, "x";r=99999999999;t=1`)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var q quota
			q.note(tt.told, now)
			for range tt.sent {
				if wait := q.take(false, now); wait != 0 {
					t.Fatalf("waits %s too early", wait)
				}
			}
			if wait := q.take(false, now); wait != tt.look {
				t.Errorf("what looks waits %s, want %s", wait, tt.look)
			}
			if wait := q.take(true, now); wait != tt.changes {
				t.Errorf("what changes something waits %s, want %s", wait, tt.changes)
			}
			later := now.Add(max(tt.look, tt.changes))
			if wait := q.take(false, later); wait != 0 {
				t.Errorf("still waits %s afterwards", wait)
			}
		})
	}
}

func FuzzQuota(f *testing.F) {
	f.Add(`"minute";r=57;t=22, "hour";r=2941;t=1530`, "7", 200)
	f.Add(`;r=0;t=999999999`, "-1", 429)
	f.Fuzz(func(t *testing.T, limit, retry string, status int) {
		var q quota
		q.note(limits(status, "RateLimit", limit, "Retry-After", retry), time.Unix(1_800_000_000, 0))
		_ = q.take(false, time.Unix(1_800_000_000, 0))
		if len(q.windows) > 16 {
			t.Errorf("%d windows", len(q.windows))
		}
	})
}
