package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
)

// writer takes the standard error of a process, line by line.
func (l *logging) writer(source string) io.Writer {
	if l.level == "" {
		return io.Discard
	}
	return &logLines{log: l, source: source}
}

// maxLogLine is how much of a line without an end is kept.
const maxLogLine = 64 << 10

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
		if i < 0 && len(w.rest) < maxLogLine {
			return len(p), nil
		}
		if i < 0 {
			i = len(w.rest) - 1
		}
		w.log.relay(w.source, bytes.TrimSpace(w.rest[:i+1]))
		w.rest = w.rest[i+1:]
	}
}

// relay records a line of a child: at its own level and with its own
// attributes where it is a JSON record, of slog or hclog, and at debug as it is
// otherwise.
func (l *logging) relay(source string, line []byte) {
	if len(line) == 0 {
		return
	}
	level, message, attrs, ok := record(line)
	if !ok {
		level, message = slog.LevelDebug, string(line)
	}
	l.Log(context.Background(), level, message, append([]any{"source", source}, attrs...)...)
}

func record(line []byte) (level slog.Level, message string, attrs []any, ok bool) {
	var fields map[string]any
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	if line[0] != '{' || d.Decode(&fields) != nil {
		return 0, "", nil, false
	}
	take := func(names ...string) string {
		text := ""
		for _, name := range names {
			if have, is := fields[name].(string); is {
				text = have
			}
			delete(fields, name)
		}
		return text
	}
	take("time", "@timestamp") // the record gets one when it is read
	message = take("msg", "@message")
	name := strings.ToLower(take("level", "@level"))
	level, known := levels[name]
	if !known && level.UnmarshalText([]byte(name)) != nil || message == "" {
		return 0, "", nil, false
	}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		attrs = append(attrs, key, fields[key])
	}
	return level, message, attrs, true
}
