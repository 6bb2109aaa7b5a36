package apply

import (
	"strings"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/providers/providertest"
	"github.com/overbrainer/overbrainer/state"
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

// TestDestroyGoesOn: a run whose destroy was killed while its pod was being deleted was
// destroyed by the user, whatever command goes on with the deletion.
func TestDestroyGoesOn(t *testing.T) {
	for name, test := range map[string]struct {
		goOn  func(w *world) Outcome
		again bool
	}{
		"by an attach": {func(w *world) Outcome {
			out, err := w.engine().Attach(w.t.Context(), "run.train", Options{})
			if err != nil {
				w.t.Fatal(err)
			}
			return out
		}, false},
		"by an apply of something else": {func(w *world) Outcome { return w.apply(&plan.Plan{}, Options{}) }, false},
		"by an apply of an older plan": {func(w *world) Outcome {
			return w.apply(planOf(plan.Attach, map[string]*plan.RunSpec{"run.train": spec()}), Options{})
		}, false},
		"by an apply that runs it again": {func(w *world) Outcome {
			w.job.hang = false
			return w.apply(planOf(plan.Rerun, map[string]*plan.RunSpec{"run.train": spec()}), Options{})
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				w.job.hang = true
				w.apply(oneRun(spec()), Options{Detach: true})
				first := w.run("run.train").ID
				_, err := w.store.Update(t.Context(), func(st *state.State) error {
					pod := st.Resources["run.train"].Run.CurrentRun().Pod
					pod.State, pod.DeletingFor = state.PodDeleting, "destroyed"
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				out := test.goOn(w)
				st, err := w.store.Read(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				_, run := st.FindRun(first)
				if now := w.run("run.train"); test.again {
					if now.ID == first || now.Phase != state.Succeeded {
						t.Errorf("it did not run again: %+v", now)
					}
				} else if run == nil || run.Phase != state.Cancelled || run.Reason != state.Destroyed || run.Message != destroyedWords {
					t.Errorf("the run: %+v", run)
				}
				if len(out.Errors) > 0 {
					t.Errorf("%+v", out)
				}
				w.clean()
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
