package apply

import (
	"context"
	"slices"
	"time"
)

// close gives back what the command holds.
func (s *session) close() {
	close(s.ended)
	s.claims.releaseAll()
	if err := s.endSession(s.steady()); err != nil && s.mayBegin() == nil {
		s.warn("", "", "the state is whole but lies in two files, which the next command puts together: "+err.Error())
	}
}

// watchInterrupts turns the first interrupt into stop and the second into
// abandon.
func (s *session) watchInterrupts() {
	seen := 0
	caller := s.ctx.Done()
	for {
		select {
		case <-s.ended:
			return
		case _, ok := <-s.Interrupts:
			if !ok {
				s.Interrupts = nil
				continue
			}
		case <-caller:
			caller = nil
		}
		switch seen++; seen {
		case 1:
			close(s.stop)
			if s.beginning() {
				s.emit(Event{Kind: EventWaiting, Message: "interrupted: what is in flight is finished first; once more ends at once"})
			}
		case 2:
			close(s.abandon)
			return
		}
	}
}

// until runs work to its end, or leaves it at the second interrupt. What it
// leaves is in the state, and bounded by the guards on the pods.
func (s *session) until(work func() (Outcome, error)) (Outcome, error) {
	type result struct {
		outcome Outcome
		err     error
	}
	done := make(chan result, 1)
	go func() {
		o, err := work()
		done <- result{o, err}
	}()
	select {
	case r := <-done:
		return r.outcome, r.err
	case <-s.abandon:
		return s.abandoned(), nil
	}
}

func (s *session) abandoned() Outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.outcome.clone()
	out.Interrupted = true
	out.Class = Interrupt
	for _, address := range sortedKeys(s.running) {
		if told := func(r RunOutcome) bool { return r.Address == address }; !slices.ContainsFunc(out.Runs, told) {
			out.Runs = append(out.Runs, s.running[address].suddenly(s.Now()))
		}
	}
	all := func(parting) bool { return true }
	out.Messages = append(out.Messages, partings(s.running, all)...)
	out.GoesOn = append(goingOn(s.running, all), out.GoesOn...)
	return out
}

// beginning reports whether a pod is being made.
func (s *session) beginning() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.running) > 0
}

func (s *session) interrupted() bool {
	select {
	case <-s.stop:
		return true
	default:
		return false
	}
}

// sleep waits d, or fails with errInterrupted as soon as the user asks to stop.
func (s *session) sleep(d time.Duration) error { return s.sleepUntil(d, nil) }

// sleepUntil waits d, or less where something comes from wake.
func (s *session) sleepUntil(d time.Duration, wake <-chan struct{}) error {
	if s.interrupted() {
		return errInterrupted
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-wake:
		return nil
	case <-s.stop:
		return errInterrupted
	}
}

// pause waits d whatever the user asks.
func (s *session) pause(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	<-t.C
}

// effect gives the context of a call that must not be cut off: only limit ends
// it.
func (s *session) effect(limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(s.ctx), limit)
}

// steady is the context of calls with limits of their own.
func (s *session) steady() context.Context { return context.WithoutCancel(s.ctx) }

// breakable gives a context that the first interrupt ends.
func (s *session) breakable() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.ctx))
	go func() {
		select {
		case <-s.stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}
