package apply

import (
	"context"
	"sync"
	"time"
	"weak"

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
	crew   *crew
	// endSession tells the store that no more is written.
	endSession func(context.Context) error

	mu         sync.Mutex
	lineage    string
	broken     error // the state could not be written: no new effects
	skews      map[string]time.Duration
	skewWarned map[string]bool
	outcome    Outcome
	removed    []*state.Run // by destroy, as they were last
	done       map[string]RunResult
	// running are the runs that would go on, or do, when the command ends.
	running map[string]parting
	looks   map[string]*looks // by provider
	// What is read of an account, by provider, and of a catalog, by scope.
	pods     map[string]*shared[[]providers.Pod]
	secrets  map[string]*shared[[]providers.Secret]
	states   map[string]*shared[*state.State]
	catalogs map[string]*shared[providers.Catalog]
	uploads  map[*plan.Upload]weak.Pointer[uploads] // by the first of a list
	logs     logRoom
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
		skews: map[string]time.Duration{}, skewWarned: map[string]bool{}, running: map[string]parting{},
		looks: map[string]*looks{}, pods: map[string]*shared[[]providers.Pod]{},
		secrets: map[string]*shared[[]providers.Secret]{}, states: map[string]*shared[*state.State]{}, catalogs: map[string]*shared[providers.Catalog]{},
		uploads: map[*plan.Upload]weak.Pointer[uploads]{},
	}
	s.claims, s.crew = newClaimSet(s), newCrew(engine.Parallelism)
	s.endSession = func(context.Context) error { return nil }
	if store, ok := s.Store.(state.Sessions); ok {
		s.endSession = store.Session()
	}
	go s.watchInterrupts()
	go s.claims.renewing()
	return s
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
