// Package statetest checks that a state.Store keeps its promises. Every
// implementation runs the same suite:
//
//	func TestLocal(t *testing.T) {
//		statetest.Run(t, func(t *testing.T) statetest.Place {
//			dir := t.TempDir()
//			return statetest.Place{Open: func() state.Store { return state.Local(dir, "1") }, …}
//		})
//	}
package statetest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/state"
)

// Place is where one state lies.
type Place struct {
	// Open gives a new store on the place, as another process would have it.
	Open func() state.Store
	// Put replaces the document behind everybody's back.
	Put func(t *testing.T, data []byte)
	// Crash runs an update that raises the count of "crash" in another process
	// and ends that process without warning: at "before", when change has run
	// and nothing is written, or at "after", when all is written and the lock
	// is still held.
	Crash func(t *testing.T, moment string)
}

// Run runs the suite; place makes an empty place for each test.
func Run(t *testing.T, place func(t *testing.T) Place) {
	t.Helper()
	for _, test := range []struct {
		name string
		run  func(t *testing.T, p Place)
	}{
		{"empty", empty},
		{"first write makes the lineage", firstWrite},
		{"failed change leaves nothing", failedChange},
		{"no change writes nothing", noChange},
		{"a state is its reader's own", ownCopies},
		{"update sees the newest", newest},
		{"a change cannot move lineage or serial", fixedIdentity},
		{"concurrent writers lose nothing", concurrent},
		{"claims exclude each other", claims},
		{"crash between write and unlock", crash},
		{"large state", large},
		{"a newer version is refused and left alone", newer},
		{"another project's state is refused", otherLineage},
		{"an older state put back is noticed", olderSerial},
		{"a damaged state is an error", damaged},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, place(t)) })
	}
}

func read(t *testing.T, s state.Store) *state.State {
	t.Helper()
	st, err := s.Read(t.Context())
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	return st
}

func update(t *testing.T, s state.Store, change func(*state.State) error) *state.State {
	t.Helper()
	st, err := s.Update(t.Context(), change)
	if err != nil {
		t.Fatalf("update: %v", err)
	}
	return st
}

// Count raises a number in the state by one.
func Count(name string) func(*state.State) error {
	return func(s *state.State) error {
		spend := s.Spend[name]
		spend.Runs++
		s.Spend[name] = spend
		return nil
	}
}

func empty(t *testing.T, p Place) {
	store := p.Open()
	st := read(t, store)
	if st.Serial != 0 || st.Lineage != "" || len(st.Resources) != 0 {
		t.Errorf("a place without a state gives %+v", st)
	}
	if st.Resources == nil || st.Claims == nil || st.Spend == nil {
		t.Error("maps of an empty state are nil")
	}
	if store.Where() == "" {
		t.Error("the store has no name")
	}
	if again := read(t, p.Open()); again.Serial != 0 || again.Lineage != "" {
		t.Error("reading made a state")
	}
}

func firstWrite(t *testing.T, p Place) {
	var during string
	written := update(t, p.Open(), func(s *state.State) error {
		during = s.Lineage
		return Count("a")(s)
	})
	if during == "" || written.Lineage != during || written.Serial != 1 {
		t.Errorf("lineage %q during, %q after, serial %d", during, written.Lineage, written.Serial)
	}
	other := p.Open()
	if got := read(t, other); got.Lineage != during || got.Serial != 1 || got.Spend["a"].Runs != 1 {
		t.Errorf("another store reads %+v", got)
	}
	if got := update(t, other, Count("a")); got.Lineage != during || got.Serial != 2 {
		t.Errorf("second write: lineage %q serial %d", got.Lineage, got.Serial)
	}
}

func failedChange(t *testing.T, p Place) {
	store := p.Open()
	update(t, store, Count("a"))
	refused := errors.New("refused")
	_, err := store.Update(t.Context(), func(s *state.State) error {
		s.Spend["b"] = state.Spend{Runs: 1}
		delete(s.Spend, "a")
		return refused
	})
	if !errors.Is(err, refused) {
		t.Errorf("error %v, want the change's own", err)
	}
	if got := read(t, p.Open()); got.Serial != 1 || got.Spend["a"].Runs != 1 || len(got.Spend) != 1 {
		t.Errorf("a failed change left %+v", got)
	}
}

func noChange(t *testing.T, p Place) {
	store := p.Open()
	got := update(t, store, func(*state.State) error { return state.ErrNoChange })
	if got.Serial != 0 || got.Lineage != "" {
		t.Errorf("no change on nothing gives %+v", got)
	}
	update(t, store, Count("a"))
	got = update(t, store, func(s *state.State) error {
		delete(s.Spend, "a")
		return state.ErrNoChange
	})
	if got.Serial != 1 || got.Spend["a"].Runs != 1 {
		t.Errorf("no change gives %+v", got)
	}
}

