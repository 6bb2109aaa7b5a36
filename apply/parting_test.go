package apply

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/providers/providertest"
)

// TestManyRunsAreLeftInFewWords: what goes on after an interrupt is told together,
// with what it costs and the commands that go on with it and end it.
func TestManyRunsAreLeftInFewWords(t *testing.T) {
	for name, interrupts := range map[string]int{"in order": 1, "at once": 2} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				w.job.hang = true
				specs := map[string]*plan.RunSpec{}
				for i := range 7 {
					specs[fmt.Sprintf("run.x[%d]", i)] = spec()
				}
				go func() {
					time.Sleep(3 * time.Minute)
					for range interrupts {
						w.interrupts <- struct{}{}
					}
				}()
				e := w.engine()
				e.Parallelism = 5
				out, err := e.Apply(t.Context(), planOf(plan.Run, specs), Options{})
				if err != nil || out.Class != Interrupt {
					t.Fatalf("%v %+v", err, out)
				}
				const words = `5 runs still run on their pods, at $2.235 an hour together: `
				if len(out.Messages) != 1 || !strings.HasPrefix(out.Messages[0], words) {
					t.Fatalf("%q", out.Messages)
				}
				for _, part := range []string{" and 2 more\nby ", " the last of these pods ends by itself\ncome back: ", "overbrainer apply, or for one of them overbrainer run attach ADDR; end them: overbrainer destroy, or one of them overbrainer run cancel ADDR"} {
					if !strings.Contains(out.Messages[0], part) {
						t.Errorf("no %q in %q", part, out.Messages[0])
					}
				}
				for _, r := range out.Runs {
					if !strings.HasPrefix(r.Address, "run.x[") || !r.Detached || math.Abs(r.Seconds-160) > 1 || r.RunID == "" || r.PodID == "" || math.Abs(r.CostUSD-0.447/20) > 0.003 {
						t.Errorf("%+v", r)
					}
				}
				if len(out.Runs) != 5 {
					t.Errorf("%d runs", len(out.Runs))
				}
				if interrupts == 1 && (len(out.Skipped) != 2 || out.Skipped[0].Because != TheInterrupt || !w.said(EventSkipped, "not begun before the interrupt")) {
					t.Errorf("%+v", out.Skipped)
				}
			})
		})
	}
}

// TestLeftAtOnceWithoutJob: a pod on which no job runs yet is named, with what it has
// cost, where the command ends at once.
func TestLeftAtOnceWithoutJob(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.boot = func(_ int, p *fakePod) { p.bootTime = 10 * time.Minute }
		go func() {
			time.Sleep(3 * time.Minute)
			for range 2 {
				w.interrupts <- struct{}{}
			}
		}()
		out := w.apply(oneRun(spec()), Options{})
		if len(out.Runs) != 1 {
			t.Fatalf("%+v", out)
		}
		if r := out.Runs[0]; r.PodID != w.pod(1).id || r.Reason != "interrupted" || r.GPUType != "NVIDIA A40" || math.Abs(r.CostUSD-0.447/20) > 0.001 || !r.Detached {
			t.Errorf("%+v", r)
		}
		if len(out.GoesOn) != 1 || out.GoesOn[0].ID != w.pod(1).id || out.GoesOn[0].RateUSD < 0.446 || out.GoesOn[0].Until.IsZero() || !strings.HasPrefix(out.GoesOn[0].Fix, "overbrainer destroy -target=") {
			t.Errorf("%+v", out.GoesOn)
		}
		time.Sleep(time.Hour) // what was left ends before the test does
	})
}

// TestLeftWhileItIsDeleted: a pod whose deletion is under way when the command ends at
// once is left with its bound, in words and as data.
func TestLeftWhileItIsDeleted(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.boot = func(_ int, p *fakePod) { p.bootTime = 10 * time.Minute }
		w.mem.Fail(providertest.Fault{Op: "DeletePod", Err: providertest.Error(providers.Transient, "delete pod", "no answer"), Times: 100})
		go func() {
			time.Sleep(3 * time.Minute)
			w.interrupts <- struct{}{}
			time.Sleep(time.Second)
			w.interrupts <- struct{}{}
		}()
		out := w.apply(oneRun(spec()), Options{})
		if len(out.Runs) != 1 || out.Runs[0].Detached || out.Runs[0].PodID != w.pod(1).id || out.Runs[0].Reason != "interrupted" {
			t.Errorf("%+v", out.Runs)
		}
		if len(out.GoesOn) != 1 || out.GoesOn[0].Until.IsZero() || out.GoesOn[0].RateUSD < 0.446 {
			t.Fatalf("%+v", out.GoesOn)
		}
		if until := out.GoesOn[0].Until.Local().Format(clock); len(out.Messages) != 1 || !strings.Contains(out.Messages[0], "by itself it ends by "+until+" at the latest") {
			t.Errorf("%q", out.Messages)
		}
		time.Sleep(time.Hour) // what was left ends before the test does
	})
}

