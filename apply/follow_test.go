package apply

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/state"
)

func oneSpec() map[string]*plan.RunSpec { return map[string]*plan.RunSpec{"run.train": spec()} }

// TestEnds holds how runs end.
func TestEnds(t *testing.T) {
	tests := []struct {
		name    string
		spec    func(*plan.RunSpec)
		job     func(*fakeJob)
		during  func(w *world, p *fakePod) // ten minutes after the job's start
		phase   state.Phase
		reason  state.Reason
		class   Class
		message string
		fetched bool
		kept    bool // the pod waits
	}{
		{name: "exit code", job: func(j *fakeJob) { j.exit = 3 }, phase: state.Failed, reason: state.ExitCode, class: JobFailed, message: "exited with 3", fetched: true},
		{name: "not found", job: func(j *fakeJob) { j.exit = 127 }, phase: state.Failed, reason: state.ExitCode, class: JobFailed, message: "not found", fetched: true},
		{name: "killed", job: func(j *fakeJob) { j.exit = 137 }, phase: state.Failed, reason: state.ExitCode, class: JobFailed, message: "signal 9", fetched: true},
		{name: "no outputs", job: func(j *fakeJob) { j.files = map[string]string{"result/model.bin": "x"} }, phase: state.Failed, reason: state.NoOutputs, class: JobFailed, message: "result/model.bin", kept: true},
		{name: "no outputs allowed", spec: func(s *plan.RunSpec) { s.AllowEmpty = true }, job: func(j *fakeJob) { j.files = nil }, phase: state.Succeeded, class: OK, fetched: true},
		{name: "no metrics", spec: func(s *plan.RunSpec) { s.MetricsRequired = true }, job: func(j *fakeJob) { j.metrics = "" }, phase: state.Failed, reason: state.NoMetrics, class: JobFailed, fetched: true},
		{name: "time limit", job: func(j *fakeJob) { j.hang = true }, phase: state.Failed, reason: state.TimeLimit, class: Failure, message: "max_hours = 6 (overbrainer.hcl:10)"},
		{name: "cost cap", spec: func(s *plan.RunSpec) { s.Cap.MaxCostUSD = 1 }, job: func(j *fakeJob) { j.hang = true }, phase: state.Failed, reason: state.CostCap, class: Failure, message: "max_cost_usd = 1"},
		{name: "stalled", spec: func(s *plan.RunSpec) { s.Cap.StallAfterS = 600 }, job: func(j *fakeJob) { j.hang = true; j.length = time.Minute }, phase: state.Failed, reason: state.StalledOut, class: Failure, message: "stall_after", fetched: true},
		{name: "pod vanishes", job: func(j *fakeJob) { j.length, j.log = time.Hour, strings.Repeat("epoch\n", 60) }, during: func(w *world, p *fakePod) { w.mem.Take(p.id) }, phase: state.Failed, reason: state.Lost, class: Failure, message: "log and metrics"},
		{name: "taken away", job: func(j *fakeJob) { j.length = time.Hour }, during: func(w *world, p *fakePod) {
			w.mem.SetPod(p.id, func(p *providers.Pod) { p.Status = providers.Exited })
		}, phase: state.Failed, reason: state.TakenAway, class: Failure, message: "EXITED"},
		{name: "connection lost for an hour", job: func(j *fakeJob) { j.length = 2 * time.Hour }, during: func(w *world, p *fakePod) {
			p.mu.Lock()
			p.offline = true
			p.mu.Unlock()
			time.Sleep(time.Hour)
			p.mu.Lock()
			p.offline = false
			p.mu.Unlock()
		}, phase: state.Succeeded, class: OK, fetched: true},
		{name: "out of reach past the deadline", job: func(j *fakeJob) { j.length = 5*time.Hour + 50*time.Minute }, during: func(w *world, p *fakePod) {
			p.mu.Lock()
			p.offline = true
			p.mu.Unlock()
			time.Sleep(6*time.Hour + 10*time.Minute)
			p.mu.Lock()
			p.offline = false
			p.mu.Unlock()
		}, phase: state.Succeeded, class: OK, fetched: true},
		{name: "container made anew", job: func(j *fakeJob) { j.length = time.Hour }, during: func(w *world, p *fakePod) {
			p.mu.Lock()
			p.started = time.Time{}
			p.mu.Unlock()
		}, phase: state.Failed, reason: state.Lost, class: Failure, message: "empty disk"},
		{name: "container restarted", job: func(j *fakeJob) { j.length = time.Hour }, during: func(w *world, p *fakePod) {
			w.mem.Log(p.id, "2026-03-04T05:06:07Z bootstrap: container restarted")
			time.Sleep(time.Second)
			p.mu.Lock()
			p.lost = true
			p.mu.Unlock()
		}, phase: state.Failed, reason: state.Lost, class: Failure, message: "was restarted, which ended the job", fetched: true},
		{name: "killed from outside", job: func(j *fakeJob) { j.length, j.log = time.Hour, strings.Repeat("epoch\n", 60) }, during: func(w *world, p *fakePod) {
			p.mu.Lock()
			p.lost = true
			p.mu.Unlock()
		}, phase: state.Failed, reason: state.Lost, class: Failure, message: "the job's process is gone and left no exit code", fetched: true},
		{name: "container made anew as the results come", spec: func(s *plan.RunSpec) { s.AllowEmpty = true }, phase: state.Failed, reason: state.Lost, class: Failure, message: "the job succeeded; the container of pod"},
		{name: "network away as the results come", job: func(j *fakeJob) { j.length = 9 * time.Minute }, phase: state.Succeeded, class: OK, fetched: true},
		{name: "digest mismatch", job: func(j *fakeJob) {}, during: nil, phase: state.Succeeded, class: Failure, kept: true, message: "digest"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				s := spec()
				if tt.spec != nil {
					tt.spec(s)
				}
				if tt.job != nil {
					tt.job(&w.job)
				}
				w.boot = func(_ int, p *fakePod) {
					if tt.name == "digest mismatch" {
						p.collect = func(int) error { return fmt.Errorf("%w: output/model.bin", ErrMismatch) }
					}
					if tt.name == "container made anew as the results come" {
						p.collect = func(n int) error {
							if n > 1 {
								return nil
							}
							p.started, p.job.files = time.Time{}, nil
							return errors.New("connection lost")
						}
					}
					if tt.name == "network away as the results come" {
						p.collect = func(n int) error {
							if n > 1 {
								return nil
							}
							p.offline = true
							time.AfterFunc(20*time.Minute, func() {
								p.mu.Lock()
								p.offline = false
								p.mu.Unlock()
							})
							return errors.New("connection lost")
						}
					}
					if tt.during != nil {
						go func() {
							time.Sleep(10 * time.Minute)
							tt.during(w, p)
						}()
					}
				}
				out := w.apply(oneRun(s), Options{})
				run := w.run("run.train")
				if run.Phase != tt.phase || run.Reason != tt.reason || out.Class != tt.class || run.Retrieved != tt.fetched {
					t.Errorf("%s %s class %d retrieved %v: %s", run.Phase, run.Reason, out.Class, run.Retrieved, run.Message)
				}
				if text := run.Message + out.Runs[0].Message; !strings.Contains(text, tt.message) {
					t.Errorf("message %q lacks %q", text, tt.message)
				}
				if tt.kept {
					if len(w.mem.Pods()) != 1 || run.Pod.State != state.PodAwaiting {
						t.Errorf("pod: %v %s", w.mem.Pods(), run.Pod.State)
					}
					if _, err := os.Stat(filepath.Join(w.dir, run.Dir, "output")); tt.name == "digest mismatch" && err == nil {
						t.Error("results under their final name")
					}
					return
				}
				w.clean()
				if run.CostUSD <= 0 || run.EndedAt == nil {
					t.Errorf("cost %v, end %v", run.CostUSD, run.EndedAt)
				}
			})
		})
	}
}

