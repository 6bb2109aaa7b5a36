package apply

import (
	"errors"
	"testing"

	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/state"
)

// A plan file that is executed exactly is refused, before anything is asked of a
// provider, when the state changes between its reading and its execution; a
// claim that somebody renewed meanwhile is no such change.
func TestAPlanIsRefusedWhenTheStateMovedOn(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		st, err := w.store.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		p := oneRun(spec())
		if p.Project.StateDigest, err = plan.Basis(st); err != nil {
			t.Fatal(err)
		}
		change := func(f func(*state.State)) {
			t.Helper()
			if _, err := w.store.Update(t.Context(), func(st *state.State) error { f(st); return nil }); err != nil {
				t.Fatal(err)
			}
		}
		change(func(st *state.State) { st.Spend = map[string]state.Spend{"cap.small": {USD: 1, Runs: 1}} })
		_, err = w.engine().Apply(t.Context(), p, Options{Exactly: true})
		var stale *Error
		if !errors.As(err, &stale) || stale.Code != "stale_plan" || len(w.mem.Creates()) > 0 {
			t.Fatalf("error %v, %d creates", err, len(w.mem.Creates()))
		}
		change(func(st *state.State) {
			st.Spend = nil
			st.Claims = map[string]state.Claim{"run.other": {ID: "c", Operation: "attach", Expires: w.engine().Now()}}
		})
		if out := w.apply(p, Options{Exactly: true}); out.Class != OK {
			t.Errorf("class %d: %+v", out.Class, out)
		}
	})
}
