package apply

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/providers/providertest"
	"github.com/overbrainer/overbrainer/state"
)

// TestLastEnd holds the latest end of a pod against the rules of its guard. The
// deadline is after two hours, the grace one hour, the overrun none.
func TestLastEnd(t *testing.T) {
	t0 := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	after := func(h float64) *time.Time {
		at := t0.Add(time.Duration(h * float64(time.Hour)))
		return &at
	}
	const never = -1.0
	for _, tt := range []struct {
		name   string
		change func(*state.Run)
		want   float64 // hours after the pod's creation
	}{
		{"the job runs", nil, 3},
		{"no job yet", func(r *state.Run) { r.Phase, r.Pod.State = state.Preparing, state.PodReady }, 2},
		{"perhaps a job", func(r *state.Run) { r.Phase, r.Pod.State = state.Preparing, state.PodLaunching }, 3},
		{"overrun", func(r *state.Run) { r.Bounds.OverrunHours = 4 }, 7},
		{"the money ends first", func(r *state.Run) { r.Pod.CostCapAt = after(1.5) }, 1.5},
		{"the job ended", func(r *state.Run) { r.Phase, r.EndedAt = state.Failed, after(0.5) }, 1.5},
		{"destroyed, which its guard does not know", func(r *state.Run) {
			r.Phase, r.Reason, r.EndedAt, r.Pod.State = state.Cancelled, state.Destroyed, after(0.5), state.PodDeleting
		}, 3},
		{"its results come home", func(r *state.Run) { r.Phase, r.EndedAt, r.Pod.LeasedUntil = state.Succeeded, after(0.5), after(1.6) }, 1.85},
		{"its results come home to the last", func(r *state.Run) { r.Phase, r.EndedAt, r.Pod.LeasedUntil = state.Succeeded, after(0.5), after(4) }, 3},
		{"kept for half an hour", func(r *state.Run) { r.Bounds.KeepPodS = 1800 }, 3},
		{"kept, and the job may save itself", func(r *state.Run) { r.Bounds.KeepPodS, r.Job.SnapshotPath = 1800, "c" }, 3.25},
		{"kept for four hours", func(r *state.Run) { r.Bounds.KeepPodS = 4 * 3600 }, 6},
		{"kept for four hours, no job yet", func(r *state.Run) {
			r.Bounds.KeepPodS, r.Phase, r.Pod.State = 4*3600, state.Preparing, state.PodReady
		}, 2},
		{"kept and fetched", func(r *state.Run) {
			r.Bounds.KeepPodS, r.Phase, r.EndedAt, r.Retrieved = 1800, state.Succeeded, after(1), true
			r.Pod.State, r.Pod.KeptUntil = state.PodKept, after(1.5)
		}, 1.5},
		{"fetched, and its guard knows", func(r *state.Run) {
			r.Phase, r.EndedAt, r.Retrieved = state.Succeeded, after(1), true
			r.Pod.State, r.Pod.KeptUntil = state.PodDeleting, after(1.1)
		}, 1.1},
		{"kept for ever", func(r *state.Run) { r.Bounds.KeepPodS = -1 }, never},
		{"kept for ever, job ended", func(r *state.Run) { r.Bounds.KeepPodS, r.EndedAt = -1, after(1) }, never},
		{"kept for ever, with a cap", func(r *state.Run) { r.Bounds.KeepPodS, r.Pod.CostCapAt = -1, after(9) }, 9},
	} {
		run := &state.Run{
			Phase:     state.Running,
			Bounds:    state.Bounds{MaxHours: 2, RetrieveGrace: 3600},
			Pod:       &state.Pod{ID: "p", State: state.PodRunning, CreatedAt: t0, Deadline: after(2)},
			StartedAt: after(0.1),
		}
		if tt.change != nil {
			tt.change(run)
		}
		end, bounded := LastEnd(run, Production())
		if bounded != (tt.want != never) || bounded && !end.Equal(*after(tt.want)) {
			t.Errorf("%s: %s %v, want %g h", tt.name, end.Sub(t0), bounded, tt.want)
		}
	}
}

