package apply

import "sync"

const (
	// mostOfLogs is how much of logs polls may bring that is not told yet, in bytes,
	// all runs together.
	mostOfLogs = 16 << 20
	// mostOfLog and leastOfLog bound what one poll may bring.
	mostOfLog, leastOfLog = 1 << 20, 64 << 10
)

// logRoom is divided among the polls that are on their way or not told yet. A log
// that pours alone has as much as a poll takes; of a hundred each gets less, and asks
// sooner again.
type logRoom struct {
	mu    sync.Mutex
	polls int64
}

// enter gives how much of its log a poll may bring. None waits for others: it is by
// polls that a run hears of its job.
func (l *logRoom) enter() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.polls++
	return min(mostOfLog, max(leastOfLog, mostOfLogs/l.polls))
}

// leave is for a poll that has brought nothing, or whose log was told.
func (l *logRoom) leave() {
	l.mu.Lock()
	l.polls--
	l.mu.Unlock()
}
