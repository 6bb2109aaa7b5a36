package plan

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/state"
)

// Between the first look at the state and the list of the account's pods other
// processes rent and end: nothing of that is left over, and what somebody works
// on has no command that ends it.
func TestLeftoversWhileOthersWork(t *testing.T) {
	mark := func(run, attempt string) providers.Marker {
		return providers.Marker{RunID: run, Lineage: "0123", Attempt: attempt}
	}
	claim := func(st *state.State, addr string) {
		st.Claims = map[string]state.Claim{}
		if _, _, err := st.Claim([]string{addr}, "attach", state.ClaimHolder{Who: "root", Host: "vm", PID: 12}, testNow); err != nil {
			t.Fatal(err)
		}
	}
	live := func(id string) *state.Pod { return &state.Pod{ID: id, State: state.PodRunning, RateUSD: 0.4} }
	second := func(r *state.Run) { // of which the first look knows nothing
		r.Attempts = append(r.Attempts, &state.Attempt{Name: "train-2", Result: state.AttemptNotReady, PodID: "p2"})
	}
	for name, c := range map[string]struct {
		before func(*state.Run)               // as the first look finds the run
		after  func(*state.State, *state.Run) // what became of it
		pods   []providers.Pod
		want   string
	}{
		"rented for another run": {
			after: func(st *state.State, _ *state.Run) {
				st.Resources["run.other"] = &state.Resource{Type: "run", Provider: "runpod", Run: &state.RunResource{
					Current: "r-other", Runs: []*state.Run{{ID: "r-other", Phase: state.Preparing, Pod: live("p1")}},
				}}
			},
			pods: []providers.Pod{{ID: "p1", Status: providers.Running, RatePerHour: 0.4, Marker: mark("r-other", "other-1")}},
		},
		"another run came and went": {
			after: func(st *state.State, _ *state.Run) {
				st.Resources["run.other"] = &state.Resource{Type: "run", Provider: "runpod", Run: &state.RunResource{
					Current: "r-other", Runs: []*state.Run{{ID: "r-other", Phase: state.Succeeded}},
				}}
			},
			pods: []providers.Pod{{ID: "p1", Status: providers.Running, RatePerHour: 0.4, Marker: mark("r-other", "other-1")}},
		},
		"rented for the run itself": {
			before: func(r *state.Run) { r.Phase = state.Preparing },
			after:  func(_ *state.State, r *state.Run) { r.Phase, r.Pod = state.Preparing, live("p1") },
			pods:   []providers.Pod{{ID: "p1", Status: providers.Running, RatePerHour: 0.4, Marker: mark("r-train", "train-1")}},
		},
		"asked for, the answer is awaited": {
			after: func(st *state.State, r *state.Run) {
				r.Phase, r.Attempts = state.Preparing, []*state.Attempt{{Name: "train-1", Result: state.AttemptSent}}
				claim(st, "run.train")
			},
			pods: []providers.Pod{{ID: "p1", Status: providers.Running, RatePerHour: 0.4, Marker: mark("r-train", "train-1")}},
		},
		"a try was given up": {
			after: func(_ *state.State, r *state.Run) { second(r) },
			pods:  []providers.Pod{{ID: "p2", Status: providers.Running, RatePerHour: 0.4, Marker: mark("r-train", "train-2")}},
		},
		"a try was given up before": {
			before: second,
			after:  func(_ *state.State, r *state.Run) { second(r) },
			pods:   []providers.Pod{{ID: "p2", Status: providers.Running, RatePerHour: 0.4, Marker: mark("r-train", "train-2")}},
			want:   "stray p2 a second pod of the run|overbrainer pod rm r-train",
		},
		"ended": {
			before: func(r *state.Run) { r.Pod = live("p1") },
			after:  func(_ *state.State, r *state.Run) { r.Pod = &state.Pod{ID: "p1", State: state.PodDeleted} },
			pods:   []providers.Pod{{ID: "p1", Status: providers.Running, RatePerHour: 0.4, Marker: mark("r-train", "train-1")}},
		},
		"ended and forgotten": {
			before: func(r *state.Run) { r.Pod = live("p1") },
			after:  func(st *state.State, _ *state.Run) { delete(st.Resources, "run.train") },
			pods:   []providers.Pod{{ID: "p1", Status: providers.Running, RatePerHour: 0.4, Marker: mark("r-train", "train-1")}},
		},
		"somebody ends it": {
			before: func(r *state.Run) { r.Pod = live("p1") },
			after:  func(st *state.State, r *state.Run) { r.Pod = live("p1"); claim(st, "run.train") },
			pods:   []providers.Pod{{ID: "p1", Status: providers.Running, RatePerHour: 0.4, Marker: mark("r-train", "train-1")}},
			want:   "pod p1 is not shown to be gone yet, run succeeded; root@vm works on it (attach, pid 12)|",
		},
		"somebody works on it": {
			before: func(r *state.Run) { r.Strays = []state.Stray{{PodID: "p1"}} },
			after: func(st *state.State, r *state.Run) {
				r.Strays = []state.Stray{{PodID: "p1"}}
				r.Secrets = []state.SecretRef{{Name: "one"}}
				claim(st, "run.train")
			},
			pods: []providers.Pod{
				{ID: "p1", Status: providers.Running, RatePerHour: 0.4, Marker: mark("r-train", "train-1")},
				{ID: "p2", Status: providers.Running, RatePerHour: 0.4, Marker: mark("r-train", "train-2")},
			},
			want: "stray p1 a pod of the run whose deletion was not confirmed; root@vm works on it (attach, pid 12)|\n" +
				"stray p2 a second pod of the run; root@vm works on it (attach, pid 12)|",
		},
		"nobody knows it": {
			after: func(*state.State, *state.Run) {},
			pods:  []providers.Pod{{ID: "p1", Status: providers.Running, RatePerHour: 0.4, Marker: mark("r-gone", "gone-1")}},
			want:  "pod p1 of this project, and its run is not in the state|overbrainer pod rm r-gone -force",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t, base)
			p.did("run.train", c.before)
			p.pods = c.pods
			now, err := p.state.Clone()
			if err != nil {
				t.Fatal(err)
			}
			c.after(now, now.Resources["run.train"].Run.Runs[0])
			pl := p.plan(func(in *Input) {
				in.Reread = func(context.Context) (*state.State, error) { return now, nil }
				in.Holder = state.ClaimHolder{Who: "me", Host: "here", PID: 1}
			})
			var got []string
			for _, l := range pl.Leftovers {
				got = append(got, l.Kind+" "+l.ID+" "+l.Note+"|"+l.Fix)
			}
			if strings.Join(got, "\n") != c.want {
				t.Errorf("leftovers:\n%s\nwant:\n%s", strings.Join(got, "\n"), c.want)
			}
		})
	}
}

// A state that cannot be read again judges nothing, and that is said.
func TestLeftoversThatCannotBeTold(t *testing.T) {
	p := newProject(t, base)
	p.did("run.train", nil)
	p.pods = []providers.Pod{{ID: "p1", Status: providers.Running, Marker: providers.Marker{RunID: "r-gone", Lineage: "0123"}}}
	pl := p.plan(func(in *Input) {
		in.Reread = func(context.Context) (*state.State, error) { return nil, errors.New("no answer") }
	})
	if len(pl.Leftovers) > 0 {
		t.Errorf("leftovers %+v", pl.Leftovers)
	}
	said(t, pl, "warning", "left over", "no answer")
}
