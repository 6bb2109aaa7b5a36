package main

import (
	"os/exec"
	"sync"
	"testing"
	"time"
)

// tickPrograms is about how many programs a guard starts from waking up to the
// answer to its delete.
const tickPrograms = 25

// pulse measures how long this machine takes to start a program. On one that
// is busy with other things a guard is late through no fault of its own.
type pulse struct {
	mu    sync.Mutex
	beats []beat
}

type beat struct {
	at   time.Time
	took time.Duration
}

func newPulse(t *testing.T) *pulse {
	p := &pulse{}
	stop, ended := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(stop); <-ended })
	go func() {
		defer close(ended)
		for {
			at := time.Now()
			_ = exec.Command("sh", "-c", ":").Run()
			p.mu.Lock()
			p.beats = append(p.beats, beat{at, time.Since(at)})
			p.mu.Unlock()
			select {
			case <-stop:
				return
			case <-time.After(250 * time.Millisecond):
			}
		}
	}()
	return p
}

// late is what a tick between two moments may have taken at the worst.
func (p *pulse) late(from, to time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	worst := time.Duration(0)
	for _, b := range p.beats {
		if b.at.Before(to) && b.at.Add(b.took).After(from) {
			worst = max(worst, b.took)
		}
	}
	return worst * tickPrograms
}
