package sim

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// keepLines bounds what the API remembers of one pod's log.
const keepLines = 20000

// logLine is one line of a pod's log stream.
type logLine struct {
	seq    int64
	at     time.Time
	source string // container or system
	text   string
}

// id is the line's cursor.
func (l logLine) id() string {
	return fmt.Sprintf("%s/%012d", l.at.UTC().Format(time.RFC3339), l.seq)
}

// podLog is what a pod has written, container and host together in the order
// of arrival. It may be read and written from everywhere.
type podLog struct {
	mu      sync.Mutex
	lines   []logLine
	seq     int64
	ended   bool
	changed chan struct{}
}

func newPodLog() *podLog { return &podLog{changed: make(chan struct{})} }

func (l *podLog) add(source, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return
	}
	l.seq++
	text = strings.ToValidUTF8(strings.TrimSuffix(text, "\r"), "\uFFFD")
	l.lines = append(l.lines, logLine{seq: l.seq, at: time.Now(), source: source, text: text})
	if len(l.lines) > keepLines+keepLines/4 {
		l.lines = append([]logLine(nil), l.lines[len(l.lines)-keepLines:]...)
	}
	l.wake()
}

func (l *podLog) system(format string, args ...any) { l.add("system", fmt.Sprintf(format, args...)) }

// end closes every stream: the pod is deleted.
func (l *podLog) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.ended {
		l.ended = true
		l.wake()
	}
}

func (l *podLog) wake() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// after gives the lines behind seq and a channel that closes when there are
// more, or the log has ended.
func (l *podLog) after(seq int64) (lines []logLine, more <-chan struct{}, ended bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := len(l.lines)
	for i > 0 && l.lines[i-1].seq > seq {
		i--
	}
	return append([]logLine(nil), l.lines[i:]...), l.changed, l.ended
}

// tail gives the sequence number before the last n lines that match.
func (l *podLog) tail(n int, match func(logLine) bool) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := len(l.lines) - 1; i >= 0; i-- {
		if n == 0 {
			return l.lines[i].seq
		}
		if match(l.lines[i]) {
			n--
		}
	}
	return 0
}

// since gives the sequence number before the first line at or after t.
func (l *podLog) since(t time.Time) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.lines {
		if !line.at.Before(t) {
			return line.seq - 1
		}
	}
	return l.seq
}

// knows reports whether a cursor is one this log gave out and still keeps.
func (l *podLog) knows(id string) (int64, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.lines {
		if line.id() == id {
			return line.seq, true
		}
	}
	return 0, false
}
