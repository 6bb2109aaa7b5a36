package apply

import (
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/state"
)

// lose loses the first answer of a call, and with it the network for so long.
func lose(call string, away time.Duration) func(int, *fakePod) {
	return func(_ int, p *fakePod) {
		lost := false
		p.answer = func(c string) error { // under the pod's lock
			if c != call || lost {
				return nil
			}
			lost, p.offline = true, true
			time.AfterFunc(away, func() {
				p.mu.Lock()
				p.offline = false
				p.mu.Unlock()
			})
			return errCut
		}
	}
}

// TestLostAnswers: a connection that breaks while a job is being started costs
// neither the pod nor a second start.
func TestLostAnswers(t *testing.T) {
	for _, tt := range []struct {
		call string
		away time.Duration
	}{
		{"arm", 2900 * time.Millisecond},
		{"reserve", 2900 * time.Millisecond},
		{"launch", 2900 * time.Millisecond},
		{"launch", 20 * time.Minute},
	} {
		t.Run(tt.call+" "+tt.away.String(), func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				w.boot = lose(tt.call, tt.away)
				s := spec()
				s.Cap.MaxCostUSD = 5
				out := w.apply(oneRun(s), Options{})
				if run := w.run("run.train"); run.Phase != state.Succeeded || w.booted != 1 {
					t.Errorf("%s (%s), %d pods: %v", run.Phase, run.Message, w.booted, out.Runs)
				}
				if p := w.pod(1); p.marks["launch"] != 1 || p.marks["second launch"] != 0 {
					t.Error(p.marks)
				}
				w.clean()
			})
		})
	}
}

// TestInterruptInDoubt: while nobody knows whether the job runs, an interrupt
// leaves the pod alone, and the next apply brings the results home.
func TestInterruptInDoubt(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.boot = lose("launch", time.Hour)
		time.AfterFunc(5*time.Minute, func() { w.interrupts <- struct{}{} })
		out := w.apply(oneRun(spec()), Options{})
		if run := w.run("run.train"); !out.Interrupted || run.Pod == nil || run.Pod.Gone() || run.Pod.State != state.PodLaunching {
			t.Fatalf("interrupted=%v %+v", out.Interrupted, run)
		}
		w.apply(oneRun(spec()), Options{})
		if run := w.run("run.train"); run.Phase != state.Succeeded || w.booted != 1 || w.pod(1).marks["launch"] != 1 {
			t.Errorf("%s (%s), %d pods", run.Phase, run.Message, w.booted)
		}
		w.clean()
	})
}