func TestCorrectedOutputsAreCollected(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.job.files = map[string]string{"result/model.bin": "x"}
		w.apply(oneRun(spec()), Options{})
		s := spec()
		s.Outputs = []string{"result/**"}
		out := w.apply(planOf(plan.Collect, map[string]*plan.RunSpec{"run.train": s}), Options{})
		if run := w.run("run.train"); out.Class != OK || run.Phase != state.Succeeded || !run.Retrieved {
			t.Errorf("class %d, %+v", out.Class, run)
		}
		w.clean()
	})
}

func TestNotRetrievedIsFinishedLater(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		broken := true
		w.boot = func(_ int, p *fakePod) {
			p.collect = func(int) error {
				if broken {
					return errors.New("broken pipe")
				}
				return nil
			}
		}
		out := w.apply(oneRun(spec()), Options{})
		if run := w.run("run.train"); out.Class != Failure || run.Retrieved || run.Pod.State != state.PodAwaiting || w.pod(1).collects != 5 {
			t.Errorf("class %d, %+v", out.Class, run)
		}
		broken = false
		out = w.apply(w.replan(oneSpec()), Options{})
		if out.Class != OK || !w.run("run.train").Retrieved || w.pod(1).marks["launch"] != 1 {
			t.Errorf("%+v", out)
		}
		w.clean()
	})
}

