package apply

import (
	"strings"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/providers/providertest"
)

// TestRefusedDeletionIsSaidOnce, soon and with what the pod costs meanwhile, whether
// the provider refuses it, goes on trying by itself, or accepts it and the pod stays. A
// pod that is gone all the same
// is not called left.
func TestRefusedDeletionIsSaidOnce(t *testing.T) {
	const stays = "is accepted, but the pod is not seen to be gone; it is tried again, and the pod bills at $0.447 an hour until it is gone"
	ignored := func(lasts time.Duration) func(w *world) providertest.Fault {
		return func(w *world) providertest.Fault {
			var pods []providers.Pod
			var asked time.Time
			time.AfterFunc(5*time.Minute, func() { pods = w.mem.Pods() })
			return providertest.Fault{Times: -1, After: true, Do: func() {
				if asked.IsZero() {
					asked = time.Now()
				}
				if time.Since(asked) < lasts {
					w.mem.AddPod(pods[0])
				}
			}}
		}
	}
	refuses := providertest.Error(providers.Transient, "delete pod", "the API answered 500")
	for name, test := range map[string]struct {
		fault func(w *world) providertest.Fault
		says  string // behind the pod's ID
		class Class
	}{
		"refused for good": {func(*world) providertest.Fault {
			return providertest.Fault{Times: -1, Err: refuses}
		}, "is refused (delete pod: the API answered 500); it is tried again, and the pod bills at $0.447 an hour until it is gone", Failure},
		"refused, with its effect": {func(*world) providertest.Fault {
			return providertest.Fault{Times: -1, Err: refuses, After: true}
		}, "is refused (delete pod: the API answered 500); it is tried again", OK},
		"refused, and the guard ends the pod": {func(w *world) providertest.Fault {
			return providertest.Fault{Times: -1, Err: refuses, Do: func() { time.AfterFunc(20*time.Second, func() { w.mem.Take(w.pod(1).id) }) }}
		}, "is refused (delete pod: the API answered 500); it is tried again", OK},
		"the key may not, but the guard's may": {func(w *world) providertest.Fault {
			return providertest.Fault{Times: -1, Err: providertest.Error(providers.Forbidden, "delete pod", "it may not"), Do: func() { w.mem.Take(w.pod(1).id) }}
		}, "", OK},
		"no answer for long": {func(*world) providertest.Fault {
			return providertest.Fault{Do: func() { time.Sleep(5 * time.Minute) }}
		}, "is refused or not answered so far; it is tried again, and the pod bills at $0.447 an hour until it is gone", OK},
		"no answer at first": {func(*world) providertest.Fault {
			return providertest.Fault{Do: func() { time.Sleep(4 * time.Second) }}
		}, "", OK},
		"accepted, and ignored for good":     {ignored(time.Hour), stays, Failure},
		"accepted, and ignored for a while":  {ignored(20 * time.Second), stays, OK},
		"accepted, and ignored for a moment": {ignored(2 * time.Second), "", OK},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				fault := test.fault(w)
				fault.Op = "DeletePod"
				w.mem.Fail(fault)
				out := w.apply(oneRun(spec()), Options{})
				if out.Class != test.class || (len(out.Left) == 0) != (test.class == OK) {
					t.Errorf("class %d, left %v", out.Class, out.Left)
				}
				var asked time.Time
				said := 0
				for _, e := range w.events {
					switch {
					case e.Kind == EventDeleting:
						asked = e.Time
					case e.Kind == EventWarning && strings.Contains(e.Message, "deletion"):
						said++
						if !strings.Contains(e.Message, "the deletion of pod "+w.pod(1).id+" "+test.says) || e.Time.Sub(asked) > 5*time.Second+w.timing.DrainLogs {
							t.Errorf("after %s: %s", e.Time.Sub(asked), e.Message)
						}
					}
				}
				if want := min(len(test.says), 1); said != want {
					t.Errorf("said %d times, not %d", said, want)
				}
			})
		})
	}
}