// A pod of which nobody saw the end counts until the latest of its bounds: the
// next run of the cap has only what is then left of max_total_usd.
func TestUnseenEndsCountToTheLastBound(t *testing.T) {
	const rate = 0.44 + 50*0.10/720
	for _, tt := range []struct {
		name   string
		change func(*plan.RunSpec)
		lives  time.Duration // the pod, from its creation on
		least  float64       // USD recorded
		most   float64
	}{
		{"kept for ever, ended by its money", func(s *plan.RunSpec) {
			s.KeepPodS, s.Cap.MaxHours, s.Cap.MaxCostUSD, s.Cap.MaxTotalUSD = -1, 0.5, 0.9, 1
		}, 2 * time.Hour, 0.9, 0.91},
		{"kept for two hours", func(s *plan.RunSpec) { s.KeepPodS, s.Cap.MaxHours = 7200, 1 }, 3 * time.Hour, 3 * rate, 3.1 * rate},
		{"not kept", func(s *plan.RunSpec) { s.Cap.MaxHours = 1 }, time.Hour, 2 * rate, 2.1 * rate},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				w.job.hang = true
				s := spec()
				tt.change(s)
				w.apply(oneRun(s), Options{Detach: true})
				id := w.run("run.train").Pod.ID
				time.Sleep(tt.lives)
				w.mem.Take(id)
				time.Sleep(24 * time.Hour)
				if _, err := w.engine().Attach(t.Context(), "run.train", Options{}); err != nil {
					t.Fatal(err)
				}
				run := w.run("run.train")
				if run.CostUSD < tt.least-0.0001 || run.CostUSD > tt.most {
					t.Errorf("recorded %v, want %v to %v", run.CostUSD, tt.least, tt.most)
				}
				if !strings.Contains(run.Message, "nothing of its log is here") {
					t.Errorf("nobody followed it: %s", run.Message)
				}
				if hours := run.EndedAt.Sub(run.Pod.CreatedAt).Hours(); hours > s.Cap.MaxHours+0.01 {
					t.Errorf("the job ended after %.2f h", hours)
				}
			})
		})
	}
}

// A stopped pod counts until the last line of its log, which may be long after
// its bounds; where that says nothing until it is found.
func TestStoppedPodCountsToItsLastSign(t *testing.T) {
	for _, tt := range []struct {
		name        string
		log         bool
		least, most float64 // hours
	}{
		{"its log says when", true, 4, 4.1},
		{"nothing says when", false, 52, 52.1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				w.job.hang = true
				s := spec()
				s.Cap.MaxHours = 1
				w.apply(oneRun(s), Options{Detach: true})
				pod := w.run("run.train").Pod
				time.Sleep(4 * time.Hour)
				if tt.log {
					w.mem.LogSystem(pod.ID, "stop container")
				} else {
					w.mem.Description.Capabilities = nil
				}
				w.mem.SetPod(pod.ID, func(p *providers.Pod) { p.Status = providers.Exited })
				time.Sleep(48 * time.Hour)
				_, _ = w.engine().Attach(t.Context(), "run.train", Options{})
				run := w.run("run.train")
				if hours := run.CostUSD / pod.HourUSD(); !run.Phase.Ended() || hours < tt.least || hours > tt.most {
					t.Errorf("%s, recorded %v h", run.Phase, hours)
				}
			})
		})
	}
}

// A guard that knows that the results are home ends the pod at once, however
// late somebody comes to see it.
func TestRetrievedPodCountsToItsMark(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.mem.Fail(providertest.Fault{Op: "DeletePod", Err: providertest.Error(providers.Transient, "delete pod", "no answer"), Times: 20})
		w.apply(oneRun(spec()), Options{})
		run := w.run("run.train")
		if !run.Retrieved || run.Pod.State != state.PodDeleting || run.Pod.KeptUntil == nil {
			t.Fatalf("%+v", run.Pod)
		}
		marked := run.Pod.CostUSD(*run.Pod.KeptUntil)
		w.mem.Take(run.Pod.ID)
		time.Sleep(48 * time.Hour)
		for range 2 { // the faults of the first may last
			w.apply(w.replan(oneSpec()), Options{})
		}
		if run = w.run("run.train"); run.CostUSD < marked || run.CostUSD > marked+0.02 { // for so long the provider did not answer
			t.Errorf("recorded %v, want %v", run.CostUSD, marked)
		}
		w.clean()
	})
}

// A cap that does not pay a boot rents nothing, whatever the plan said.
func TestCapBelowABootRentsNothing(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		s := spec()
		s.Cap.MaxCostUSD = 0.0001
		out := w.apply(oneRun(s), Options{})
		if run := w.run("run.train"); out.Class != Failure || len(w.mem.Creates()) != 0 || run.Reason != state.CostCap || !strings.Contains(run.Message, "does not pay the boot") {
			t.Errorf("%d creates, %+v", len(w.mem.Creates()), out)
		}
		w.clean()
	})
}

