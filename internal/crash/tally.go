package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// found is what is wrong after a life.
type found struct {
	pods, secrets, lost, double, unfinished int
	what                                    []string
}

func (f *found) say(format string, args ...any) {
	f.what = append(f.what, fmt.Sprintf(format, args...))
}

func (f *found) clean() bool { return len(f.what) == 0 }

// tally counts over all lives.
type tally struct {
	of string // what is counted: boundaries, faults, kills
	n  int

	mu  sync.Mutex
	sum found
}

func (t *tally) add(f found) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sum.pods += f.pods
	t.sum.secrets += f.secrets
	t.sum.lost += f.lost
	t.sum.double += f.double
	t.sum.unfinished += f.unfinished
	t.sum.what = append(t.sum.what, f.what...)
}

func (t *tally) clean() bool { return t.n > 0 && t.sum.clean() }

func (t *tally) String() string {
	return fmt.Sprintf("%s=%d leaked_pods=%d leaked_secrets=%d lost_results=%d double_runs=%d unfinished=%d",
		t.of, t.n, t.sum.pods, t.sum.secrets, t.sum.lost, t.sum.double, t.sum.unfinished)
}

// progress tells how far it is.
type progress struct {
	mu       sync.Mutex
	w        io.Writer
	start    time.Time
	done, of int
	told     time.Time
}

func (p *progress) expect(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done, p.of = 0, n
}

// step tells of one life that ended.
func (p *progress) step(name string, f found) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	if !f.clean() {
		fmt.Fprintf(p.w, "%s:\n  %s\n", name, strings.ReplaceAll(strings.Join(f.what, "\n"), "\n", "\n  "))
	}
	if time.Since(p.told) >= 15*time.Second || p.done == p.of {
		p.told = time.Now()
		fmt.Fprintf(p.w, "%d of %d lives after %s\n", p.done, p.of, time.Since(p.start).Round(time.Second))
	}
}
