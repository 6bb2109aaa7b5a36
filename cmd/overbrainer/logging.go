package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
)

// logging is the technical log, off unless OVERBRAINER_LOG asks for it: what
// provider processes say, and what this program does.
type logging struct {
	mu    sync.Mutex
	out   io.Writer
	file  *os.File
	level int
	app   *app
}

// levels in the order of how much they tell.
var levels = []string{"off", "error", "warn", "info", "debug", "trace"}

func (a *app) openLog() (*logging, error) {
	l := &logging{app: a, out: os.Stderr}
	name := strings.ToLower(a.environ("OVERBRAINER_LOG"))
	path := a.environ("OVERBRAINER_LOG_PATH")
	if name == "" && path != "" {
		name = "debug"
	}
	for i, have := range levels {
		if have == name {
			l.level = i
		}
	}
	if name != "" && name != "off" && l.level == 0 {
		return nil, fmt.Errorf("OVERBRAINER_LOG=%s: it is one of %s", name, strings.Join(levels, ", "))
	}
	if path == "" || l.level == 0 {
		return l, nil
	}
	f, err := os.OpenFile(a.path(path), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("OVERBRAINER_LOG_PATH=%s: %w", path, reason(err))
	}
	l.file, l.out = f, f
	return l, nil
}

func (l *logging) close() {
	if l != nil && l.file != nil {
		l.file.Close()
	}
}

// line writes one line at a level.
func (l *logging) line(level, source, text string) {
	for i, name := range levels {
		if name == level && i > l.level {
			return
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(l.out, "%s [%s] %s: %s\n", l.app.now().UTC().Format("2006-01-02T15:04:05.000Z"),
		strings.ToUpper(level), source, l.app.redactor.String(text))
}

// writer takes the output of a process, line by line.
func (l *logging) writer(source string) io.Writer {
	if l.level == 0 {
		return io.Discard
	}
	return &logLines{log: l, source: source}
}

type logLines struct {
	log    *logging
	source string
	mu     sync.Mutex
	rest   []byte
}

func (w *logLines) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rest = append(w.rest, p...)
	for {
		i := bytes.IndexByte(w.rest, '\n')
		if i < 0 {
			return len(p), nil
		}
		w.log.line("debug", w.source, string(w.rest[:i]))
		w.rest = w.rest[i+1:]
	}
}
