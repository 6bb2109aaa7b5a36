package apply

import (
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/providers/providertest"
	"github.com/overbrainer/overbrainer/state"
)

// TestBlindAfterACreate: while the list of pods cannot be read nobody knows
// whether an unanswered create call made a pod, and no other is asked for.
func TestBlindAfterACreate(t *testing.T) {
	unclear := providertest.Fault{Op: "CreatePod", Arg: "NVIDIA A40", After: true, Err: providertest.Error(providers.Ambiguous, "create pod", "no answer")}
	down := providertest.Fault{Op: "ListPods", Err: providertest.Error(providers.Transient, "list pods", "bad gateway")}
	t.Run("for minutes", func(t *testing.T) {
		in(t, func(t *testing.T, w *world) {
			w.mem.Fail(unclear)
			down.Times = 20
			w.boot = func(int, *fakePod) { w.mem.Fail(down) }
			w.apply(oneRun(spec()), Options{})
			if run := w.run("run.train"); run.Phase != state.Succeeded || len(w.mem.Creates()) != 1 {
				t.Errorf("%s (%s), %d create calls", run.Phase, run.Message, len(w.mem.Creates()))
			}
			w.clean()
		})
	})
	t.Run("for hours", func(t *testing.T) {
		in(t, func(t *testing.T, w *world) {
			w.mem.Fail(unclear)
			down.Times = 185
			w.boot = func(int, *fakePod) { w.mem.Fail(down) }
			out := w.apply(oneRun(spec()), Options{})
			if out.Class != Failure || len(w.mem.Creates()) != 1 || !w.run("run.train").Holds() {
				t.Errorf("class %d, %d create calls", out.Class, len(w.mem.Creates()))
			}
		})
	})
}

// TestWaitingForATurn: the time that a create call waits for the rate limit is
// neither billed nor part of ready_timeout.
func TestWaitingForATurn(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		s := spec()
		s.Target.ReadyTimeoutS = 60
		w.shape = func(_ int, p providers.Pod) providers.Pod {
			time.Sleep(70 * time.Second)
			p.CreatedAt = time.Now()
			return p
		}
		w.apply(oneRun(s), Options{})
		if run := w.run("run.train"); run.Phase != state.Succeeded || len(run.Attempts) != 1 {
			t.Errorf("%s (%s), %v", run.Phase, run.Message, results(run))
		}
	})
}
