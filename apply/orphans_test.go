package apply

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/providers/providertest"
	"github.com/overbrainer/overbrainer/state"
)

// The host key of a run that the state does not know any more is removed when
// a command begins, unless a pod of the run is there; another project's never.
func TestForgottenHostKeysAreRemoved(t *testing.T) {
	for name, command := range map[string]func(context.Context, *world) (Outcome, error){
		"apply": func(ctx context.Context, w *world) (Outcome, error) {
			return w.engine().Apply(ctx, &plan.Plan{}, Options{})
		},
		"destroy": func(ctx context.Context, w *world) (Outcome, error) {
			return w.engine().Destroy(ctx, nil, DestroyOptions{})
		},
		"sweep": func(ctx context.Context, w *world) (Outcome, error) { return w.engine().Sweep(ctx, Options{}) },
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				w.apply(oneRun(spec()), Options{})
				st, _ := w.store.Read(t.Context())
				w.mem.AddPod(providers.Pod{ID: "there", Marker: providers.Marker{RunID: "held-1", Lineage: st.Lineage}, Status: "RUNNING"})
				keep := []string{
					state.HostKeySecret("another project", "old-1"), state.HostKeySecret(st.Lineage, "held-1"),
					"overbrainer_host_key_old-1", "hf-token",
				}
				gone := state.HostKeySecret(st.Lineage, "old-1")
				for _, secret := range append(keep, gone) {
					if _, err := w.mem.PutSecret(t.Context(), secret, "dmFsdWU="); err != nil {
						t.Fatal(err)
					}
				}
				if out, err := command(t.Context(), w); err != nil || out.Class != OK {
					t.Fatalf("%v %+v", err, out)
				}
				left := map[string]bool{}
				for _, s := range w.secrets() {
					left[s.Name] = true
				}
				if left[gone] || len(left) != len(keep) {
					t.Errorf("left: %v", left)
				}
				if !w.said(EventRemoved, gone) {
					t.Error("it was not said")
				}
			})
		})
	}
}

// A list of pods that cannot be read says nothing: no secret is removed then.
func TestHostKeysStayWhereThePodsAreUnknown(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.apply(oneRun(spec()), Options{})
		st, _ := w.store.Read(t.Context())
		if _, err := w.mem.PutSecret(t.Context(), state.HostKeySecret(st.Lineage, "old-1"), "dmFsdWU="); err != nil {
			t.Fatal(err)
		}
		w.mem.Fail(providertest.Fault{Op: "ListPods", Err: providertest.Error(providers.Transient, "list pods", "no answer"), Times: 1})
		if out, err := w.engine().Apply(t.Context(), &plan.Plan{}, Options{}); err != nil || out.Class != OK {
			t.Fatalf("%v %+v", err, out)
		}
		if len(w.secrets()) != 1 {
			t.Errorf("left: %v", w.secrets())
		}
	})
}

// destroy deletes this project's pods whose run the state does not know, where
// they are stopped or their run left its directory here. Others are reported.
func TestDestroyUnknownPods(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.apply(oneRun(spec()), Options{})
		st, _ := w.store.Read(t.Context())
		add := func(id, lineage string, status providers.PodStatus) string {
			return w.mem.AddPod(providers.Pod{Name: "overbrainer-" + id, Marker: providers.Marker{RunID: id, Lineage: lineage}, Status: status, RatePerHour: 0.4})
		}
		add("stopped-1", st.Lineage, "EXITED")
		add("ours-1", st.Lineage, "RUNNING")
		elsewhere := add("elsewhere-1", st.Lineage, "RUNNING")
		other := add("other-1", "another project", "EXITED")
		if err := os.MkdirAll(filepath.Join(w.dir, "runs", "ours-1"), 0o700); err != nil {
			t.Fatal(err)
		}
		out, err := w.engine().Apply(t.Context(), &plan.Plan{}, Options{})
		if err != nil || out.Class != OK || len(w.mem.Pods()) != 4 {
			t.Fatalf("apply only reports them: %v %+v, %d pods", err, out, len(w.mem.Pods()))
		}
		for _, id := range []string{"stopped-1", "ours-1", "elsewhere-1"} {
			if !w.said(EventWarning, fmt.Sprintf("run %s, which this state does not know", id)) {
				t.Errorf("%s was not reported", id)
			}
		}
		if out, err = w.engine().Destroy(t.Context(), nil, DestroyOptions{}); err != nil || out.Class != OK {
			t.Fatalf("%v %+v", err, out)
		}
		left := map[string]bool{}
		for _, p := range w.mem.Pods() {
			left[p.ID] = true
		}
		if len(left) != 2 || !left[elsewhere] || !left[other] {
			t.Errorf("left: %v", left)
		}
	})
}

