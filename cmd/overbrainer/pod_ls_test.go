package main

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/apply"
	"github.com/overbrainer/overbrainer/config"
	"github.com/overbrainer/overbrainer/internal/money"
	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/providers/providertest"
	"github.com/overbrainer/overbrainer/state"
)

// pod ls calls nothing nobody's that another process rented or deleted while the
// account was listed, or that somebody works on.
func TestPodsThatOthersWorkOn(t *testing.T) {
	local := state.Local(t.TempDir(), "test")
	change := func(f func(*state.State)) {
		t.Helper()
		if _, err := local.Update(context.Background(), func(st *state.State) error { f(st); return nil }); err != nil {
			t.Error(err)
		}
	}
	run := func(st *state.State, id string, phase state.Phase, pod *state.Pod) {
		st.Resources["run."+id] = &state.Resource{Type: "run", Provider: "fake", Run: &state.RunResource{
			Current: id, Runs: []*state.Run{{ID: id, Phase: phase, Dir: "runs/" + id, Pod: pod}},
		}}
	}
	change(func(st *state.State) {
		run(st, "old", state.Succeeded, &state.Pod{ID: "left", State: state.PodRunning})
	})
	before, err := local.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	mem := providertest.NewMemory()
	add := func(id, run string) {
		mem.AddPod(providers.Pod{ID: id, Status: providers.Running, Marker: providers.Marker{RunID: run, Lineage: before.Lineage}})
	}
	add("left", "old")
	add("unknown", "lost")
	mem.Fail(providertest.Fault{Op: "ListPods", Do: func() {
		change(func(st *state.State) {
			run(st, "new", state.Preparing, &state.Pod{ID: "new", State: state.PodProvisioning})
			run(st, "going", state.Preparing, &state.Pod{ID: "going", State: state.PodDeleting})
			run(st, "fetched", state.Succeeded, &state.Pod{ID: "fetched", State: state.PodRunning})
			run(st, "fresh", state.Preparing, &state.Pod{ID: "fresh", State: state.PodProvisioning})
			if _, _, err := st.Claim([]string{"run.fetched", "run.new"}, "attach", state.ClaimHolder{Who: "root", Host: "elsewhere.invalid", PID: 12}, time.Now()); err != nil {
				t.Error(err)
			}
		})
		add("new", "new")
		add("going", "going")
		add("fresh", "fresh")
		add("fetched", "fetched")
		add("ends", "ended")
	}})
	a := &app{now: time.Now, dir: t.TempDir()}
	store := a.store(0)
	store.once.Do(func() { store.at = local })
	acc := &account{project: &project{app: a, store: store, st: before}, name: "fake", provider: gone{mem, "ends"}}
	rows, _, err := acc.listed(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range rows {
		text := r.PodID + ": " + r.Kind + ", " + r.Note + " | " + r.Fix
		if r.Orphan {
			text += " !"
		}
		got = append(got, text)
	}
	want := []string{
		"fetched: ended, succeeded, not deleted; root@elsewhere.invalid works on it (attach, pid 12) | ",
		"fresh: unattended, no job runs on it yet and nobody goes on with it | overbrainer destroy -target=run.fresh !",
		"going: unattended, its deletion has begun and nobody goes on with it | overbrainer destroy -target=run.going !",
		"unknown: not_in_runs, no such run here; pod rm -force deletes it | overbrainer pod rm lost -force !",
		"new: in_progress, preparing | ",
		"left: ended, succeeded, not deleted | overbrainer pod rm old !",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

// A stopped pod is said to be, and what it costs, whatever the state says of its run.
func TestPodLsOfStoppedPods(t *testing.T) {
	st := state.New("l")
	for id, phase := range map[string]state.Phase{"goes": state.Running, "over": state.Failed} {
		st.Resources["run."+id] = &state.Resource{Type: "run", Provider: "fake", Run: &state.RunResource{
			Current: id, Runs: []*state.Run{{ID: id, Phase: phase, Pod: &state.Pod{ID: id, State: state.PodRunning, RateUSD: 0.4}}},
		}}
	}
	acc := &account{project: &project{app: &app{now: time.Now}, st: st}, name: "fake"}
	pods := []providers.Pod{}
	for _, id := range []string{"goes", "over", "strange"} {
		pods = append(pods, providers.Pod{ID: id, Status: providers.Exited, RatePerHour: 0.4, PersistentGB: 120, Marker: providers.Marker{RunID: id, Lineage: st.Lineage}})
	}
	pods[1].PersistentGB = 0
	var got []string
	for _, r := range acc.podRows(pods) {
		cost := "unknown"
		if r.RateUSD != nil {
			cost = money.Price(*r.RateUSD)
		}
		got = append(got, r.Status+" "+cost+" "+r.Kind+": "+r.Note+" | "+r.Fix)
	}
	want := []string{
		"EXITED $0.0334 stopped: stopped, its disk costs $24.00 a month; apply ends its run | overbrainer apply",
		"EXITED unknown ended: stopped, and still costs its disk; failed, not deleted | overbrainer pod rm over",
		"EXITED $0.0334 not_in_runs: stopped, its disk costs $24.00 a month; no such run here; pod rm -force deletes it | overbrainer pod rm strange -force",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

// The plan of a destroy judges by the state from after the list, too.
func TestPlanOfPodsRentedMeanwhile(t *testing.T) {
	local := state.Local(t.TempDir(), "test")
	change := func(f func(*state.State)) {
		t.Helper()
		if _, err := local.Update(context.Background(), func(st *state.State) error { f(st); return nil }); err != nil {
			t.Error(err)
		}
	}
	change(func(*state.State) {})
	before, err := local.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	mem := providertest.NewMemory()
	mem.Fail(providertest.Fault{Op: "ListPods", Do: func() {
		change(func(st *state.State) {
			st.Resources["run.new"] = &state.Resource{Type: "run", Provider: "fake", Run: &state.RunResource{
				Current: "new", Runs: []*state.Run{{ID: "new", Phase: state.Preparing, Dir: "runs/new", Pod: &state.Pod{ID: "new", State: state.PodProvisioning}}},
			}}
		})
		mem.AddPod(providers.Pod{ID: "new", Status: providers.Running, Marker: providers.Marker{RunID: "new", Lineage: before.Lineage}})
	}})
	a := &app{now: time.Now, dir: t.TempDir(), environ: func(string) string { return "" }}
	store := a.store(0)
	store.once.Do(func() { store.at = local })
	p := &project{app: a, store: store, st: before, cfg: &config.Config{Targets: map[string]*config.Target{"target.gpu": {Provider: "fake"}}}}
	p.init()
	p.rented["fake"] = apply.Rented{Provider: mem, Description: mem.Description, Configured: mem.Configured}
	pl, err := p.plan(t.Context(), planning{refresh: true, destroy: true})
	if err != nil || len(pl.Leftovers) > 0 || len(mem.Pods()) != 1 {
		t.Errorf("%v, left over: %+v", err, pl.Leftovers)
	}
}

// gone is an account of which one pod is deleted as soon as it was listed.
type gone struct {
	*providertest.Memory
	pod string
}

func (g gone) GetPod(ctx context.Context, id string) (providers.Pod, error) {
	g.Take(g.pod)
	return g.Memory.GetPod(ctx, id)
}
