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
		l := &shared[[]providers.Pod]{now: time.Now, read: func() ([]providers.Pod, error) {
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
		l := &shared[[]providers.Pod]{now: time.Now, read: func() ([]providers.Pod, error) {
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

// Whom an answer of the last seconds is good enough for reads again only where
// there is none, and never gets one that failed or is older.
func TestRecentAnswersAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fail := errors.New("no answer")
		var calls int
		s := &shared[int]{now: time.Now, read: func() (int, error) {
			calls++
			mine := calls
			time.Sleep(time.Second)
			if mine == 1 {
				return 0, fail
			}
			return mine, nil
		}}
		ask := func(what string, within time.Duration, want int, wrong error) {
			t.Helper()
			if got, err := s.recent(t.Context(), within); got != want || !errors.Is(err, wrong) {
				t.Errorf("%s: answer %d, %v; want %d, %v", what, got, err, want, wrong)
			}
		}
		ask("the first", time.Minute, 0, fail)
		ask("after a failure", time.Minute, 2, nil)
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() { ask("good enough", time.Minute, 2, nil) })
		}
		all.Wait()
		ask("as it is now", 0, 3, nil)
		time.Sleep(time.Minute)
		for range 100 {
			all.Go(func() { ask("too old", time.Minute, 4, nil) })
		}
		all.Wait()
	})
}