// What is told on leaving is what the guard on the pod does.
func TestDetachNamesTheBoundThatHolds(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*plan.RunSpec)
		says   []string
		not    string
	}{
		{"not kept", func(*plan.RunSpec) {}, []string{"the pod ends by itself by ", "max_hours = 6"}, "keep_pod"},
		{"kept for ever", func(s *plan.RunSpec) { s.KeepPodS = -1 },
			[]string{"the job is ended by ", "max_hours = 6", "the pod does not end by itself"}, "the pod ends by itself"},
		{"kept for ever with a cap", func(s *plan.RunSpec) { s.KeepPodS, s.Cap.MaxCostUSD = -1, 9 },
			[]string{"the job is ended by ", "the pod stays", "ends itself by ", "max_cost_usd = 9"}, "the pod ends by itself"},
		{"kept for two hours", func(s *plan.RunSpec) { s.KeepPodS = 7200 },
			[]string{`keep_pod = "2h"`, "at the latest"}, "the pod ends by itself"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				w.job.hang = true
				s := spec()
				tt.change(s)
				said := strings.Join(w.apply(oneRun(s), Options{Detach: true}).Messages, "\n")
				for _, words := range tt.says {
					if !strings.Contains(said, words) {
						t.Errorf("no %q in %q", words, said)
					}
				}
				if strings.Contains(said, tt.not) {
					t.Errorf("%q in %q", tt.not, said)
				}
			})
		})
	}
}

// The limit that is named is the one that was less.
func TestCostCapNamesItsLimit(t *testing.T) {
	for name, tt := range map[string]struct {
		total float64
		says  string
		limit float64
	}{
		"its own":           {5, "max_cost_usd = 0.5", 0.5},
		"what others leave": {0.3, "the $0.30 that were set aside for it under max_total_usd = 0.3", 0.3},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				w.job.hang, w.job.log = true, "a line\n"
				s := spec()
				s.Cap.MaxCostUSD, s.Cap.MaxTotalUSD = 0.5, tt.total
				w.apply(oneRun(s), Options{})
				if run := w.run("run.train"); run.Reason != state.CostCap || !strings.Contains(run.Message, tt.says) {
					t.Errorf("%s: %s", run.Reason, run.Message)
				}
				var limit float64
				for _, e := range w.events {
					if e.Kind == EventLog {
						limit = e.CapUSD
					}
				}
				if limit != tt.limit {
					t.Errorf("shown as of %v, want %v", limit, tt.limit)
				}
			})
		})
	}
}

// A plan that says that a lost run runs again is followed by a run that does.
func TestLostRunRunsAgain(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.job.hang = true
		w.apply(oneRun(spec()), Options{Detach: true})
		first := w.run("run.train")
		time.Sleep(time.Hour)
		w.mem.Take(first.Pod.ID)
		w.job.hang = false
		out := w.apply(planOf(plan.Rerun, oneSpec()), Options{})
		if run := w.run("run.train"); out.Class != OK || run.ID == first.ID || run.Phase != state.Succeeded {
			t.Errorf("%+v %s", out, run.Phase)
		}
		w.clean()
	})
}

// A sweep says of what it leaves until when it does.
func TestSweepSaysWhatItLeaves(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.job.hang = true
		w.apply(oneRun(spec()), Options{Detach: true})
		time.Sleep(6*time.Hour + 30*time.Minute) // past the deadline, within the grace
		out, err := w.engine().Sweep(t.Context(), Options{})
		said := strings.Join(out.Messages, "\n")
		if err != nil || !strings.Contains(said, "run.train: pod "+w.run("run.train").Pod.ID) || !strings.Contains(said, "is left until ") {
			t.Errorf("%v %q", err, said)
		}
		time.Sleep(time.Hour)
		if _, err := w.engine().Sweep(t.Context(), Options{}); err != nil {
			t.Error(err)
		}
		w.clean()
	})
}

// A pod whose client died while it booted had no job: it counts as long as it
// may boot and its guard waits for one, not until its deadline.
func TestUnseenEndOfABoot(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		s := spec()
		s.Cap.BootGraceS = 600
		w.boot = func(n int, p *fakePod) {
			if n == 1 {
				p.bootTime = time.Hour
			}
		}
		g := &grim{}
		e := w.mortal(g)
		go func() {
			time.Sleep(time.Minute)
			g.mu.Lock()
			g.dead = true
			g.mu.Unlock()
			g.end <- struct{}{}
			g.end <- struct{}{}
		}()
		_, _ = e.Apply(t.Context(), oneRun(s), Options{})
		w.dead[w.pid] = true
		pod := w.run("run.train").Pod
		if pod == nil || pod.State != state.PodProvisioning {
			t.Fatalf("%+v", pod)
		}
		time.Sleep(15 * time.Minute)
		w.mem.Take(pod.ID)
		time.Sleep(24 * time.Hour)
		w.apply(w.replan(map[string]*plan.RunSpec{"run.train": s}), Options{})
		run := w.run("run.train")
		if hours := run.Attempts[0].CostUSD / pod.HourUSD() * 60; run.Phase != state.Succeeded || hours < 25.9 || hours > 26.1 {
			t.Errorf("%s, the boot counts %v minutes", run.Phase, hours)
		}
		if !w.said(EventDeleted, "of a pod that nobody saw get ready (ready_timeout = 15m and boot_grace = 10m); the provider's bill may say less") {
			t.Error("nothing says what it counts by")
		}
		time.Sleep(48 * time.Hour)
	})
}

