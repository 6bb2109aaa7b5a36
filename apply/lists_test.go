package apply

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/overbrainer/overbrainer/providers"
)

// Many who ask share a list, and each gets one that was begun after he asked.
func TestListsAreSharedAndNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls, made atomic.Int64
		l := &lists{read: func() ([]providers.Pod, error) {
			calls.Add(1)
			pods := make([]providers.Pod, made.Load())
			time.Sleep(time.Second)
			return pods, nil
		}}
		var all sync.WaitGroup
		for i := range 100 {
			all.Go(func() {
				time.Sleep(time.Duration(i) * 30 * time.Millisecond)
				want := made.Add(1) // what this one did before it asked
				pods, err := l.get(t.Context())
				if err != nil || int64(len(pods)) < want {
					t.Errorf("%d: %d pods, at least %d are made; %v", i, len(pods), want, err)
				}
			})
		}
		all.Wait()
		if n := calls.Load(); n > 5 {
			t.Errorf("%d lists were read in 4 s, each of which takes 1 s", n)
		}
	})
}

// What a list fails with is told to all who waited for it, and to nobody else.
func TestListsFailAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fail := errors.New("no answer")
		var calls int
		l := &lists{read: func() ([]providers.Pod, error) {
			calls++
			time.Sleep(time.Second)
			if calls == 1 {
				return nil, fail
			}
			return nil, nil
		}}
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := l.get(t.Context()); !errors.Is(err, fail) {
				t.Errorf("the first: %v", err)
			}
		})
		time.Sleep(time.Millisecond)
		if _, err := l.get(t.Context()); err != nil {
			t.Errorf("the second: %v", err)
		}
		all.Wait()
	})
}