// TestTakenAwayIsToldOnce: in its own words, without advice that is void by then.
func TestTakenAwayIsToldOnce(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.job.hang = true
		w.apply(oneRun(spec()), Options{Detach: true})
		w.mem.SetPod(w.mem.Pods()[0].ID, func(p *providers.Pod) { p.Status = providers.Exited })
		out, err := w.engine().Cancel(t.Context(), "run.train", Options{})
		run := w.run("run.train")
		if err != nil || run.Reason != state.TakenAway || strings.Contains(run.Message, "run.train") || strings.Contains(run.Message, "pod rm") || !strings.Contains(run.Message, "it is EXITED") {
			t.Errorf("%v %+v: %q", err, out, run.Message)
		}
		w.clean()
	})
}

// TestEndThatNobodySaw: a job that is found lost has not run until somebody
// looked, but as long as it was allowed to.
func TestEndThatNobodySaw(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.job.hang = true
		s := spec()
		s.Cap.MaxHours = 1
		w.apply(oneRun(s), Options{Detach: true})
		time.Sleep(30 * time.Minute)
		w.pod(1).mu.Lock()
		w.pod(1).lost = true
		w.pod(1).mu.Unlock()
		time.Sleep(90 * time.Minute)
		if _, err := w.engine().Attach(t.Context(), "run.train", Options{}); err != nil {
			t.Fatal(err)
		}
		if run := w.run("run.train"); run.Reason != state.Lost || run.Seconds > 3600 || run.Seconds < 1800 {
			t.Errorf("%s after %g s: %s", run.Reason, run.Seconds, run.Message)
		}
		w.clean()
	})
}

func TestAbandonedPodExplainsItself(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.job.exit = 7
		w.apply(oneRun(spec()), Options{Detach: true})
		time.Sleep(3 * time.Hour)
		w.mem.Take(w.mem.Pods()[0].ID)
		out, err := w.engine().Attach(t.Context(), "run.train", Options{})
		if err != nil || out.Class != Failure {
			t.Errorf("%v %+v", err, out)
		}
		w.clean()
	})
}

