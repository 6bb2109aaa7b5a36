package apply

import (
	"strings"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/providers/providertest"
)

// TestRefusedDeletionIsSaidOnce, soon and with what the pod costs meanwhile, whether
// the provider refuses it or goes on trying by itself. A pod that is gone all the same
// is not called left.
func TestRefusedDeletionIsSaidOnce(t *testing.T) {
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

// A create call that has no answer for long is told soon, and once.
func TestSlowCreateIsSaid(t *testing.T) {
	for takes, want := range map[time.Duration]int{4 * time.Second: 0, time.Minute: 1} {
		in(t, func(t *testing.T, w *world) {
			w.mem.Fail(providertest.Fault{Op: "PutSecret", After: true, Do: func() { time.Sleep(takes) }})
			w.mem.Fail(providertest.Fault{Op: "CreatePod", After: true, Do: func() { time.Sleep(takes) }})
			out := w.apply(oneRun(spec()), Options{})
			var asked time.Time
			said := 0
			for _, e := range w.events {
				switch {
				case e.Kind == EventCreating:
					asked = e.Time
				case e.Kind == EventWaiting && strings.HasPrefix(e.Message, "the call that makes the pod has no answer so far"):
					said++
					if late := e.Time.Sub(asked); late != w.timing.EffectAnswer {
						t.Errorf("said after %s", late)
					}
				}
			}
			if out.Class != OK || said != want || w.said(EventWaiting, "the call that stores the run's host key has no answer so far") != (want > 0) {
				t.Errorf("class %d, said %d times of a call of %s", out.Class, said, takes)
			}
		})
	}
}