func ownCopies(t *testing.T, p Place) {
	store := p.Open()
	first := update(t, store, Count("a"))
	first.Spend["a"] = state.Spend{Runs: 99}
	second := read(t, store)
	if second.Spend["a"].Runs != 1 {
		t.Errorf("count is %d, who wrote changed what others read", second.Spend["a"].Runs)
	}
	second.Spend["a"] = state.Spend{Runs: 98}
	if third := read(t, store); third.Spend["a"].Runs != 1 {
		t.Errorf("count is %d, a reader changed what others read", third.Spend["a"].Runs)
	}
	if got := update(t, store, Count("a")); got.Spend["a"].Runs != 2 {
		t.Errorf("count is %d, a reader changed the state", got.Spend["a"].Runs)
	}
}

func newest(t *testing.T, p Place) {
	one, two := p.Open(), p.Open()
	update(t, one, Count("a"))
	read(t, two)
	update(t, one, Count("a"))
	got := update(t, two, func(s *state.State) error {
		if s.Serial != 2 {
			t.Errorf("change sees serial %d, want 2", s.Serial)
		}
		return Count("a")(s)
	})
	if got.Serial != 3 || got.Spend["a"].Runs != 3 {
		t.Errorf("after three writes: serial %d, count %d", got.Serial, got.Spend["a"].Runs)
	}
}

func fixedIdentity(t *testing.T, p Place) {
	store := p.Open()
	lineage := update(t, store, Count("a")).Lineage
	got := update(t, store, func(s *state.State) error {
		s.Lineage, s.Serial = "other", 77
		return nil
	})
	if got.Lineage != lineage || got.Serial != 2 {
		t.Errorf("lineage %q serial %d, want %q and 2", got.Lineage, got.Serial, lineage)
	}
}

func concurrent(t *testing.T, p Place) {
	const writers, each = 8, 20
	var wg sync.WaitGroup
	shared := p.Open()
	for w := range writers {
		store := shared
		if w%2 == 1 {
			store = p.Open()
		}
		wg.Go(func() {
			for i := range each {
				if w == 0 && i%2 == 0 {
					_, _ = store.Update(t.Context(), func(s *state.State) error {
						s.Spend["n"] = state.Spend{Runs: -1000}
						return errors.New("refused")
					})
				}
				if _, err := store.Update(t.Context(), Count("n")); err != nil {
					t.Errorf("writer %d: %v", w, err)
					return
				}
			}
		})
	}
	wg.Wait()
	got := read(t, p.Open())
	if got.Spend["n"].Runs != writers*each {
		t.Errorf("count is %d, want %d", got.Spend["n"].Runs, writers*each)
	}
	if got.Serial == 0 || got.Serial > writers*each {
		t.Errorf("serial is %d after at most %d writes", got.Serial, writers*each)
	}
}

func claims(t *testing.T, p Place) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var wg sync.WaitGroup
	var mu sync.Mutex
	won := 0
	for i := range 10 {
		store := p.Open()
		wg.Go(func() {
			h := state.ClaimHolder{Who: "ann", Host: fmt.Sprintf("host%d", i), PID: 1}
			_, err := store.Update(t.Context(), func(s *state.State) error {
				_, _, err := s.Claim([]string{"run.a"}, "apply", h, now)
				return err
			})
			var held *state.ClaimedError
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				won++
			case !errors.As(err, &held):
				t.Errorf("claim: %v", err)
			}
		})
	}
	wg.Wait()
	if won != 1 {
		t.Errorf("%d of 10 got the claim", won)
	}
}

func crash(t *testing.T, p Place) {
	update(t, p.Open(), Count("a"))
	for moment, want := range map[string]int{"before": 0, "after": 1} {
		had := read(t, p.Open()).Spend["crash"].Runs
		p.Crash(t, moment)
		got := read(t, p.Open())
		if got.Spend["crash"].Runs != had+want || got.Spend["a"].Runs == 0 {
			t.Errorf("killed %s the write: count went from %d to %d", moment, had, got.Spend["crash"].Runs)
		}
		update(t, p.Open(), Count("a")) // nothing left behind is in the way
	}
}

func large(t *testing.T, p Place) {
	each := 25 << 10 // 50 MB in all
	if testing.Short() {
		each = 1 << 10
	}
	store := p.Open()
	update(t, store, func(s *state.State) error {
		for i := range 2000 {
			addr := fmt.Sprintf("run.sweep[%d]", i)
			id := fmt.Sprintf("sweep-%d", i)
			s.Resources[addr] = &state.Resource{Type: "run", Provider: "runpod", Run: &state.RunResource{
				Current: id,
				Runs:    []*state.Run{{ID: id, Phase: state.Succeeded, Message: strings.Repeat("x", each)}},
			}}
		}
		return nil
	})
	update(t, store, Count("a"))
	got := read(t, p.Open())
	if last := got.Resources["run.sweep[1999]"]; len(got.Resources) != 2000 || len(last.Run.CurrentRun().Message) != each || got.Spend["a"].Runs != 1 {
		t.Errorf("%d of 2000 resources came back", len(got.Resources))
	}
}