func TestStop(t *testing.T) {
	withSnapshots := func() *plan.RunSpec {
		s := spec()
		s.Snapshot = &plan.SnapshotSpec{Path: "output/checkpoint-{step}", GraceS: 1800}
		return s
	}
	t.Run("alone", func(t *testing.T) {
		in(t, func(t *testing.T, w *world) {
			w.job = fakeJob{hang: true, length: time.Hour, snapshot: 40, log: "x\n", files: map[string]string{"output/checkpoint-40/w": "w"}}
			w.apply(oneRun(withSnapshots()), Options{Detach: true})
			time.Sleep(time.Minute)
			out, err := w.engine().Stop(t.Context(), "run.train", Options{})
			run := w.run("run.train")
			if err != nil || out.Class != OK || run.Phase != state.Stopped || run.Reason != state.UserStopped || run.Snapshot == nil || run.Snapshot.Step != 40 || !run.Snapshot.Local {
				t.Fatalf("%v class %d, %+v", err, out.Class, run)
			}
			if _, err := os.Stat(filepath.Join(w.dir, run.Dir, "output/checkpoint-40/w")); err != nil {
				t.Error(err)
			}
			w.clean()

			s := withSnapshots()
			p := planOf(plan.Resume, map[string]*plan.RunSpec{"run.train": s})
			p.Steps[0].RunID = run.ID
			w.job = fakeJob{length: time.Minute, files: map[string]string{"output/model.bin": "w"}}
			if out := w.apply(p, Options{}); out.Class != OK {
				t.Fatalf("resume: %+v", out)
			}
			if got := w.pod(2).launch.ResumeDir; got != "resume/checkpoint-40" || len(w.pod(2).uploads) != 2 || w.pod(2).uploads[1].Path != "resume/checkpoint-40/w" {
				t.Errorf("resume dir %q, uploads %v", got, w.pod(2).uploads)
			}
		})
	})
	t.Run("while another process follows", func(t *testing.T) {
		in(t, func(t *testing.T, w *world) {
			w.job = fakeJob{hang: true, length: time.Hour, snapshot: 40, files: map[string]string{"output/checkpoint-40/w": "w"}}
			done := make(chan Outcome, 1)
			go func() { done <- w.apply(oneRun(withSnapshots()), Options{}) }()
			time.Sleep(5 * time.Minute)
			e := w.engine()
			e.Interrupts = nil
			out, err := e.Stop(t.Context(), "run.train", Options{})
			if err != nil || out.Class != OK {
				t.Errorf("stop: %v %+v", err, out)
			}
			first := <-done
			if run := w.run("run.train"); run.Phase != state.Stopped || first.Class != JobFailed {
				t.Errorf("%s, class %d", run.Phase, first.Class)
			}
			w.clean()
		})
	})
	for _, tt := range []struct {
		name    string
		job     fakeJob
		phase   state.Phase
		reason  state.Reason
		class   Class
		after   time.Duration // at least
		message string
		warned  bool
	}{
		{"a job that does not answer", fakeJob{}, state.Stopped, state.UserStopped, OK, 29 * time.Minute, "did not within 30m and was ended", false},
		{"a job that ends and leaves nothing", fakeJob{obeys: true}, state.Succeeded, state.NoReason, OK, 0, "it may not have finished", true},
		{"a job that says it saved itself and did not", fakeJob{snapshot: 40, unsaved: true}, state.Failed, state.InvalidSnapshot, JobFailed, 0, "there is no file in output/checkpoint-40", false},
		{"a job whose proof is not valid", fakeJob{badProof: `its checkpoint "../../etc" is no place for one`}, state.Failed, state.InvalidSnapshot, JobFailed, 0, `"../../etc"`, false},
	} {
		for _, held := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, held %t", tt.name, held), func(t *testing.T) {
				in(t, func(t *testing.T, w *world) {
					w.job = tt.job
					w.job.hang, w.job.length, w.job.files = true, time.Hour, map[string]string{"output/model.bin": "half"}
					first := make(chan Outcome, 1)
					go func() { first <- w.apply(oneRun(withSnapshots()), Options{Detach: !held}) }()
					time.Sleep(5 * time.Minute)
					began := time.Now()
					e := w.engine()
					e.Interrupts = nil
					out, err := e.Stop(t.Context(), "run.train", Options{})
					<-first
					run := w.run("run.train")
					if err != nil || out.Class != tt.class || run.Phase != tt.phase || run.Reason != tt.reason || run.Snapshot != nil || time.Since(began) < tt.after {
						t.Errorf("%v class %d, %s %s %v after %s", err, out.Class, run.Phase, run.Reason, run.Snapshot, time.Since(began))
					}
					if !strings.Contains(run.Message, tt.message) {
						t.Errorf("%q lacks %q", run.Message, tt.message)
					}
					if told := len(out.Messages) == 1 && strings.Contains(out.Messages[0], tt.message); told != tt.warned || told != w.said(EventWarning, tt.message) {
						t.Errorf("told %t: %q", told, out.Messages)
					}
					if w.said(EventSnapshot, "saved itself") {
						t.Error("it is said to have saved itself")
					}
					if tt.job.unsaved { // somebody may still find what it saved
						if len(w.mem.Pods()) != 1 || run.Pod.State != state.PodAwaiting || run.Retrieved {
							t.Errorf("pod: %v %+v", w.mem.Pods(), run.Pod)
						}
						return
					}
					w.clean()
				})
			})
		}
	}
	t.Run("a run that has ended", func(t *testing.T) {
		in(t, func(t *testing.T, w *world) {
			w.apply(oneRun(spec()), Options{})
			out, _ := w.engine().Stop(t.Context(), "run.train", Options{})
			if out.Class != Failure || CodeOf(out.Runs[0].Err) != "not_running" {
				t.Errorf("%+v", out)
			}
		})
	})
	t.Run("a run whose pod still bills", func(t *testing.T) {
		in(t, func(t *testing.T, w *world) {
			w.job.files = map[string]string{"result/model.bin": "x"} // the outputs match nothing
			w.apply(oneRun(spec()), Options{})
			for _, end := range []func(context.Context, string, Options) (Outcome, error){w.engine().Stop, w.engine().Cancel} {
				out, _ := end(t.Context(), "run.train", Options{})
				if text := out.Runs[0].Err.Error(); !strings.Contains(text, "results wait on pod "+w.mem.Pods()[0].ID+", at $") || !strings.Contains(text, "run attach run.train brings them home") || !strings.Contains(text, "pod rm "+w.run("run.train").ID) {
					t.Errorf("it says %q", text)
				}
			}
		})
	})
	t.Run("a job that cannot save itself", func(t *testing.T) {
		in(t, func(t *testing.T, w *world) {
			w.job.hang = true
			w.apply(oneRun(spec()), Options{Detach: true})
			out, _ := w.engine().Stop(t.Context(), "run.train", Options{})
			if out.Class != Failure || CodeOf(out.Runs[0].Err) != "no_snapshots" {
				t.Errorf("%+v", out)
			}
		})
	})
}

