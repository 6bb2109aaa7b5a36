//go:build linux

package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/overbrainer/overbrainer/providers"
)

// followEvery is how often a followed log is looked at.
const followEvery = 200 * time.Millisecond

// PodLogs reads a pod's log. A cursor is the number of bytes up to a line's
// end.
func (l *local) PodLogs(ctx context.Context, req providers.LogRequest, sink func(providers.LogLine) error) error {
	const op = "read pod log"
	if err := l.mayRead(ctx, op); err != nil {
		return err
	}
	gone := func() error {
		_, err := l.store.pod(req.PodID)
		if errors.Is(err, fs.ErrNotExist) {
			return failed(providers.NotFound, op, "there is no pod %s on this machine", req.PodID)
		}
		return nil
	}
	if err := gone(); err != nil {
		return err
	}
	f, err := os.Open(filepath.Join(l.store.podDir(req.PodID), logFile))
	if err != nil {
		return broken(op, err)
	}
	defer f.Close()
	at, _ := strconv.ParseInt(req.Cursor, 10, 64)
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		if at, err = pass(f, at, sink); err != nil || !req.Follow {
			return err
		}
		if err := gone(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// pass gives the complete lines from an offset on to sink.
func pass(f *os.File, at int64, sink func(providers.LogLine) error) (int64, error) {
	if _, err := f.Seek(at, io.SeekStart); err != nil {
		return at, err
	}
	in := bufio.NewReader(f)
	for {
		text, err := in.ReadString('\n')
		if err != nil {
			return at, nil
		}
		at += int64(len(text))
		line := providers.LogLine{Cursor: strconv.FormatInt(at, 10), Source: providers.LogSystem, Text: strings.TrimSuffix(text, "\n")}
		// What the pod wrote has the time in front, what its holder wrote has none.
		if stamp, rest, ok := strings.Cut(line.Text, " "); ok {
			if _, err := time.Parse(time.RFC3339Nano, stamp); err == nil {
				line.Time, line.Text, line.Source = stamp, rest, providers.LogContainer
			}
		}
		if err := sink(line); err != nil {
			return at, err
		}
	}
}
