package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"
)

// levelTrace is below those that slog names: what happens every few seconds.
const levelTrace = slog.LevelDebug - 4

// levels by the names that OVERBRAINER_LOG takes.
var levels = map[string]slog.Level{
	"trace": levelTrace, "debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
}

// logging is the technical log, off unless OVERBRAINER_LOG asks for it: what
// this program and the providers' processes ask of others, and what they
// answer. It holds no argument, no body and no header, and every text of it is
// masked as what is printed is.
type logging struct {
	*slog.Logger
	level string // as OVERBRAINER_LOG names it, "" when it is off
	file  *os.File
}

// openLog opens the log that the environment asks for. A process that this
// program starts itself writes its records as JSON to its standard error, where
// its parent reads them.
func (a *app) openLog(child bool) (*logging, error) {
	l := &logging{Logger: slog.New(slog.DiscardHandler), level: strings.ToLower(a.environ("OVERBRAINER_LOG"))}
	path := a.environ("OVERBRAINER_LOG_PATH")
	if l.level == "" && path != "" {
		l.level = "debug"
	}
	if l.level == "" || l.level == "off" {
		l.level = ""
		return l, nil
	}
	least, ok := levels[l.level]
	if !ok {
		return nil, fmt.Errorf("OVERBRAINER_LOG=%s: it is one of off, error, warn, info, debug, trace", a.environ("OVERBRAINER_LOG"))
	}
	options := &slog.HandlerOptions{Level: least, ReplaceAttr: a.logAttr}
	if child {
		l.Logger = slog.New(slog.NewJSONHandler(os.Stderr, options))
		return l, nil
	}
	out := io.Writer(os.Stderr)
	if path != "" {
		f, err := openPrivate(a.path(path))
		if err != nil {
			return nil, fmt.Errorf("OVERBRAINER_LOG_PATH=%s: %w", path, reason(err))
		}
		l.file, out = f, f
	}
	l.Logger = slog.New(slog.NewTextHandler(logOutput{out, a}, options))
	return l, nil
}

// logOutput masks a whole record once more, with what stands around a text. A
// log that cannot be written stops nothing.
type logOutput struct {
	io.Writer
	app *app
}

func (w logOutput) Write(p []byte) (int, error) {
	_, _ = io.WriteString(w.Writer, w.app.redactor.String(string(p)))
	return len(p), nil
}

// openPrivate opens a file to append to, which only its owner may read, also
// where it was there with another mode.
func openPrivate(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() && info.Mode().Perm() != 0o600 {
		err = f.Chmod(0o600)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// logAttr masks secrets before a handler quotes and escapes the text, which
// would hide them from the search.
func (a *app) logAttr(_ []string, attr slog.Attr) slog.Attr {
	switch attr.Value.Kind() {
	case slog.KindTime:
		attr.Value = slog.TimeValue(attr.Value.Time().UTC())
	case slog.KindDuration:
		attr.Value = slog.StringValue(attr.Value.Duration().Round(time.Millisecond).String())
	case slog.KindString, slog.KindAny:
		if level, ok := attr.Value.Any().(slog.Level); ok {
			if level == levelTrace {
				attr.Value = slog.StringValue("TRACE")
			}
			return attr
		}
		attr.Value = slog.StringValue(a.redactor.String(attr.Value.String()))
	}
	return attr
}

func (l *logging) close() {
	if l != nil && l.file != nil {
		l.file.Close()
	}
}

// done records something that took a while and may have failed.
func (l *logging) done(level slog.Level, what string, began time.Time, err error, attrs ...any) {
	if l == nil { // before there is one
		return
	}
	attrs = append(attrs, "took", time.Since(began))
	if err != nil && err.Error() != "" { // some are a mere exit code
		attrs = append(attrs, "error", err)
	}
	l.Log(context.Background(), level, what, attrs...)
}
