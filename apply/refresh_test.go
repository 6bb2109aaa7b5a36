package apply

import (
	"errors"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/state"
)

func TestMoves(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.apply(oneRun(spec()), Options{})
		id := w.run("run.train").ID
		moved := &plan.Plan{Moves: []plan.Move{{From: "run.train", To: `run.sft["low"]`}}}
		for range 2 { // the second time it is done already
			if out := w.apply(moved, Options{}); out.Class != OK {
				t.Fatalf("%+v", out)
			}
			if w.run("run.train") != nil || w.run(`run.sft["low"]`).ID != id {
				t.Errorf("the run is not where it was moved to")
			}
		}

		taken := &plan.Plan{Moves: []plan.Move{{From: `run.sft["low"]`, To: "run.train"}}}
		_, err := w.store.Update(t.Context(), func(st *state.State) error {
			_, _, err := st.Claim([]string{`run.sft["low"]`}, "apply", state.ClaimHolder{Who: "x", Host: "elsewhere", PID: 1}, time.Now())
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.engine().Apply(t.Context(), taken, Options{})
		var held *Error
		if !errors.As(err, &held) || held.Class != Held {
			t.Errorf("a run that somebody works on was moved: %v", err)
		}
		if w.run(`run.sft["low"]`) == nil {
			t.Error("it is not where it was")
		}
	})
}

func TestMoveOntoAnother(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.apply(planOf(plan.Run, map[string]*plan.RunSpec{"run.a": spec(), "run.b": spec()}), Options{})
		_, err := w.engine().Apply(t.Context(), &plan.Plan{Moves: []plan.Move{{From: "run.a", To: "run.b"}}}, Options{})
		var e *Error
		if !errors.As(err, &e) || e.Code != "moved" {
			t.Errorf("%v", err)
		}
		if w.run("run.a") == nil || w.run("run.b") == nil {
			t.Error("a run is lost")
		}
	})
}

func TestRefreshVolumes(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.mem.AddVolume(providers.Volume{ID: "vol_1", Name: "cache", SizeGB: 80, DataCenter: "EU-RO-1"})
		set := func(st *state.State) error {
			for addr, id := range map[string]string{"volume.cache": "vol_1", "volume.lost": "vol_2"} {
				st.Resources[addr] = &state.Resource{Type: "volume", Provider: "memory", Volume: &state.Volume{ID: id, Name: "cache", SizeGB: 50, DataCenter: "EU-RO-1", Managed: true, Retain: true}}
			}
			return nil
		}
		if _, err := w.store.Update(t.Context(), set); err != nil {
			t.Fatal(err)
		}
		step := func(addr string) *plan.Step {
			return &plan.Step{Address: addr, Type: "volume", Action: plan.Refresh, Volume: &plan.VolumeSpec{Provider: "memory", Managed: true, Retain: true}}
		}
		out := w.apply(&plan.Plan{Steps: []*plan.Step{step("volume.cache"), step("volume.lost")}}, Options{})
		st, err := w.store.Read(t.Context())
		if err != nil || out.Class != OK {
			t.Fatalf("%v, %+v", err, out)
		}
		if v := st.Resources["volume.cache"].Volume; v.SizeGB != 80 || !v.Managed || !v.Retain {
			t.Errorf("%+v", v)
		}
		if st.Resources["volume.lost"] != nil {
			t.Error("a volume that does not exist is still in the state")
		}
		if w.mem.Count("CreateVolume")+w.mem.Count("ResizeVolume")+w.mem.Count("DeleteVolume") > 0 {
			t.Error("a volume was changed")
		}
	})
}

func TestRefreshRuns(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.job.length = 3 * time.Hour
		if out := w.apply(oneRun(spec()), Options{Detach: true}); out.Class != OK {
			t.Fatalf("%+v", out)
		}
		refresh := &plan.Plan{Steps: []*plan.Step{{Address: "run.train", Type: "run", Action: plan.Refresh, RunID: w.run("run.train").ID}}}
		w.apply(refresh, Options{})
		if run := w.run("run.train"); run.Phase != state.Running {
			t.Errorf("a run whose pod is there became %s", run.Phase)
		}
		w.mem.Take(w.run("run.train").Pod.ID)
		if out := w.apply(refresh, Options{}); out.Class != OK {
			t.Errorf("%+v", out)
		}
		if run := w.run("run.train"); run.Phase != state.Failed || run.Reason != state.Lost || !run.Pod.Gone() {
			t.Errorf("%s %s, pod %+v", run.Phase, run.Reason, run.Pod)
		}
		if n := len(w.mem.Creates()); n != 1 {
			t.Errorf("%d pods were made", n)
		}
	})
}

// TestRetainFollowsThePlan: whether a volume may be deleted is what the plan
// says, since the configuration may say something else than when it was made.
func TestRetainFollowsThePlan(t *testing.T) {
	for _, retain := range []bool{true, false} {
		in(t, func(t *testing.T, w *world) {
			w.mem.AddVolume(providers.Volume{ID: "vol_1", Name: "cache", SizeGB: 50, DataCenter: "EU-RO-1"})
			_, err := w.store.Update(t.Context(), func(st *state.State) error {
				st.Resources["volume.cache"] = &state.Resource{Type: "volume", Provider: "memory", Volume: &state.Volume{ID: "vol_1", SizeGB: 50, Managed: true, Retain: !retain}}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			action := plan.Destroy
			if retain {
				action = plan.NoOp
			}
			p := &plan.Plan{Destroying: true, Steps: []*plan.Step{{Address: "volume.cache", Type: "volume", Action: action,
				Volume: &plan.VolumeSpec{ID: "vol_1", Provider: "memory", Managed: true, Retain: retain}}}}
			out, err := w.engine().Destroy(t.Context(), p, DestroyOptions{Volumes: true})
			if err != nil || out.Class != OK {
				t.Errorf("retain %v: %v %+v", retain, err, out)
			}
			_, err = w.mem.GetVolume(t.Context(), "vol_1")
			if there := err == nil; there != retain {
				t.Errorf("retain %v in the plan: the volume is there: %v", retain, there)
			}
		})
	}
}