// TestWhatAJobSavedComesHome: a job that did not end well leaves the newest of
// its checkpoints here, outside the outputs as well; one that said it had saved
// itself leaves it to start from, another one that before it, which is whole.
func TestWhatAJobSavedComesHome(t *testing.T) {
	const dir = "output/checkpoint-40"
	for _, tt := range []struct {
		name   string
		job    fakeJob
		stop   bool
		reason state.Reason
		from   int64 // 0: nothing to start from
		home   bool
	}{
		{"invalid proof", fakeJob{badProof: "its step is no whole number"}, true, state.InvalidSnapshot, 40, true},
		{"saved and crashed", fakeJob{snapshot: 40, badEnd: 1}, true, state.ExitCode, 40, true},
		{"crashed", fakeJob{exit: 1}, false, state.ExitCode, 9, true},
		{"ignored the request", fakeJob{hang: true}, true, state.UserStopped, 9, true},
		{"succeeded", fakeJob{}, false, state.NoReason, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				s := spec()
				s.Outputs = []string{"output/**", "!output/checkpoint-*/**"}
				s.Snapshot = &plan.SnapshotSpec{Path: "output/checkpoint-{step}", GraceS: 1800}
				w.job = tt.job
				w.job.length, w.job.files = time.Hour, map[string]string{"output/model.bin": "half", "output/checkpoint-9/state": "old", dir + "/state": "new"}
				w.apply(oneRun(s), Options{Detach: true})
				time.Sleep(5 * time.Minute)
				e := w.engine()
				work := e.Attach
				if tt.stop {
					work = e.Stop
				}
				if _, err := work(t.Context(), "run.train", Options{}); err != nil {
					t.Fatal(err)
				}
				run := w.run("run.train")
				if run.Reason != tt.reason || !run.Retrieved {
					t.Errorf("%s %s, retrieved %v: %s", run.Phase, run.Reason, run.Retrieved, run.Message)
				}
				_, err := os.Stat(filepath.Join(w.dir, run.Dir, dir, "state"))
				if (err == nil) != tt.home || strings.Contains(run.Message, run.Dir+"/"+dir) != tt.home {
					t.Errorf("%v: %s", err, run.Message)
				}
				if _, err := os.Stat(filepath.Join(w.dir, run.Dir, "output/checkpoint-9")); (err == nil) != (tt.from == 9) {
					t.Errorf("the one before: %v", err)
				}
				if s := run.Snapshot; tt.from == 0 && s != nil ||
					tt.from > 0 && (s == nil || s.Step != tt.from || s.Path != fmt.Sprintf("output/checkpoint-%d", tt.from) || !s.Local || s.SHA256 == "" || s.At.IsZero()) {
					t.Errorf("to start from: %+v", s)
				}
				if c := run.Doubtful(); (c != nil) != (tt.from == 9) || c != nil && (c.Step != 40 || !strings.Contains(run.Message, "not known to be whole")) {
					t.Errorf("in doubt: %+v: %s", c, run.Message)
				}
				w.clean()
			})
		})
	}
}

func TestCancel(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.job.hang = true
		done := make(chan Outcome, 1)
		go func() { done <- w.apply(oneRun(spec()), Options{}) }()
		time.Sleep(5 * time.Minute)
		e := w.engine()
		e.Interrupts = nil
		out, err := e.Cancel(t.Context(), "run.train", Options{})
		if err != nil || out.Class != OK {
			t.Errorf("%v %+v", err, out)
		}
		<-done
		if run := w.run("run.train"); run.Phase != state.Cancelled || run.Reason != state.UserCancelled || !run.Retrieved {
			t.Errorf("%+v", run)
		}
		w.clean()
	})
}

// cutOff is a machine whose answer to a cancellation is lost for so long.
type cutOff struct {
	Machine
	away time.Duration
}

func (m cutOff) Cancel(ctx context.Context) error {
	if err := m.Machine.Cancel(ctx); err != nil {
		return err
	}
	time.Sleep(m.away)
	return errCut
}

// TestCancelIsFollowedQuickly: whoever follows the job brings its results home and
// deletes the pod before the cancellation is answered, which is no failure.
func TestCancelIsFollowedQuickly(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.job.hang = true
		done := make(chan Outcome, 1)
		go func() { done <- w.apply(oneRun(spec()), Options{}) }()
		time.Sleep(5 * time.Minute)
		e := w.engine()
		e.Interrupts = nil
		dial := e.Dial
		e.Dial = func(ctx context.Context, to Target) (Machine, error) {
			m, err := dial(ctx, to)
			return cutOff{m, 10 * time.Minute}, err
		}
		out, err := e.Cancel(t.Context(), "run.train", Options{})
		if err != nil || out.Class != OK || out.Runs[0].State != string(state.Cancelled) {
			t.Errorf("%v %+v", err, out)
		}
		<-done
		w.clean()
	})
}

