package remote

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// meter counts what a transfer moved. Counting is two atomic additions;
// telling is done by one goroutine at its own pace.
type meter struct {
	total int64
	done  atomic.Int64 // bytes that are there
	had   atomic.Int64 // of them, those that were there before
	moved atomic.Int64 // grows with any sign of life
}

// Progress is told how many bytes are there of all of a transfer, and how many a
// second came since the first one did: what was there before, and the time until
// something came, do not count. It is 0 until then.
type Progress func(done, total int64, rate float64)

// reportEvery is how often progress is told.
const reportEvery = 200 * time.Millisecond

// watch tells progress and ends the transfer with a *StallError when nothing
// moves for too long (0: never). The returned function ends the watch, after
// a last report.
func (m *meter) watch(fail context.CancelCauseFunc, progress Progress, stall time.Duration) func() {
	if progress == nil {
		progress = func(int64, int64, float64) {}
	}
	stop := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		ticker := time.NewTicker(reportEvery)
		defer ticker.Stop()
		told, seen, since := int64(-1), m.moved.Load(), time.Now()
		idle, rate := since, 0.0 // until when nothing had come
		tell := func() {
			done, now := min(m.done.Load(), m.total), time.Now()
			if came := done - m.had.Load(); came <= 0 {
				idle = now
			} else if took := now.Sub(idle).Seconds(); took > 0 {
				rate = float64(came) / took
			}
			if done != told {
				told = done
				progress(done, m.total, rate)
			}
		}
		for {
			tell()
			select {
			case <-stop:
				tell()
				return
			case <-ticker.C:
			}
			if moved := m.moved.Load(); moved != seen {
				seen, since = moved, time.Now()
			} else if stall > 0 && time.Since(since) >= stall {
				fail(&StallError{Done: min(m.done.Load(), m.total), Total: m.total, After: stall})
			}
		}
	})
	return sync.OnceFunc(func() {
		close(stop)
		watching.Wait()
	})
}

// alive notes a sign of life that is no byte of a file.
func (m *meter) alive() { m.moved.Add(1) }

// got notes n bytes of files that are there.
func (m *meter) got(n int64) {
	m.moved.Add(max(n, 1))
	m.done.Add(n)
}

// found notes n bytes of files that were there before.
func (m *meter) found(n int64) {
	m.had.Add(n)
	m.got(n)
}

// lost takes back n bytes that turned out to be wrong, of which so many were found.
func (m *meter) lost(n, found int64) {
	m.had.Add(-found)
	m.done.Add(-n)
}
