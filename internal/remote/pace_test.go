package remote

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// lineOf is a line that takes bytes at a speed, after it has swallowed some at once.
type lineOf struct {
	mu     sync.Mutex
	speed  float64 // bytes a second
	buffer int
	free   time.Time
}

func (l *lineOf) Write(b []byte) (int, error) {
	time.Sleep(l.takes(len(b)))
	return len(b), nil
}

// takes is how long n bytes wait for the line and for themselves.
func (l *lineOf) takes(n int) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.buffer >= n {
		l.buffer -= n
		return 0
	}
	if now := time.Now(); l.free.Before(now) {
		l.free = now
	}
	l.free = l.free.Add(time.Duration(float64(n) / l.speed * 1e9))
	return time.Until(l.free)
}

// send sends n bytes over some channels at once, which have something else to do
// between two pieces.
func (p *pace) send(l *lineOf, channels, n int, between time.Duration) {
	var sending sync.WaitGroup
	piece := make([]byte, hashBuffer)
	for range channels {
		sending.Go(func() {
			for sent := 0; sent < n/channels; sent += len(piece) {
				_, _ = p.write(l, piece)
				time.Sleep(between)
			}
		})
	}
	sending.Wait()
}

// A line is slow where it takes bytes slowly, whatever else a transfer waits for and
// however much the buffers before it took at once.
func TestPace(t *testing.T) {
	for name, test := range map[string]struct {
		speed    float64
		channels int
		between  time.Duration
		slow     bool
	}{
		"home":                   {5e6, 1, 0, true},
		"home, many channels":    {5e6, 7, 0, true},
		"below the bound":        {18e6, 2, 0, true},
		"above the bound":        {22e6, 2, 0, false},
		"data centre":            {500e6, 2, 0, false},
		"what waits for a disk":  {500e6, 1, 10 * time.Millisecond, false},
		"what waits for digests": {30e6, 2, 20 * time.Millisecond, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var p pace
				l := &lineOf{speed: test.speed, buffer: 3 << 20}
				p.send(l, test.channels, paceHead, test.between)
				if p.isSlow() {
					t.Error("it is slow before it was measured")
				}
				p.send(l, test.channels, 2*paceLeast, test.between)
				if p.isSlow() != test.slow {
					t.Errorf("%.1f MB/s measured", float64(p.bytes)/p.busy.Seconds()/1e6)
				}
			})
		})
	}
}

// What was long ago does not count: a line that becomes fast is fast soon.
func TestPaceForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pace
		l := &lineOf{speed: 5e6}
		p.send(l, 2, 200<<20, 0)
		if !p.isSlow() {
			t.Fatal("a line of 5 MB/s is not slow")
		}
		for _, step := range []struct {
			speed float64
			slow  bool
		}{{30e6, true}, {200e6, false}, {30e6, false}, {5e6, true}} {
			l.speed = step.speed
			p.send(l, 2, 5*paceRecent, 0)
			if p.isSlow() != step.slow {
				t.Errorf("then %.0f MB/s: slow is %t", step.speed/1e6, p.isSlow())
			}
		}
	})
}