// TestGoneIsNotLeft: of what destroy was at when it was ended at once, that is told which
// bills, and not what was gone by then.
func TestGoneIsNotLeft(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		specs := map[string]*plan.RunSpec{"run.a": spec(), "run.b": spec()}
		w.job.hang = true
		w.apply(planOf(plan.Run, specs), Options{Detach: true})
		deletions := 0
		w.mem.Fail(providertest.Fault{Op: "DeletePod", Times: 2, Do: func() {
			if deletions++; deletions == 2 {
				w.interrupts <- struct{}{}
				w.interrupts <- struct{}{}
				time.Sleep(time.Minute)
			}
		}})
		e := w.engine()
		e.Parallelism = 1
		out, err := e.Destroy(t.Context(), nil, DestroyOptions{})
		if err != nil || len(out.GoesOn) != 1 || len(out.Messages) != 1 || !strings.Contains(out.Messages[0], "pod "+out.GoesOn[0].ID+" is being deleted") {
			t.Errorf("%v %+v", err, out)
		}
		time.Sleep(time.Hour)
	})
}

// TestLeftWithResults: a run that has ended and whose results wait is not one that goes
// on, whether the command ends in order or at once.
func TestLeftWithResults(t *testing.T) {
	for name, interrupts := range map[string]int{"in order": 1, "at once": 2} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				w.boot = func(_ int, p *fakePod) { p.collect = func(int) error { return errors.New("connection lost") } }
				go func() {
					time.Sleep(10*time.Minute + 40*time.Second)
					for range interrupts {
						w.interrupts <- struct{}{}
					}
				}()
				out := w.apply(oneRun(spec()), Options{})
				if len(out.Runs) != 1 || !out.Runs[0].Waits || out.Runs[0].State != "succeeded" {
					t.Fatalf("%+v", out.Runs)
				}
				if len(out.Messages) != 1 || !strings.Contains(out.Messages[0], "has ended (succeeded) and its results wait on pod") ||
					!strings.Contains(out.Messages[0], ", until 2000-01-01 ") || !strings.Contains(out.Messages[0], " at the latest (retrieve_grace = ") {
					t.Errorf("%q", out.Messages)
				}
				if len(out.GoesOn) != 1 || out.GoesOn[0].Note != resultsOnIt || out.GoesOn[0].Until.IsZero() {
					t.Errorf("%+v", out.GoesOn)
				}
				time.Sleep(time.Hour)
			})
		})
	}
}

// TestPartings: each manner in which many go on is told by itself.
func TestPartings(t *testing.T) {
	running := map[string]parting{}
	add := func(n int, p parting) {
		for range n {
			p.text = fmt.Sprintf("run.%02d alone", len(running))
			running[fmt.Sprintf("run.%02d", len(running))] = p
		}
	}
	add(2, parting{how: noJobYet, hourUSD: 0.5})
	add(1, parting{how: podGoes, hourUSD: 0.5})
	end := time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local)
	all := func(parting) bool { return true }
	if got := partings(running, all); !slices.Equal(got, []string{"run.00 alone", "run.01 alone", "run.02 alone"}) {
		t.Errorf("few: %q", got)
	}
	add(3, parting{how: resultsWait, hourUSD: 0.25})
	running["run.04"] = parting{how: resultsWait, text: "so"}
	add(2, parting{how: jobRuns, free: true})
	running["run.07"] = parting{how: jobRuns, text: "so", free: true, end: end}
	want := []string{
		"2 runs still run on their pods, at no cost: run.06, run.07\nby 2026-01-02 03:04:05 " + end.Format("MST") +
			" the last of these pods ends by itself\n1 of these pods do not end by themselves (keep_pod = \"forever\")",
		"3 runs have ended and their results wait on their pods, at $0.50 an hour together and 1 of them at a rate that the provider did not tell: run.03, run.04, run.05\n",
		"2 pods are there or were asked for and no job runs on them yet, at $1.00 an hour together: run.00, run.01\n",
		"3 pods are being deleted and bill until that is proven, at $1.50 an hour together: run.02, run.08, run.09\nby 2026-01-02 03:04:05 " + end.Format("MST") +
			" the last of these pods ends by itself\noverbrainer apply or destroy",
	}
	add(2, parting{how: podGoes, hourUSD: 0.5, end: end})
	running["run.02"] = running["run.08"]
	got := partings(running, all)
	if len(got) != len(want) {
		t.Fatalf("%q", got)
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("%q does not begin with %q", got[i], want[i])
		}
	}
}
