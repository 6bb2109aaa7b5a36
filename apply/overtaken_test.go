package apply

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/state"
)

// TestDestroyedElsewhere: whoever follows a run, or looks on, that another process
// ends and takes out of the state says so within seconds, with the cost that was
// written down or none.
func TestDestroyedElsewhere(t *testing.T) {
	tests := []struct {
		name   string
		looker bool // a second one that looks on
		after  time.Duration
		end    func(t *testing.T, w *world)
		state  string
		code   string
		words  string
	}{
		{name: "destroy", after: 10 * time.Minute, end: destroyed, state: "cancelled", words: "destroyed by the user"},
		{name: "destroy while young", after: 40 * time.Second, end: destroyed, state: "cancelled", words: "destroyed by the user"},
		{name: "destroy while it boots", after: 3 * time.Second, end: destroyed, state: "cancelled", words: "destroyed by the user"},
		{name: "destroy beside who looks on", looker: true, after: 40 * time.Second, end: destroyed, state: "cancelled", words: "destroyed by the user"},
		{name: "from another machine", after: 10 * time.Minute, end: func(t *testing.T, w *world) {
			destroyed(t, w)
			files, _ := filepath.Glob(filepath.Join(w.dir, "runs", "*", "run.json"))
			for _, f := range files {
				_ = os.Remove(f)
			}
		}, state: "removed", code: "removed", words: "what it cost is not known here"},
		{name: "out of the state only", after: 10 * time.Minute, end: func(t *testing.T, w *world) {
			if _, err := w.store.Update(t.Context(), func(st *state.State) error {
				delete(st.Resources, "run.train")
				delete(st.Claims, "run.train")
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			p := w.pod(1)
			p.mu.Lock()
			defer p.mu.Unlock()
			p.offline = true
		}, state: "removed", code: "removed", words: "is still there, at $"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				w.job = fakeJob{length: time.Hour, log: "one\n", files: map[string]string{"output/m": "w"}}
				w.boot = func(_ int, p *fakePod) { p.bootTime = 20 * time.Second }
				type end struct {
					out Outcome
					at  time.Time
				}
				ended := make(chan end, 2)
				n := 1
				go func() { ended <- end{w.apply(oneRun(spec()), Options{}), time.Now()} }()
				time.Sleep(tt.after)
				if tt.looker {
					n++
					e := w.engine()
					e.Interrupts = nil
					go func() {
						out, _ := e.Attach(t.Context(), "run.train", Options{})
						ended <- end{out, time.Now()}
					}()
					time.Sleep(5 * time.Second)
				}
				tt.end(t, w)
				done := time.Now()
				for range n {
					got := <-ended
					if late := got.at.Sub(done); late > 10*time.Second {
						t.Errorf("it ended %s later", late)
					}
					if got.out.Class != Failure || len(got.out.Runs) != 1 {
						t.Fatalf("class %d: %+v", got.out.Class, got.out)
					}
					r := got.out.Runs[0]
					if r.State != tt.state || !strings.Contains(r.Message, tt.words) || tt.code != "" && CodeOf(r.Err) != tt.code {
						t.Errorf("%s %q %v", r.State, r.Message, r.Err)
					}
					if known := tt.code == ""; known == (r.Forgotten || r.Unknown) || !known && r.CostUSD != 0 {
						t.Errorf("it cost %g, forgotten %v", r.CostUSD, r.Forgotten)
					}
				}
			})
		})
	}
}

// destroyed ends the work of everybody else, and everything.
func destroyed(t *testing.T, w *world) {
	e := w.engine()
	e.Interrupts = nil
	out, err := e.Destroy(t.Context(), &plan.Plan{Destroying: true}, DestroyOptions{TakeOver: true})
	if err != nil || out.Class != OK {
		t.Errorf("%v %+v", err, out)
	}
}