// A pod whose client died while it uploaded had no job, either: its guard waited
// for one since it was ready, and for as long as bytes may have moved.
func TestUnseenEndOfAnUpload(t *testing.T) {
	for _, tt := range []struct {
		name        string
		dies        time.Duration // after the pod is ready
		least, most float64       // minutes after it that count
	}{
		{"soon", 2 * time.Minute, 45, 46.1},
		{"after an hour", time.Hour, 60 + 15, 60 + 31.1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				g := &grim{}
				w.boot = func(n int, p *fakePod) {
					if n > 1 {
						return
					}
					p.upload = func(u UploadRequest) error {
						for began := time.Now(); time.Since(began) < tt.dies; time.Sleep(time.Second) {
							u.Progress(time.Since(began).Milliseconds(), 1<<40, 1)
						}
						g.mu.Lock()
						g.dead = true
						g.mu.Unlock()
						g.end <- struct{}{}
						g.end <- struct{}{}
						return errDead
					}
				}
				if err := os.WriteFile(filepath.Join(w.dir, "data.bin"), nil, 0o600); err != nil {
					t.Fatal(err)
				}
				s := spec()
				s.Cap.BootGraceS = 45 * 60
				s.Uploads = []plan.Upload{{Path: "data.bin", Source: "data.bin", Size: 1 << 40}}
				_, _ = w.mortal(g).Apply(t.Context(), oneRun(s), Options{})
				w.dead[w.pid] = true
				pod := w.run("run.train").Pod
				if pod == nil || pod.State != state.PodReady {
					t.Fatalf("%+v", pod)
				}
				time.Sleep(2 * time.Hour)
				w.mem.Take(pod.ID)
				time.Sleep(24 * time.Hour)
				w.apply(w.replan(map[string]*plan.RunSpec{"run.train": s}), Options{})
				first := w.run("run.train").Attempts[0]
				minutes := first.CostUSD/pod.HourUSD()*60 - pod.ReadyAt.Sub(pod.CreatedAt).Minutes()
				if minutes < tt.least-0.01 || minutes > tt.most {
					t.Errorf("it counts %.1f minutes after it was ready, want %g to %g", minutes, tt.least, tt.most)
				}
			})
		})
	}
}

// unanswering is an account whose API is away.
type unanswering struct{ *providertest.Memory }

var errAway = providertest.Error(providers.Transient, "x", "away")

func (unanswering) DeletePod(context.Context, string) (bool, error) { return false, errAway }
func (unanswering) GetPod(context.Context, string) (providers.Pod, error) {
	return providers.Pod{}, errAway
}
func (unanswering) ListPods(context.Context) (providers.PodList, error) {
	return providers.PodList{}, errAway
}

// Where the provider did not answer at a pod's bound, its guard had no answer,
// either: it counts until then at least, whoever finds it gone.
func TestUnansweredDeletionCounts(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.job.hang = true
		s := spec()
		s.Cap.MaxCostUSD = 0.44
		w.apply(oneRun(s), Options{Detach: true})
		pod := w.run("run.train").Pod
		time.Sleep(time.Until(*pod.CostCapAt) - time.Minute)
		e := w.engine()
		r := e.Providers["memory"]
		r.Provider = unanswering{w.mem}
		e.Providers = map[string]Rented{"memory": r}
		_, _ = e.Attach(t.Context(), "run.train", Options{})
		given := time.Now()
		if over := given.Sub(*pod.CostCapAt); over < w.timing.GuardInterval {
			t.Fatalf("given up %s after the cap", over)
		}
		w.mem.Take(pod.ID)
		time.Sleep(5 * time.Hour)
		_, _ = w.engine().Destroy(t.Context(), nil, DestroyOptions{})
		st, _ := w.store.Read(t.Context())
		want := pod.CostUSD(given.Add(w.timing.GuardInterval))
		if got := st.Spend["cap.small"].USD; got < want-0.001 || got > want+0.02 {
			t.Errorf("recorded %v, want %v", got, want)
		}
	})
}
