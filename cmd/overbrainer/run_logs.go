package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/overbrainer/overbrainer/apply"
	"github.com/overbrainer/overbrainer/internal/safetext"
	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/state"
)

// logsView is what `run logs` was asked for.
type logsView struct {
	follow bool
	tail   int
	pod    bool
	source string
}

// podSources are those who write a pod's log.
var podSources = []string{"container", "system", "overbrainer", "raw"}

func runLogsCommand(a *app) *command {
	var in inputs
	view := logsView{tail: -1}
	var given func(string) bool
	return &command{
		name:     "run logs",
		synopsis: "what a run's job wrote",
		usage:    "[-f] [-tail=N] [-pod] [-source=SOURCE] ADDR|RUN",
		text: `Prints the job's log: of a job that runs from its pod, of one that has ended
		from the run's directory. With -pod the pod's own log (its container, system
		and guard).`,
		example: "$ overbrainer run logs run.iris -f -tail=20",
		exits:   []int{exitInterrupted},
		least:   1, most: 1,
		register: func(f *flags) {
			f.boolean(&view.follow, "f", "go on as it grows, until the job ends")
			f.number(&view.tail, "tail", "N", "only the last N lines")
			f.boolean(&view.pod, "pod", "the pod's log")
			f.text(&view.source, "source", "SOURCE", "with -pod: container, system, overbrainer or raw")
			in.register(f)
			given = f.given
		},
		run: func(ctx context.Context, args []string) error {
			if view.source != "" && (!view.pod || !slices.Contains(podSources, view.source)) {
				return &usageError{text: "-source is, with -pod, one of container, system, overbrainer or raw"}
			}
			if view.tail < 0 && given("tail") {
				return &usageError{text: fmt.Sprintf("-tail=%d: the number of lines cannot be below 0", view.tail), hint: "without -tail all lines are shown"}
			}
			st, err := a.readState(ctx)
			if err != nil {
				return err
			}
			address, run, err := findRun(st, args[0])
			if err != nil {
				return err
			}
			if view.pod {
				return a.podLog(ctx, in, st, address, run, view)
			}
			if run.Phase == state.Running && run.Pod != nil && !run.Pod.Gone() && run.Pod.SSH != nil {
				return a.liveLog(ctx, in, address, run, view)
			}
			return a.localLog(address, filepath.Join(a.dir, filepath.FromSlash(run.Dir), "job.log"), run, view)
		},
	}
}

// localLog prints the log that was brought home.
func (a *app) localLog(address, path string, run *state.Run, view logsView) error {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		p := &problem{code: "no_log", id: run.ID, message: "run " + run.ID + " left no log here: it is " + string(run.Phase), hint: a.whoHas(run)}
		if p.hint == "" && fileExists(a.podLogOf(run)) {
			p.hint = "overbrainer run logs -pod " + plan.ShellWord(address) + " shows what its pod wrote"
		}
		return p
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if view.tail >= 0 {
		if err := toLastLines(f, view.tail); err != nil {
			return err
		}
	}
	return a.printLines(f)
}

// printLines writes lines of a log, cleaned. It may be longer than fits in memory.
func (a *app) printLines(log io.Reader) error {
	in := bufio.NewReaderSize(log, 1<<20)
	for {
		line, err := in.ReadSlice('\n')
		cut := errors.Is(err, bufio.ErrBufferFull) // the line goes on
		if err != nil && !cut && !errors.Is(err, io.EOF) {
			return err
		}
		if len(line) > 0 {
			text := safetext.OneLine(string(bytes.TrimRight(line, "\r\n")))
			if !cut {
				text += "\n"
			}
			// Whole lines, because each write is masked by itself.
			if _, err := fmt.Fprint(a.out, text); err != nil {
				return nil // nobody reads, which the output has noted
			}
		}
		if err != nil && !cut {
			return nil
		}
	}
}

// lastLinesOf gives the last n lines of a log for a page, at most 1 MiB.
func lastLinesOf(path string, n int) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if err := toLastLines(f, n); err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(f, 1<<20))
	return strings.TrimRight(string(text), "\n"), err
}

// toLastLines seeks to the beginning of the last n lines.
func toLastLines(f io.ReadSeeker, n int) error {
	at, err := f.Seek(0, io.SeekEnd)
	if err != nil || n == 0 {
		return err
	}
	buf := make([]byte, 64<<10)
	ended := false // a line ends where nothing but line breaks follows
	for at > 0 {
		part := buf[:min(at, int64(len(buf)))]
		at -= int64(len(part))
		if _, err := f.Seek(at, io.SeekStart); err != nil {
			return err
		}
		if _, err := io.ReadFull(f, part); err != nil {
			return err
		}
		for i, c := range slices.Backward(part) {
			switch {
			case c != '\n':
				ended = true
			case ended:
				if n--; n == 0 {
					_, err := f.Seek(at+int64(i)+1, io.SeekStart)
					return err
				}
			}
		}
	}
	_, err = f.Seek(0, io.SeekStart)
	return err
}

// lastLines gives the last n lines; n < 0 gives all.
func lastLines(data []byte, n int) []byte {
	if n < 0 {
		return data
	}
	end := len(bytes.TrimRight(data, "\n"))
	at := end
	for ; n > 0 && at > 0; n-- {
		at = bytes.LastIndexByte(data[:at], '\n')
		if at < 0 {
			return data
		}
	}
	if n > 0 || at < 0 {
		return data
	}
	if at == end {
		return nil
	}
	return data[at+1:]
}

// podLogOf is where a run's pod log is kept.
func (a *app) podLogOf(run *state.Run) string {
	return a.path(filepath.Join(filepath.FromSlash(run.Dir), ".pod", "pod.log"))
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// whoHas says who has what a run wrote, where its directory is not here; "" where
// it is, or nobody can tell.
func (a *app) whoHas(run *state.Run) string {
	who := apply.Elsewhere(a.dir, run)
	dir := filepath.FromSlash(run.Dir)
	switch me := holder().Name(); {
	case who != "" && who != me:
		return "its results and logs are with " + who + ", who fetched them"
	case who == me:
		return who + " fetched its results and logs on this machine, and they are not in " + dir + " here: they were removed, or are in another checkout"
	case run.Holder != "" && run.Holder != me && !fileExists(a.path(filepath.Join(dir, "job.log"))):
		return run.Holder + " started it, and may have what it wrote"
	}
	return ""
}
