package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"runtime/pprof"
	"time"
)

// bench is what one topic is measured in. It is what package remotetest needs
// of a test: what cannot be done ends the topic.
type bench struct {
	options
	*report
	ctx      context.Context
	base     string
	errs     io.Writer
	cleanups []func()
	failed   bool
}

// stop ends a topic.
type stop struct{ error }

// do measures a topic and cleans up after it.
func (b *bench) do(t topic) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s, ours := p.(stop)
			if !ours {
				panic(p)
			}
			err = s.error
		}
		b.failed = b.failed || err != nil
		for i := len(b.cleanups) - 1; i >= 0; i-- {
			b.cleanups[i]()
		}
		debug.FreeOSMemory()
	}()
	t.measure(b)
	return b.ctx.Err()
}

// must ends the topic with an error.
func (b *bench) must(err error) {
	if err != nil {
		panic(stop{err})
	}
}

// The methods of remotetest.T.

func (b *bench) Helper() {}

func (b *bench) Fatal(args ...any) { b.must(fmt.Errorf("%s", fmt.Sprint(args...))) }

func (b *bench) Fatalf(format string, args ...any) { b.must(fmt.Errorf(format, args...)) }

func (b *bench) Skipf(format string, args ...any) { b.Fatalf(format, args...) }

func (b *bench) Errorf(format string, args ...any) {
	b.failed = true
	b.Logf(format, args...)
}

func (b *bench) Logf(format string, args ...any) { fmt.Fprintf(b.errs, format+"\n", args...) }

func (b *bench) Failed() bool { return b.failed }

func (b *bench) Cleanup(f func()) { b.cleanups = append(b.cleanups, f) }

func (b *bench) TempDir() string {
	dir, err := os.MkdirTemp(b.base, "")
	b.must(err)
	b.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// often measures several things in turn, so that what else the machine does
// meets all of them alike, and gives the medians.
func (b *bench) often(n int, things ...func() usage) []usage {
	all := make([][]usage, len(things))
	for range n {
		for i, thing := range things {
			b.must(b.ctx.Err())
			all[i] = append(all[i], thing())
		}
	}
	medians := make([]usage, len(things))
	for i, list := range all {
		var walls []time.Duration
		var sizes []int64
		for _, u := range list {
			walls, sizes = append(walls, u.wall), append(sizes, u.rss)
		}
		medians[i] = usage{median(walls), median(sizes)}
	}
	return medians
}

// build compiles the program as it is released.
func build(ctx context.Context, dir string) (string, error) {
	binary := filepath.Join(dir, "overbrainer")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", binary, "github.com/overbrainer/overbrainer/cmd/overbrainer")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, text)
	}
	return binary, nil
}

// profiled writes a profile of this process until it is stopped.
func profiled(file string) (stop func(), err error) {
	out, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(out); err != nil {
		return nil, err
	}
	return func() {
		pprof.StopCPUProfile()
		_ = out.Close()
	}, nil
}
