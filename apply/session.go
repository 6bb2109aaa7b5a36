package apply

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/overbrainer/overbrainer/internal/safetext"
	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/state"
)

// session is one command at work: the engine with what is true only now.
type session struct {
	*Engine
	// ctx carries values and the caller's end, which counts as an interrupt;
	// effects in flight are never cancelled by it.
	ctx         context.Context
	operation   string
	lockTimeout time.Duration
	detach      bool

	// stop is closed at the first interrupt, abandon at the second.
	stop, abandon chan struct{}
	ended         chan struct{}

	claims *claimSet

	mu              sync.Mutex
	lineage         string
	broken          error // the state could not be written: no new effects
	skews           map[string]time.Duration
	skewWarned      map[string]bool
	outcome         Outcome
	initialCatalogs map[string]plan.CatalogSeen
	done            map[string]RunResult
	// running names what goes on without us, for a sudden end.
	running map[string]string
}

func (e *Engine) open(ctx context.Context, operation string, lockTimeout time.Duration) *session {
	engine := *e
	if engine.Timing.Poll == 0 {
		engine.Timing = Production()
	}
	if engine.Parallelism <= 0 {
		engine.Parallelism = 10
	}
	if engine.Emit == nil {
		engine.Emit = func(Event) {}
	}
	if engine.Redactor == nil {
		engine.Redactor = safetext.NewRedactor()
	}
	if engine.Now == nil {
		engine.Now = time.Now
	}
	s := &session{
		Engine: &engine, ctx: ctx, operation: operation, lockTimeout: lockTimeout,
		stop: make(chan struct{}), abandon: make(chan struct{}), ended: make(chan struct{}),
		skews: map[string]time.Duration{}, skewWarned: map[string]bool{}, running: map[string]string{},
	}
	s.claims = newClaimSet(s)
	go s.watchInterrupts()
	go s.claims.renewing()
	return s
}

// close gives back what the command holds.
func (s *session) close() {
	close(s.ended)
	s.claims.releaseAll()
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
	for _, addr := range sortedKeys(s.running) {
		out.Messages = append(out.Messages, s.running[addr])
	}
	return out
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
func (s *session) sleep(d time.Duration) error {
	if s.interrupted() {
		return errInterrupted
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
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

// update writes to the state. After a write that failed no new effect is
// begun; deletions go on, because they only make less.
func (s *session) update(change func(*state.State) error) (*state.State, error) {
	st, err := s.Store.Update(s.steady(), change)
	if err == nil || errors.Is(err, state.ErrNoChange) {
		return st, nil
	}
	if !fromChange(err) {
		s.mu.Lock()
		first := s.broken == nil
		s.broken = err
		s.mu.Unlock()
		if first {
			s.emit(Event{Kind: EventWarning, Message: "the state cannot be written, so nothing new is begun: " + err.Error()})
		}
		return nil, failf("state", "%v", err).because(err)
	}
	return nil, err
}

// fromChange tells an error that a change returned from one of the store.
func fromChange(err error) bool {
	var e *Error
	var claimed *state.ClaimedError
	var budget *state.BudgetError
	return errors.As(err, &e) || errors.As(err, &claimed) || errors.As(err, &budget)
}

// mayBegin reports why no new effect may be begun, if so.
func (s *session) mayBegin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken != nil {
		return failf("state", "nothing new is begun because the state cannot be written: %v", s.broken).because(s.broken)
	}
	return nil
}

func (s *session) read() (*state.State, error) {
	st, err := s.Store.Read(s.steady())
	if err != nil {
		return nil, failf("state", "%v", err).because(err)
	}
	return st, nil
}

func (s *session) emit(e Event) {
	if e.Time.IsZero() {
		e.Time = s.Now()
	}
	e.Message = s.Redactor.String(e.Message)
	e.Line = s.Redactor.String(e.Line)
	s.Emit(e)
}

func (s *session) warn(address, runID, message string) {
	s.emit(Event{Kind: EventWarning, Address: address, RunID: runID, Message: message})
}

// provider gives a configured provider by name.
func (s *session) provider(name string) (Rented, error) {
	if r, ok := s.Providers[name]; ok {
		return r, nil
	}
	return Rented{}, failf("provider", "provider %q is not configured", name).
		hint("put back its block, or remove what it holds with another configuration")
}

// timing is the engine's at the provider's speed.
func (s *session) timing(name string) Timing {
	return s.Timing.Scaled(s.Providers[name].Configured.Speed)
}

// now is the provider's clock, by which deadlines are reckoned.
func (s *session) now(provider string) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Now().Add(s.skews[provider]).UTC()
}

// noteClock takes the provider's time from an answer.
func (s *session) noteClock(provider string, server time.Time) {
	if server.IsZero() {
		return
	}
	skew := server.Sub(s.Now())
	if skew > -2*time.Second && skew < 2*time.Second {
		skew = 0 // a header has whole seconds, and the answer took its way
	}
	s.mu.Lock()
	s.skews[provider] = skew
	warn := !s.skewWarned[provider] && (skew > time.Minute || skew < -time.Minute)
	if warn {
		s.skewWarned[provider] = true
	}
	s.mu.Unlock()
	if warn {
		s.warn("", "", "this machine's clock is "+skew.Abs().Round(time.Second).String()+" off the provider's; deadlines are reckoned by the provider's")
	}
}

// listPods reads every pod of the provider's account.
func (s *session) listPods(name string) ([]providers.Pod, error) {
	rented, err := s.provider(name)
	if err != nil {
		return nil, err
	}
	list, err := rented.Provider.ListPods(s.steady())
	if err != nil {
		return nil, err
	}
	s.noteClock(name, list.ServerTime)
	return list.Pods, nil
}

// ours keeps the pods that carry this project's lineage and, where one is
// given, the run.
func (s *session) ours(pods []providers.Pod, runID string) []providers.Pod {
	var own []providers.Pod
	for _, p := range pods {
		if p.Marker.RunID != "" && p.Marker.Lineage == s.lineage && (runID == "" || p.Marker.RunID == runID) {
			own = append(own, p)
		}
	}
	return own
}
