package apply

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/providers/providertest"
	"github.com/overbrainer/overbrainer/state"
)

// saving is a job that saves itself at step 40 when it is asked to.
func saving() *plan.RunSpec {
	s := spec()
	s.Snapshot = &plan.SnapshotSpec{Path: "output/checkpoint-{step}", GraceS: 1800}
	return s
}

// stopped leaves a run that was stopped with a snapshot, and gives it with the
// plan that goes on from it.
func (w *world) stopped() (*state.Run, *plan.Plan) {
	w.t.Helper()
	w.job = fakeJob{hang: true, length: time.Hour, snapshot: 40, log: "x\n", files: map[string]string{"output/checkpoint-40/w": "w", "output/early": "e"}}
	w.apply(oneRun(saving()), Options{Detach: true})
	time.Sleep(time.Minute)
	if out, err := w.engine().Stop(w.t.Context(), "run.train", Options{}); err != nil || out.Class != OK {
		w.t.Fatalf("%v %+v", err, out)
	}
	run := w.run("run.train")
	s := saving()
	s.ResumeFrom = plan.ResumeAt("run.train", run.Checkpoint())
	w.job = fakeJob{length: time.Minute, files: map[string]string{"output/model.bin": "w"}}
	return run, planOf(plan.Resume, map[string]*plan.RunSpec{"run.train": s})
}

// A run that was to go on from a snapshot and ended before it left one of its
// own has not lost it, however it ended, and whoever takes it up starts from it.
func TestSnapshotOutlivesAFailedResume(t *testing.T) {
	const forever = -1
	kept := func(t *testing.T, w *world, first *state.Run, reason state.Reason) {
		t.Helper()
		run := w.run("run.train")
		if run.ID == first.ID || run.Reason != reason {
			t.Fatalf("run %s %s: %s", run.ID, run.Reason, run.Message)
		}
		want := first.Checkpoint()
		if got := run.Checkpoint(); want == nil || want.SHA256 == "" || got == nil || *got != *want {
			t.Errorf("it goes on from %+v, not %+v", got, want)
		}
	}
	for name, test := range map[string]struct {
		breaks func(w *world)
		reason state.Reason
	}{
		"nothing to rent": {func(w *world) {
			w.mem.Fail(providertest.Fault{Op: "CreatePod", Err: &providers.Error{Kind: providers.Capacity}, Times: forever})
		}, state.NoCapacity},
		"a failed bootstrap": {func(w *world) {
			w.boot = func(_ int, p *fakePod) { p.verdict = Verdict{State: "failed", Reason: "x", Bootstrap: true} }
		}, state.Bootstrap},
		"a lost process": {func(w *world) { w.boot = func(_ int, p *fakePod) { p.lost = true } }, state.Lost},
		"a crash":        {func(w *world) { w.job.exit = 1 }, state.ExitCode},
		"an interrupt": {func(w *world) {
			go func() { time.Sleep(12 * time.Second); w.interrupts <- struct{}{} }()
		}, state.Interrupted},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				first, p := w.stopped()
				test.breaks(w)
				w.apply(p, Options{})
				kept(t, w, first, test.reason)
				w.clean()
			})
		})
	}
}

// Whoever takes up a run that a dead process began starts it from the snapshot,
// although its plan only says that it goes on.
func TestSnapshotOutlivesTheClient(t *testing.T) {
	for at, dies := 1, true; dies; at += 3 {
		in(t, func(t *testing.T, w *world) {
			first, p := w.stopped()
			g := &grim{at: at}
			_, _ = w.mortal(g).Apply(t.Context(), p, Options{})
			w.dead[w.pid] = true
			synctest.Wait()
			if dies = g.dead; dies {
				if w.run("run.train").ID != first.ID {
					p = w.replan(map[string]*plan.RunSpec{"run.train": saving()})
				}
				w.apply(p, Options{})
			}
			if run := w.run("run.train"); run.Phase != state.Succeeded || run.ID == first.ID {
				t.Errorf("%s: %s %s", g.label, run.Phase, run.Message)
			}
			for n := 2; n <= w.booted; n++ {
				if p := w.pod(n); p.marks["launch"] > 0 && (p.launch.ResumeDir != "resume/checkpoint-40" || len(p.uploads) != 2) {
					t.Errorf("%s: resume dir %q, uploads %v", g.label, p.launch.ResumeDir, p.uploads)
				}
			}
			time.Sleep(48 * time.Hour) // until what is left of the dead process has ended
		})
	}
}

// A run that starts from another one's snapshot has what it waits for when that
// one is stopped; others that come after it do not.
func TestAStoppedRunIsAStart(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.job = fakeJob{hang: true, length: time.Hour, snapshot: 40, files: map[string]string{"output/early": "e"}}
		w.boot = func(n int, p *fakePod) {
			if n > 1 {
				p.job = fakeJob{length: time.Minute, files: map[string]string{"output/model.bin": "w"}}
			}
		}
		longer := spec()
		longer.ResumeFrom = &plan.ResumeSpec{Run: "run.a"}
		p := planOf(plan.Run, map[string]*plan.RunSpec{"run.a": saving(), "run.longer": longer, "run.other": spec()})
		p.Steps[1].DependsOn, p.Steps[2].DependsOn = []string{"run.a"}, []string{"run.a"}
		done := make(chan Outcome, 1)
		go func() { done <- w.apply(p, Options{}) }()
		time.Sleep(5 * time.Minute)
		e := w.engine()
		e.Interrupts = nil
		if _, err := e.Stop(t.Context(), "run.a", Options{}); err != nil {
			t.Fatal(err)
		}
		out := <-done
		if run := w.run("run.longer"); run == nil || run.Phase != state.Succeeded || run.ResumedFrom != w.run("run.a").ID || run.From != nil || w.pod(2).launch.ResumeDir != "resume/checkpoint-40" {
			t.Errorf("%+v", run)
		}
		if out.Class != JobFailed || len(out.Skipped) != 1 || out.Skipped[0].Address != "run.other" {
			t.Errorf("class %d, skipped %v", out.Class, out.Skipped)
		}
		w.clean()
	})
}

// What is not here, or not what was verified, is noticed before a pod is
// rented, and the run that left it stays the current one.
func TestNothingIsRentedForABrokenCheckpoint(t *testing.T) {
	for name, harm := range map[string]func(dir string) error{
		"away":    os.RemoveAll,
		"changed": func(dir string) error { return os.WriteFile(filepath.Join(dir, "w"), []byte("999"), 0o600) },
		"half":    func(dir string) error { return os.Remove(filepath.Join(dir, "w")) },
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				first, p := w.stopped()
				if err := harm(filepath.Join(w.dir, first.Dir, "output/checkpoint-40")); err != nil {
					t.Fatal(err)
				}
				out := w.apply(p, Options{})
				if CodeOf(out.Runs[0].Err) != "checkpoint" || len(w.mem.Creates()) != 1 || w.run("run.train").ID != first.ID {
					t.Errorf("%d pods, %+v", len(w.mem.Creates()), out.Runs[0])
				}
			})
		})
	}
}
