package apply

import (
	"context"
	"sync"
	"time"

	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/providers"
)

// shared shares the reads of one thing, an account's pods for one, among those who
// ask at about the same time. At most one read is under way, and one waits for all
// who came meanwhile. What was read belongs to nobody.
type shared[T any] struct {
	read func() (T, error)
	now  func() time.Time

	mu            sync.Mutex
	current, next *answer[T]
	last          *answer[T] // that was one
}

// answer is what one read gave.
type answer[T any] struct {
	began time.Time
	done  chan struct{}
	value T
	err   error
}

// get gives what is there now, or ctx's error: by a read that was begun after it
// was asked for, so that what was done before shows in it.
func (s *shared[T]) get(ctx context.Context) (T, error) { return s.recent(ctx, 0) }

// recent is get for whom an answer is good enough whose read was begun within so
// long.
func (s *shared[T]) recent(ctx context.Context, within time.Duration) (T, error) {
	a := s.ask(within)
	select {
	case <-a.done:
		return a.value, a.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// ask gives the read to wait for.
func (s *shared[T]) ask(within time.Duration) *answer[T] {
	s.mu.Lock()
	defer s.mu.Unlock()
	if within > 0 {
		for _, a := range []*answer[T]{s.current, s.last} {
			if a != nil && s.now().Sub(a.began) <= within {
				return a
			}
		}
	}
	if s.next != nil {
		return s.next
	}
	a := &answer[T]{done: make(chan struct{})}
	if s.current != nil {
		s.next = a
		return a
	}
	s.begin(a)
	return a
}

// begin makes a read the current one. mu is held.
func (s *shared[T]) begin(a *answer[T]) {
	s.current, s.next = a, nil
	if a == nil {
		return
	}
	a.began = s.now()
	go func() {
		a.value, a.err = s.read()
		close(a.done)
		s.mu.Lock()
		defer s.mu.Unlock()
		if a.err == nil {
			s.last = a
		}
		s.begin(s.next)
	}()
}

// shareOf gives what shares the reads of one key.
func shareOf[T any](s *session, all map[string]*shared[T], key string, read func() (T, error)) *shared[T] {
	s.mu.Lock()
	defer s.mu.Unlock()
	if all[key] == nil {
		all[key] = &shared[T]{read: read, now: s.Now}
	}
	return all[key]
}

// listPods gives every pod of the provider's account as it is now.
func (s *session) listPods(name string) ([]providers.Pod, error) {
	return s.listPodsUntil(s.steady(), name, 0)
}

// recentPods is listPods as of an eighth of the wait between two looks: runs that
// end at about the same time share a list.
func (r *runner) recentPods(ctx context.Context) ([]providers.Pod, error) {
	return r.s.listPodsUntil(ctx, r.provider, r.t.Poll/8)
}

func (s *session) listPodsUntil(ctx context.Context, name string, within time.Duration) ([]providers.Pod, error) {
	rented, err := s.provider(name)
	if err != nil {
		return nil, err
	}
	return shareOf(s, s.pods, name, func() ([]providers.Pod, error) {
		list, err := rented.Provider.ListPods(s.steady())
		if err != nil {
			return nil, err
		}
		s.noteClock(name, list.ServerTime)
		return list.Pods, nil
	}).recent(ctx, within)
}

// listSecrets gives every secret of the provider's account as it is now.
func (s *session) listSecrets(name string) ([]providers.Secret, error) {
	rented, err := s.provider(name)
	if err != nil {
		return nil, err
	}
	return shareOf(s, s.secrets, name, func() ([]providers.Secret, error) {
		return rented.Provider.ListSecrets(s.steady(), "")
	}).get(s.steady())
}

// catalog gives what a provider offers, as it was within so long; 0 is now.
func (s *session) catalog(name string, q providers.CatalogQuery, within time.Duration) (providers.Catalog, error) {
	rented, err := s.provider(name)
	if err != nil {
		return providers.Catalog{}, err
	}
	ctx, cancel := s.breakable()
	defer cancel()
	return shareOf(s, s.catalogs, plan.ScopeKey(name, q), func() (providers.Catalog, error) {
		catalog, err := rented.Provider.Catalog(s.steady(), q)
		if err == nil {
			s.noteClock(name, catalog.ServerTime)
		}
		return catalog, err
	}).recent(ctx, within)
}
