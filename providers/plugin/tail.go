package plugin

import (
	"bytes"
	"io"
	"strings"
	"sync"

	"github.com/overbrainer/overbrainer/internal/safetext"
)

const (
	tailLines   = 20
	detailLimit = 300
)

// tail passes a child's standard error on and keeps its last lines, and the
// first ones of a panic, whose message stands before its long stack.
type tail struct {
	mu    sync.Mutex
	log   io.Writer
	part  []byte
	last  []string
	panic []string
}

func newTail(log io.Writer) *tail { return &tail{log: log} }

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	// The log is not the child's business: a failing one does not stop it.
	_, _ = t.log.Write(p)
	t.part = append(t.part, p...)
	for {
		line, rest, found := bytes.Cut(t.part, []byte("\n"))
		if !found {
			if len(t.part) > 64<<10 {
				t.part = t.part[:0]
			}
			return len(p), nil
		}
		t.keep(safetext.NewRedactor().String(safetext.Printable(string(line))))
		t.part = append([]byte(nil), rest...)
	}
}

func (t *tail) keep(line string) {
	line = safetext.Cut(strings.TrimSpace(line), 400)
	if line == "" {
		return
	}
	starts := strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ")
	if starts || len(t.panic) > 0 && len(t.panic) < 4 {
		t.panic = append(t.panic, line)
	}
	if t.last = append(t.last, line); len(t.last) > tailLines {
		t.last = t.last[1:]
	}
}

// lines gives the last lines, those of a panic first.
func (t *tail) lines() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.panic) > 0 {
		return append([]string(nil), t.panic...)
	}
	return append([]string(nil), t.last...)
}

// summary gives the same as one line of at most limit characters.
func (t *tail) summary(limit int) string {
	lines := t.lines()
	if len(lines) > 4 {
		lines = lines[len(lines)-4:]
	}
	return safetext.Cut(strings.Join(lines, " | "), limit)
}
