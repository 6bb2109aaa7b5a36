package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// signals turns SIGINT, SIGTERM and SIGHUP into an interrupt: it cancels a
// command that only reads, and is passed on to the engine by a command that
// has effects. A second one ends the program, at the latest a few seconds
// later.
type signals struct {
	mu      sync.Mutex
	cancel  context.CancelFunc
	engine  chan struct{}
	seen    int
	arrived chan os.Signal
}

// patience is how long the engine may take to say what still runs after the
// second signal.
const patience = 4 * time.Second

func watchSignals() *signals {
	s := &signals{arrived: make(chan os.Signal, 4)}
	signal.Notify(s.arrived, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // under nohup it stays so
		signal.Notify(s.arrived, syscall.SIGHUP)
	}
	takePipes()
	go func() {
		for range s.arrived {
			s.interrupt()
		}
	}()
	return s
}

// takePipes lets a write to a pipe that nobody reads fail instead of ending the
// program. The signal is taken, and not ignored, since children would inherit that.
func takePipes() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

func (s *signals) interrupt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen++
	if s.seen == 2 {
		time.AfterFunc(patience, func() { os.Exit(exitInterrupted) })
	}
	if s.engine != nil {
		select {
		case s.engine <- struct{}{}:
		default:
		}
		return
	}
	if s.seen > 1 {
		os.Exit(exitInterrupted)
	}
	if s.cancel != nil {
		s.cancel()
	}
}

// count is how many interrupts have come.
func (s *signals) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen
}

// brokenPipe takes a reader that went away as one interrupt.
func (s *signals) brokenPipe() {
	if s != nil && s.count() == 0 {
		s.interrupt()
	}
}

// context gives one that the first signal cancels, unless an engine took over.
func (s *signals) context(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(parent)
	s.mu.Lock()
	s.cancel = cancel
	s.mu.Unlock()
	return ctx, cancel
}

// toEngine passes signals on instead of cancelling, until the returned
// function is called.
func (s *signals) toEngine() (interrupts <-chan struct{}, release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.engine = make(chan struct{}, 4)
	for range s.seen {
		s.engine <- struct{}{}
	}
	return s.engine, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.engine = nil
	}
}