// A pod that another process gets ready cannot be asked for anything, and both
// commands name who ends it.
func TestCancelAndStopWhileAnotherBoots(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.boot = func(_ int, p *fakePod) { p.bootTime = 10 * time.Minute }
		done := make(chan Outcome, 1)
		go func() { done <- w.apply(oneRun(spec()), Options{}) }()
		time.Sleep(5 * time.Minute)
		for name, ask := range map[string]func(e *Engine) (Outcome, error){
			"stop":   func(e *Engine) (Outcome, error) { return e.Stop(t.Context(), "run.train", Options{}) },
			"cancel": func(e *Engine) (Outcome, error) { return e.Cancel(t.Context(), "run.train", Options{}) },
		} {
			e := w.engine()
			e.Interrupts = nil
			out, err := ask(e)
			if err != nil || CodeOf(out.Runs[0].Err) != "not_started" || !strings.Contains(out.Runs[0].Err.Error(), "interrupt apply of ann@here (pid 101), which starts it, or overbrainer destroy -take-over -target=run.train") {
				t.Errorf("%s: %v %+v", name, err, out.Runs)
			}
		}
		if out := <-done; out.Class != OK {
			t.Errorf("%+v", out)
		}
		w.clean()
	})
}

func TestDestroyNamesWhoWorks(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.job.length = time.Hour
		done := make(chan Outcome, 1)
		go func() { done <- w.apply(oneRun(spec()), Options{}) }()
		time.Sleep(5 * time.Minute)
		e := w.engine()
		e.Interrupts = nil
		out, err := e.Destroy(t.Context(), nil, DestroyOptions{})
		var held *Error
		if err != nil || out.Class != Held || len(out.Errors) != 1 || !errors.As(out.Errors[0], &held) ||
			!strings.Contains(held.Message, "ann@here") || !strings.Contains(held.Hint, "-take-over") {
			t.Errorf("%v %+v", err, out)
		}
		if len(out.Left) == 0 || out.Left[0].RateUSD == 0 || out.Left[0].Fix != "overbrainer destroy -take-over" {
			t.Errorf("left: %+v", out.Left)
		}
		if first := <-done; first.Class != OK {
			t.Errorf("%+v", first)
		}
	})
}

func TestTwoProcesses(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		done := make(chan Outcome, 1)
		go func() { done <- w.apply(oneRun(spec()), Options{}) }()
		time.Sleep(3 * time.Minute)
		second := w.engine()
		second.Interrupts = nil
		out, err := second.Apply(t.Context(), planOf(plan.Attach, oneSpec()), Options{})
		if err != nil || out.Class != Held || !strings.Contains(out.Runs[0].Err.Error(), "ann@here") {
			t.Errorf("%v %+v", err, out)
		}
		third := w.engine()
		third.Interrupts = nil
		out, err = third.Attach(t.Context(), "run.train", Options{})
		if err != nil || out.Class != OK {
			t.Errorf("attach: %v %+v", err, out)
		}
		if first := <-done; first.Class != OK {
			t.Errorf("%+v", first)
		}
		if w.pod(1).marks["launch"] != 1 || len(w.mem.Creates()) != 1 {
			t.Error("started twice")
		}
	})
}

// TestSleeper: a process that was stopped for longer than its claim holds, and so
// lost its work to another one, looks on when it wakes, and tells how the run ended.
func TestSleeper(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		done := make(chan Outcome, 1)
		go func() { done <- w.apply(oneRun(spec()), Options{}) }()
		time.Sleep(3*time.Minute + 7*time.Second) // between two renewals
		// Its claim as it is after 3 minutes and 10 seconds without a renewal.
		if _, err := w.store.Update(t.Context(), func(st *state.State) error {
			c := st.Claims["run.train"]
			c.Expires = time.Now().Add(-10 * time.Second)
			st.Claims["run.train"] = c
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		second := w.engine()
		second.Interrupts = nil
		out, err := second.Attach(t.Context(), "run.train", Options{})
		if err != nil || out.Class != OK {
			t.Errorf("attach: %v %+v", err, out)
		}
		if !w.said(EventWarning, "took over the claim of apply by ann@here (pid 101), which has not renewed it for 3m10s") {
			t.Error("the holder is called dead, or nothing is said")
		}
		first := <-done
		if first.Class != OK || len(first.Runs) != 1 || first.Runs[0].Err != nil || first.Runs[0].State != string(state.Succeeded) || !first.Runs[0].Retrieved {
			t.Errorf("%+v", first)
		}
		if !w.said("", "took over the work on this run while this one stood still") {
			t.Error("the sleeper does not say that it only looks on")
		}
		if w.pod(1).marks["launch"] != 1 || len(w.mem.Creates()) != 1 {
			t.Error("started twice")
		}
		w.clean()
	})
}

func TestSecretsAreMasked(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.secretVals["hf"] = "correct-horse-battery"
		w.job.log = "my token is correct-horse-battery\n"
		s := spec()
		s.Secrets = map[string]plan.SecretSpec{"HF_TOKEN": {Name: "hf", Env: "HF_TOKEN"}}
		if out := w.apply(oneRun(s), Options{}); out.Class != OK {
			t.Fatalf("%+v", out)
		}
		if string(w.pod(1).launch.Secrets["HF_TOKEN"]) != "correct-horse-battery" {
			t.Error("the job did not get its secret")
		}
		if w.said("", "correct-horse") {
			t.Error("shown")
		}
		_ = filepath.WalkDir(w.dir, func(path string, d os.DirEntry, _ error) error {
			if d.Type().IsRegular() {
				if data, _ := os.ReadFile(path); strings.Contains(string(data), "correct-horse") {
					t.Errorf("in %s", path)
				}
			}
			return nil
		})
	})
}

