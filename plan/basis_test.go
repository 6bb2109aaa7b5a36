package plan

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/state"
)

// TestPlanningLeavesTheStateAsItIs holds that entries are shared with the state
// and not written to, whatever is planned over them.
func TestPlanningLeavesTheStateAsItIs(t *testing.T) {
	p := newProject(t, base)
	p.did("run.train", func(r *state.Run) {
		r.Phase, r.EndedAt, r.Metrics = state.Running, nil, map[string]float64{"loss": 1}
		r.Snapshot, r.Pod = &state.Snapshot{Path: "ckpt", Step: 3}, &state.Pod{ID: "p", SSH: &state.Endpoint{Host: "192.0.2.1", Port: 1, User: "root"}}
	})
	hcl := strings.NewReplacer(`"train"`, `"sft"`, "run.train", "run.sft").Replace(base)
	p.write("overbrainer.hcl", hcl+"moved {\n  from = run.train\n  to   = run.sft\n}\n")
	before, err := state.Encode(p.state)
	if err != nil {
		t.Fatal(err)
	}
	if pl := p.plan(); len(pl.Moves) != 1 {
		t.Errorf("%d moves, %v", len(pl.Moves), pl.Diagnostics)
	}
	if Moved(p.state, p.load().Moved).Resources["run.sft"] == nil {
		t.Error("not moved")
	}
	if after, _ := state.Encode(p.state); !bytes.Equal(before, after) {
		t.Errorf("%s\n%s", before, after)
	}
}

func TestExpectedIsTheNewestOfTheAddressElseOfTheBlock(t *testing.T) {
	at := func(hours int) *time.Time { end := testNow.Add(time.Duration(hours) * time.Hour); return &end }
	entry := func(runs ...*state.Run) *state.Resource {
		return &state.Resource{Run: &state.RunResource{Runs: runs}}
	}
	b := &builder{st: &state.State{Resources: map[string]*state.Resource{
		`run.a["x"]`: entry(&state.Run{ID: "x1", Phase: state.Succeeded, CostUSD: 1, EndedAt: at(2)}, &state.Run{ID: "x2", Phase: state.Succeeded, CostUSD: 1, EndedAt: at(1)}),
		`run.a["y"]`: entry(&state.Run{ID: "y1", Phase: state.Succeeded, CostUSD: 1, EndedAt: at(3)}, &state.Run{ID: "y2", Phase: state.Failed, CostUSD: 1, EndedAt: at(4)}),
		`run.a["z"]`: entry(&state.Run{ID: "z1", Phase: state.Succeeded, EndedAt: at(5)}),
		"run.other":  entry(&state.Run{ID: "o1", Phase: state.Succeeded, CostUSD: 1, EndedAt: at(6)}),
	}}}
	for addr, want := range map[string]string{`run.a["x"]`: "x1", `run.a["y"]`: "y1", `run.a["z"]`: "y1", `run.a["new"]`: "y1", "run.other": "o1"} {
		if run := b.comparable(addr); run == nil || run.ID != want {
			t.Errorf("%s: %v, not %s", addr, run, want)
		}
	}
	if run := b.comparable("run.none"); run != nil {
		t.Errorf("run.none: %v", run)
	}
}