// A pod that cannot be deleted is named with its rate, and the command fails.
func TestDestroyUnknownPodFails(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.apply(oneRun(spec()), Options{})
		st, _ := w.store.Read(t.Context())
		id := w.mem.AddPod(providers.Pod{Marker: providers.Marker{RunID: "old-1", Lineage: st.Lineage}, Status: "EXITED", RatePerHour: 0.4})
		w.mem.Fail(providertest.Fault{Op: "DeletePod", Err: providertest.Error(providers.Transient, "delete pod", "no answer"), Times: 200})
		out, err := w.engine().Destroy(t.Context(), nil, DestroyOptions{})
		if err != nil || out.Class != Failure || len(out.Left) != 1 || out.Left[0].ID != id || out.Left[0].RateUSD != 0.4 {
			t.Fatalf("%v %+v", err, out)
		}
	})
}

// What another process rents or ends between a command's first look at the state
// and its list of the pods is neither reported nor deleted.
func TestPodsRentedMeanwhile(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.apply(oneRun(spec()), Options{})
		st, _ := w.store.Read(t.Context())
		begin := func(id string, status providers.PodStatus) (pod string) {
			run := &state.Run{ID: id, Phase: state.Preparing, Dir: "runs/" + id, Attempts: []*state.Attempt{{Name: id + "-1", Result: state.AttemptSent, SentAt: w.engine().Now()}}}
			if err := os.MkdirAll(filepath.Join(w.dir, run.Dir), 0o700); err != nil {
				t.Error(err)
			}
			_, err := w.store.Update(context.Background(), func(st *state.State) error {
				st.Resources["run."+id] = &state.Resource{Type: "run", Provider: "runpod", Run: &state.RunResource{Current: id, Runs: []*state.Run{run}}}
				_, _, err := st.Claim([]string{"run." + id}, "apply", w.engine().Who, w.engine().Now())
				return err
			})
			if err != nil {
				t.Error(err)
			}
			return w.mem.AddPod(providers.Pod{Name: id + "-1", Marker: providers.Marker{RunID: id, Lineage: st.Lineage, Attempt: id + "-1"}, Status: status, RatePerHour: 0.4})
		}
		var live, dead string
		w.mem.Fail(providertest.Fault{Op: "ListPods", Do: func() { live = begin("one", providers.Running) }})
		if out, err := w.engine().Apply(t.Context(), &plan.Plan{}, Options{}); err != nil || out.Class != OK {
			t.Fatalf("%v %+v", err, out)
		}
		if live == "" || w.said(EventWarning, "which this state does not know") {
			t.Errorf("pod %q was reported", live)
		}
		// A destroy lists first for the addresses that it ends, of which there is
		// none here but claimed ones.
		delete := func(addr string) {
			if _, err := w.store.Update(t.Context(), func(st *state.State) error { delete(st.Resources, addr); return nil }); err != nil {
				t.Fatal(err)
			}
		}
		delete("run.train")
		w.mem.Fail(providertest.Fault{Op: "ListPods", Do: func() { dead = begin("two", providers.Exited) }})
		if _, err := w.engine().Destroy(t.Context(), nil, DestroyOptions{}); err != nil {
			t.Fatal(err)
		}
		left := map[string]bool{}
		for _, p := range w.mem.Pods() {
			left[p.ID] = true
		}
		if dead == "" || !left[live] || !left[dead] {
			t.Errorf("left: %v of %q and %q", left, live, dead)
		}
	})
}
