package remote

import (
	"io"
	"sync"
	"time"
)

const (
	// slowLine is the speed, in bytes per second, below which it pays to compress
	// what shrinks. One core of either side does 100 MB/s of it at least: below a
	// fifth of that the line is what is waited for, whatever else they do.
	slowLine = 20e6
	// paceHead is how much is sent before anything is measured: buffers swallow it,
	// and TCP finds out only then what the line carries.
	paceHead = 4 << 20
	// paceLeast is how much is measured before anything is said, and paceRecent
	// how much counts, about.
	paceLeast, paceRecent = 2 << 20, 16 << 20
)

// pace is how fast a connection takes what is sent, at the times at which something
// is: digests there and disks here do not count. It costs two looks at the clock
// for each piece.
type pace struct {
	mu      sync.Mutex
	writing int           // Writes under way
	counted time.Time     // up to when their time is in busy
	head    int64         // bytes, up to paceHead
	bytes   int64         // after the head
	busy    time.Duration // that they took
	slow    bool
}

// write writes to w and counts it.
func (p *pace) write(w io.Writer, b []byte) (int, error) {
	p.count(1, 0)
	n, err := w.Write(b)
	p.count(-1, int64(n))
	return n, err
}

func (p *pace) count(begun int, sent int64) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.writing > 0 {
		p.busy += now.Sub(p.counted)
	}
	p.counted = now
	p.writing += begun
	if p.head < paceHead {
		p.head += sent
		p.busy = 0
		return
	}
	if p.bytes += sent; p.bytes < paceLeast {
		return
	}
	switch rate := float64(p.bytes) / p.busy.Seconds(); {
	case rate < slowLine:
		p.slow = true
	case rate > 2*slowLine: // not to and fro at the bound
		p.slow = false
	}
	if p.bytes > paceRecent {
		p.bytes /= 2
		p.busy /= 2
	}
}

// isSlow tells whether the line was found to be slower than slowLine.
func (p *pace) isSlow() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.slow
}