// A secret that cannot be read is told before anything is rented.
func TestSecretsAreReadBeforeRenting(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		s := spec()
		s.Secrets = map[string]plan.SecretSpec{"HF_TOKEN": {Name: "hf", Env: "HF_TOKEN"}}
		out := w.apply(oneRun(s), Options{})
		if len(out.Runs) != 1 || CodeOf(out.Runs[0].Err) != "secret" || out.Runs[0].RunID != "" || out.Class != Failure {
			t.Errorf("%+v", out)
		}
		if len(w.mem.Creates()) != 0 || len(w.secrets()) != 0 {
			t.Errorf("%d pods were rented, secrets %v", len(w.mem.Creates()), w.secrets())
		}
	})
}

func TestKeepPod(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		s := spec()
		s.KeepPodS = 7200
		out := w.apply(oneRun(s), Options{})
		run := w.run("run.train")
		if out.Class != OK || run.Pod.State != state.PodKept || run.Pod.KeptUntil == nil || len(w.mem.Pods()) != 1 || len(run.Secrets) != 1 {
			t.Fatalf("%+v %+v", out, run)
		}
		time.Sleep(3 * time.Hour)
		out, err := w.engine().Sweep(t.Context(), Options{})
		if err != nil || out.Class != OK {
			t.Errorf("%v %+v", err, out)
		}
		w.clean()
	})
}

func TestCaps(t *testing.T) {
	t.Run("armed at the create call", func(t *testing.T) {
		in(t, func(t *testing.T, w *world) {
			s := spec()
			s.Cap.MaxCostUSD = 0.44
			began := time.Now()
			w.apply(oneRun(s), Options{})
			got := w.specs[0]
			if d := got.CostCapAt.Sub(began); d < 59*time.Minute || d > time.Hour {
				t.Errorf("cap after %s", d)
			}
			if d := got.CostCapAt.Sub(got.SnapshotAt); d < 14*time.Minute || d > 15*time.Minute {
				t.Errorf("snapshot %s before the cap", d)
			}
			if d := got.Deadline.Sub(began); d < 6*time.Hour-time.Second || d > 6*time.Hour {
				t.Errorf("deadline after %s", d)
			}
			if got.SnapshotLead != 15*time.Minute {
				t.Errorf("asked %s before the deadline", got.SnapshotLead)
			}
			if w.pod(1).capAt.After(got.CostCapAt) {
				t.Error("armed later than in the create call")
			}
		})
	})
	t.Run("short bounds leave a job time", func(t *testing.T) {
		in(t, func(t *testing.T, w *world) {
			s := spec()
			s.Cap.MaxHours, s.Cap.MaxCostUSD = 0.2, 0.088 // 12 minutes each
			s.Snapshot = &plan.SnapshotSpec{Path: "output/checkpoint-{step}"}
			w.job = fakeJob{length: time.Hour, snapshot: 7, files: map[string]string{}}
			began := time.Now()
			w.apply(oneRun(s), Options{})
			got := w.specs[0]
			if got.SnapshotLead != 3*time.Minute || got.SnapshotAt.Sub(began) < 8*time.Minute {
				t.Errorf("asked %s before the deadline, %s after the creation for the money", got.SnapshotLead, got.SnapshotAt.Sub(began))
			}
			// The client asks when the guard would.
			if at := w.pod(1).askedAt; at.Before(got.SnapshotAt) || at.Sub(got.SnapshotAt) > time.Minute+time.Second {
				t.Errorf("the client asked %s after the creation", at.Sub(began))
			}
			w.clean()
		})
	})
	t.Run("boot attempts count", func(t *testing.T) {
		in(t, func(t *testing.T, w *world) {
			s := spec()
			s.Cap.MaxCostUSD = 0.12
			w.boot = func(_ int, p *fakePod) { p.bootTime = 24 * time.Hour }
			out := w.apply(oneRun(s), Options{})
			run := w.run("run.train")
			if out.Class != Failure || run.Reason != state.CostCap || len(run.Attempts) != 1 || run.CostUSD < 0.10 {
				t.Errorf("class %d %s, attempts %v, cost %v: %s", out.Class, run.Reason, results(run), run.CostUSD, run.Message)
			}
			w.clean()
		})
	})
}

