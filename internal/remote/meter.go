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
	moved atomic.Int64 // grows with any sign of life
}

// reportEvery is how often progress is told.
const reportEvery = 200 * time.Millisecond

// watch tells progress and ends the transfer with a *StallError when nothing
// moves for too long (0: never). The returned function ends the watch, after
// a last report.
func (m *meter) watch(fail context.CancelCauseFunc, progress func(done, total int64), stall time.Duration) func() {
	if progress == nil {
		progress = func(int64, int64) {}
	}
	stop := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		ticker := time.NewTicker(reportEvery)
		defer ticker.Stop()
		told, seen, since := int64(-1), m.moved.Load(), time.Now()
		tell := func() {
			if done := min(m.done.Load(), m.total); done != told {
				told = done
				progress(done, m.total)
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

// lost takes back n bytes that turned out to be wrong.
func (m *meter) lost(n int64) { m.done.Add(-n) }
