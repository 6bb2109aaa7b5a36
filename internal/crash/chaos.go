package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// chaos kills client and provider together at random instants, up to three
// times in a row in a life, each time with apply after it.
func (o options) chaos(ctx context.Context, base string) (*tally, error) {
	fmt.Fprintf(o.log.w, "seed %d\n", o.seed)
	draw := rand.New(rand.NewPCG(o.seed, 1))
	t := &tally{of: "kills", n: o.times}
	var names []string
	for left := o.times; left > 0; {
		kills := min(left, 1+draw.IntN(3))
		left -= kills
		name := "kill at"
		for range kills {
			// Of the time that an undisturbed life takes: the first half has more
			// to disturb.
			at := draw.Float64()
			name += fmt.Sprintf(" %.4f", at*at*1.1)
		}
		names = append(names, name)
	}
	whole, err := o.duration(ctx, base)
	if err != nil {
		return nil, err
	}
	live := func(ctx context.Context, w *world, name string) (found, error) {
		if err := w.fresh(ctx); err != nil {
			return found{}, err
		}
		for _, at := range strings.Fields(strings.TrimPrefix(name, "kill at")) {
			part, err := strconv.ParseFloat(at, 64)
			if err == nil {
				err = w.killAfter(ctx, time.Duration(part*float64(whole)))
			}
			if err != nil {
				return found{}, err
			}
		}
		return w.recover(ctx, "apply")
	}
	return t, o.each(ctx, base, names, live, t)
}

// duration is how long a life takes, as many side by side as there will be.
func (o options) duration(ctx context.Context, base string) (time.Duration, error) {
	t := &tally{}
	longest := make(chan time.Duration, o.workers)
	var same []string
	for n := range o.workers {
		same = append(same, fmt.Sprint("undisturbed ", n))
	}
	err := o.each(ctx, base, same, func(ctx context.Context, w *world, _ string) (found, error) {
		if err := w.fresh(ctx); err != nil {
			return found{}, err
		}
		start := time.Now()
		f, err := w.recover(ctx, "apply")
		longest <- time.Since(start)
		return f, err
	}, t)
	if err != nil {
		return 0, err
	}
	if !t.sum.clean() {
		return 0, fmt.Errorf("undisturbed: %s", strings.Join(t.sum.what, "\n"))
	}
	var most time.Duration
	for range o.workers {
		most = max(most, <-longest)
	}
	return most, nil
}

// killAfter starts an apply and kills it with its children after a while. One
// that ended before is none the worse for it.
func (w *world) killAfter(ctx context.Context, d time.Duration) error {
	var out bytes.Buffer
	cmd := w.command(&out, nil, "apply", "-auto-approve")
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
	case <-time.After(d):
	}
	for _, pid := range append(children(cmd.Process.Pid), cmd.Process.Pid) {
		if p, err := os.FindProcess(pid); err == nil {
			_ = p.Kill()
		}
	}
	<-ended
	w.how(cmd, &out)
	return ctx.Err()
}

// children are the processes that a process started.
func children(pid int) []int {
	var out []int
	all, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range all {
		data, _ := os.ReadFile(name)
		// Behind the name, which may hold anything: state, parent, …
		_, rest, _ := strings.Cut(string(data), ") ")
		if fields := strings.Fields(rest); len(fields) > 1 && fields[1] == strconv.Itoa(pid) {
			if child, err := strconv.Atoi(filepath.Base(filepath.Dir(name))); err == nil {
				out = append(out, child)
			}
		}
	}
	return out
}
