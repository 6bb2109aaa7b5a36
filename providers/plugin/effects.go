package plugin

import (
	"context"
	"sync"

	"google.golang.org/grpc/metadata"

	"github.com/overbrainer/overbrainer/providers/plugin/providerpb"
)

// callKey is the metadata that names a call with an effect.
const callKey = "overbrainer-call"

// effects are the calls in flight that have an effect: counted, so that the
// process does not end in the middle of one, and known by name, so that one can
// be interrupted without its answer being lost.
type effects struct {
	wg sync.WaitGroup

	mu    sync.Mutex
	calls map[string]context.CancelFunc
}

// begin counts one effect. The context that it gives ends with an interrupt of
// the call; end is called after the effect.
func (e *effects) begin(ctx context.Context) (_ context.Context, end func()) {
	e.wg.Add(1)
	ctx, cancel := context.WithCancel(ctx)
	name := ""
	if values := metadata.ValueFromIncomingContext(ctx, callKey); len(values) > 0 {
		name = values[0]
		e.mu.Lock()
		if e.calls == nil {
			e.calls = map[string]context.CancelFunc{}
		}
		e.calls[name] = cancel
		e.mu.Unlock()
	}
	return ctx, func() {
		e.mu.Lock()
		delete(e.calls, name)
		e.mu.Unlock()
		cancel()
		e.wg.Done()
	}
}

// interrupt ends the context of a call.
func (e *effects) interrupt(name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if cancel := e.calls[name]; cancel != nil {
		cancel()
	}
}

// interruptAll ends the contexts of all calls.
func (e *effects) interruptAll() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, cancel := range e.calls {
		cancel()
	}
}

// wait returns when no effect is in flight, or ctx ends.
func (e *effects) wait(ctx context.Context) {
	done := make(chan struct{})
	go func() { e.wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

func (s *server) Interrupt(_ context.Context, r *providerpb.InterruptRequest) (*providerpb.InterruptResponse, error) {
	s.effects.interrupt(r.GetCall())
	return &providerpb.InterruptResponse{}, nil
}