func TestSpeed(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.mem.Configured.Speed = 60
		w.job.length = 10 * time.Second // ten nominal minutes
		w.boot = func(_ int, p *fakePod) { p.bootTime = time.Second }
		began := time.Now()
		out := w.apply(oneRun(spec()), Options{})
		run := w.run("run.train")
		if out.Class != OK || time.Since(began) > time.Minute {
			t.Errorf("class %d after %s", out.Class, time.Since(began))
		}
		if d := w.specs[0].Deadline.Sub(began); d < 5*time.Minute || d > 6*time.Minute {
			t.Errorf("deadline after %s", d)
		}
		if out.Runs[0].Seconds < 590 || out.Runs[0].Seconds > 700 {
			t.Errorf("seconds %v", out.Runs[0].Seconds)
		}
		if run.CostUSD < 0.07 || run.CostUSD > 0.5 {
			t.Errorf("cost %v", run.CostUSD)
		}
	})
}

// TestALogThatFloods: a log that comes faster than it is read keeps neither the
// bounds of a job from being held, nor the lease of its pod.
func TestALogThatFloods(t *testing.T) {
	floods := func(w *world, until time.Duration) {
		w.boot = func(_ int, p *fakePod) {
			p.more = func() bool {
				time.Sleep(time.Second)
				return !p.started.IsZero() && time.Since(p.started) < until
			}
		}
	}
	t.Run("while the job runs", func(t *testing.T) {
		in(t, func(t *testing.T, w *world) {
			floods(w, 20*time.Hour)
			w.job.hang = true
			s := spec()
			w.apply(oneRun(s), Options{})
			run := w.run("run.train")
			if took := run.EndedAt.Sub(run.CreatedAt).Hours(); run.Reason != state.TimeLimit || took > s.Cap.MaxHours+0.2 {
				t.Errorf("%s after %v hours", run.Reason, took)
			}
		})
	})
	t.Run("after its end", func(t *testing.T) {
		in(t, func(t *testing.T, w *world) {
			floods(w, 90*time.Minute)
			w.job.length = time.Minute
			w.job.log = "a\n"
			out := w.apply(oneRun(spec()), Options{})
			if n := w.pod(1).marks["lease"]; out.Class != OK || n < 6 {
				t.Errorf("class %d, %d leases", out.Class, n)
			}
		})
	})
}

// TestYoungJobIsLookedAtOften: the end of a job is seen within a fortieth of the time
// it took, a quarter of a second at least and three quarters at most.
func TestYoungJobIsLookedAtOften(t *testing.T) {
	for length, most := range map[time.Duration]time.Duration{
		3100 * time.Millisecond: 250 * time.Millisecond, 20100 * time.Millisecond: 520 * time.Millisecond, 100 * time.Minute: 750 * time.Millisecond,
	} {
		in(t, func(t *testing.T, w *world) {
			w.timing.JobPoll = Production().JobPoll
			w.boot = func(_ int, p *fakePod) { p.job.length = length }
			w.apply(oneRun(spec()), Options{})
			seen := slices.IndexFunc(w.events, func(e Event) bool { return e.Phase == "retrieving" })
			if late := w.events[seen].Time.Sub(*w.run("run.train").StartedAt) - length; late < 0 || late > most+10*time.Millisecond {
				t.Errorf("the end of a job of %s was seen %s late", length, late)
			}
		})
	}
}

// TestWhatIsThereDoesNotQueue: runs whose pods are there are all gone on with at once,
// however many new ones are begun: their guards would end them meanwhile.
func TestWhatIsThereDoesNotQueue(t *testing.T) {
	for _, action := range []plan.Action{plan.Attach, plan.Collect} {
		in(t, func(t *testing.T, w *world) {
			old := map[string]*plan.RunSpec{}
			for i := range 4 {
				old[fmt.Sprintf("run.old[%d]", i)] = spec()
			}
			w.apply(planOf(plan.Run, old), Options{Detach: true})
			if action == plan.Collect {
				time.Sleep(10 * time.Minute) // they end
			}
			p := planOf(action, old)
			begun := planOf(plan.Run, map[string]*plan.RunSpec{"run.a": spec(), "run.b": spec()})
			p.Steps = append(p.Steps, begun.Steps...)
			p.Offers = begun.Offers
			w.job.length = 40 * time.Minute
			e := w.engine()
			e.Parallelism = 1
			began := time.Now()
			if out, err := e.Apply(t.Context(), p, Options{}); err != nil || out.Class != OK {
				t.Fatalf("%s: %v %+v", action, err, out)
			}
			for address := range old {
				if run := w.run(address); !run.Retrieved || run.EndedAt.Sub(began) > 20*time.Minute {
					t.Errorf("%s %s: %+v", action, address, run)
				}
			}
			if took := time.Since(began); took < 80*time.Minute {
				t.Errorf("both new ones were begun at once: %s", took)
			}
		})
	}
}
