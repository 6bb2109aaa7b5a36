package apply

import (
	"context"
	"sync"
	"time"

	"github.com/overbrainer/overbrainer/providers"
)

// fewPods is up to how many pods are read one by one; more share a list.
const fewPods = 2

// looks shares the reads of one provider's pods: where many are waited for or
// followed, one list answers everybody who asks at about the same time, so that
// a hundred runs cost the account no more calls than a few.
type looks struct {
	list func() ([]providers.Pod, error)
	now  func() time.Time

	mu      sync.Mutex
	asked   map[string]time.Time // by pod
	last    reading
	current *reading // under way
}

// reading is one list.
type reading struct {
	done chan struct{}
	at   time.Time // when it was begun
	pods map[string]providers.Pod
	err  error
}

// looks gives the shared reads of a provider.
func (s *session) looksAt(provider string) *looks {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.looks[provider]
	if l == nil {
		l = &looks{list: func() ([]providers.Pod, error) { return s.listPods(provider) }, now: s.Now, asked: map[string]time.Time{}}
		s.looks[provider] = l
	}
	return l
}

// looking bounds one of many looks at a pod by the time of a command on it: an API
// that asks to wait for longer is asked again at the next look, and meanwhile whoever
// looks sees to everything else.
func (r *runner) looking(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, r.t.Call)
}

// readPod is the run's pod as it was within so long.
func (r *runner) readPod(ctx context.Context, within time.Duration) (providers.Pod, error) {
	id := r.run.Pod.ID
	pod, known, err := r.s.looksAt(r.provider).pod(ctx, id, within, r.t.PodLook)
	if err != nil || known {
		return pod, err
	}
	// A list may lack a pod that is new; only a read of it says that.
	return r.rented.Provider.GetPod(ctx, id)
}

// pod gives a pod out of a list that was begun within so long; known is false
// where it is in none, or too few pods are asked for to be worth one. A pod
// counts until nobody has asked for it for the time of two looks.
func (l *looks) pod(ctx context.Context, id string, within, look time.Duration) (pod providers.Pod, known bool, err error) {
	l.mu.Lock()
	now := l.now()
	l.asked[id] = now
	for other, at := range l.asked {
		if now.Sub(at) > 2*look {
			delete(l.asked, other)
		}
	}
	if len(l.asked) <= fewPods {
		l.mu.Unlock()
		return providers.Pod{}, false, nil
	}
	if pod, known = l.last.pods[id]; known && now.Sub(l.last.at) <= within {
		l.mu.Unlock()
		return pod, true, nil
	}
	reading := l.begin(now)
	l.mu.Unlock()
	select {
	case <-reading.done:
		pod, known = reading.pods[id]
		return pod, known, reading.err
	case <-ctx.Done():
		return providers.Pod{}, false, ctx.Err()
	}
}

// begin gives the list that is under way, or a new one. mu is held.
func (l *looks) begin(now time.Time) *reading {
	if l.current != nil {
		return l.current
	}
	reading := &reading{done: make(chan struct{}), at: now}
	l.current = reading
	go func() {
		defer close(reading.done)
		pods, err := l.list()
		reading.err = err
		reading.pods = make(map[string]providers.Pod, len(pods))
		for _, pod := range pods {
			reading.pods[pod.ID] = pod
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.current = nil
		if err == nil {
			l.last = *reading
		}
	}()
	return reading
}
