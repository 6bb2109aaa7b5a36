package apply

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/state"
)

// keeping is a run whose checkpoints, at ck/STEP, come home every ten minutes.
func keeping() *plan.RunSpec {
	s := spec()
	s.Outputs = []string{"output/**"}
	s.Snapshot = &plan.SnapshotSpec{Path: "ck/{step}", GraceS: 1800, EveryS: 600}
	return s
}

// with runs a test on a world, and lets what its jobs do come to its end.
func with(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	in(t, func(t *testing.T, w *world) {
		test(t, w)
		time.Sleep(48 * time.Hour)
	})
}

// put has the job write a file, drop has it remove what lies below a name.
func (p *fakePod) put(name, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.job.files = maps.Clone(p.job.files)
	p.job.files[name] = text
}

func (p *fakePod) drop(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.removes(name)
}

func (p *fakePod) removes(name string) {
	p.job.files = maps.Clone(p.job.files)
	maps.DeleteFunc(p.job.files, func(file, _ string) bool { return strings.HasPrefix(file, name+"/") })
}

// here are the steps of the run's checkpoints in its directory.
func (w *world) here(run *state.Run) string {
	entries, _ := os.ReadDir(filepath.Join(w.dir, run.Dir, "ck"))
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// A job that does not answer a request is ended early enough before a bound for
// its newest checkpoint to come home, and where nothing ends it what it wrote is
// fetched while it goes on, the checkpoint included.
func TestTheNewestCheckpointComesBeforeABound(t *testing.T) {
	for _, tt := range []struct {
		name   string
		cap    func(c *plan.CapSpec)
		asks   bool // the pod's guard asks, as it does before a deadline
		noAsks bool // nothing reaches the job
		reason state.Reason
	}{
		{"time", func(c *plan.CapSpec) { c.MaxHours = 1 }, true, false, state.TimeLimit},
		{"time, and it may run over", func(c *plan.CapSpec) { c.MaxHours, c.OverrunHours = 1, 2 }, true, false, state.TimeLimit},
		{"money", func(c *plan.CapSpec) { c.MaxCostUSD = 0.44 }, false, false, state.CostCap},
		{"nothing ends it", func(c *plan.CapSpec) { c.MaxHours = 1 }, false, true, state.TimeLimit},
	} {
		t.Run(tt.name, func(t *testing.T) {
			with(t, func(t *testing.T, w *world) {
				s := keeping()
				s.Outputs, s.Snapshot.EveryS = []string{"output/final/**"}, 0
				tt.cap(&s.Cap)
				w.job = fakeJob{hang: true, length: 10 * time.Hour, log: "x\n", files: map[string]string{"output/final/a": "a", "ck/46/w": "46", "ck/47/w": "47", "ck/9/w": "9"}}
				w.boot = func(_ int, p *fakePod) {
					go func() {
						time.Sleep(45 * time.Minute)
						if tt.asks {
							_ = fakeMachine{p}.RequestSnapshot(t.Context(), "deadline", false)
						}
						time.Sleep(15 * time.Minute)
						p.mu.Lock()
						id, runs := p.id, p.cancelled.IsZero()
						p.mu.Unlock()
						if runs { // its guard ends it
							_, _ = w.mem.DeletePod(t.Context(), id)
						}
					}()
				}
				w.apply(oneRun(s), Options{})
				run := w.run("run.train")
				if run.Reason != tt.reason || (w.pod(1).marks["cancel"] == 0) != tt.noAsks {
					t.Errorf("%s %s, cancelled %d times: %s", run.Phase, run.Reason, w.pod(1).marks["cancel"], run.Message)
				}
				if got := w.here(run); got != "46 47" {
					t.Errorf("here: %q", got)
				}
				if _, err := os.Stat(filepath.Join(w.dir, run.Dir, "output/final/a")); err != nil {
					t.Error(err)
				}
				if c, d := run.Checkpoint(), run.Doubtful(); c == nil || c.Step != 46 || d == nil || d.Step != 47 || c.SHA256 == "" || d.SHA256 == "" {
					t.Errorf("goes on from %+v, in doubt %+v", c, d)
				}
				w.clean()
			})
		})
	}
}

// A checkpoint counts as whole once there is a newer one, or once it has not
// changed for a whole period and has no fewer files than the one before; what goes
// on is what does, and a newer one that does not is named.
func TestOnlyWholeCheckpointsCount(t *testing.T) {
	const minutes = time.Minute
	type write struct {
		after time.Duration
		name  string
	}
	for _, tt := range []struct {
		name        string
		writes      []write
		exit        int
		sure, doubt int64
		here        string
	}{
		{"half of the newest", []write{{0, "ck/1/a"}, {0, "ck/1/b"}, {25 * minutes, "ck/2/a"}}, 3, 1, 2, "1 2"},
		{"half of the newest, for long", []write{{0, "ck/1/a"}, {0, "ck/1/b"}, {5 * minutes, "ck/2/a"}}, 3, 1, 2, "1 2"},
		{"quiet", []write{{0, "ck/1/a"}, {0, "ck/1/b"}, {5 * minutes, "ck/2/a"}, {0, "ck/2/b"}}, 3, 2, 0, "1 2"},
		{"quiet for long and not done", []write{{0, "ck/1/a"}, {35 * minutes, "ck/1/b"}, {0, "ck/2/a"}}, 3, 1, 2, "1 2"},
		{"the only one, quiet", []write{{0, "ck/1/a"}}, 3, 1, 0, "1"},
		{"the only one", []write{{58 * minutes, "ck/1/a"}}, 3, 0, 1, "1"},
		{"none", nil, 3, 0, 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			with(t, func(t *testing.T, w *world) {
				w.job = fakeJob{length: time.Hour, exit: tt.exit, log: "x\n", files: map[string]string{"output/x": "x"}}
				w.boot = func(_ int, p *fakePod) {
					go func() {
						time.Sleep(time.Minute)
						for _, write := range tt.writes {
							time.Sleep(write.after)
							p.put(write.name, write.name)
						}
					}()
				}
				var was *state.Snapshot // last, while the job ran
				w.store.seen = func(st *state.State) {
					if run := currentRun(st, "run.train"); run != nil && run.Phase == state.Running {
						was = run.Snapshot
					}
				}
				w.apply(oneRun(keeping()), Options{})
				run := w.run("run.train")
				c, d := run.Checkpoint(), run.Doubtful()
				if (c == nil) != (tt.sure == 0) || c != nil && c.Step != tt.sure || (d == nil) != (tt.doubt == 0) || d != nil && d.Step != tt.doubt {
					t.Errorf("goes on from %+v, in doubt %+v", c, d)
				}
				if c != nil {
					var files []File
					for _, write := range tt.writes {
						if name, found := strings.CutPrefix(write.name, fmt.Sprintf("ck/%d/", c.Step)); found {
							files = append(files, fileOf(name, write.name))
						}
					}
					if checkpointSum(files) != c.SHA256 || was != nil && was.Step == c.Step && was.SHA256 != c.SHA256 {
						t.Errorf("not all of step %d: %v", c.Step, files)
					}
				}
				if n := w.pod(1).collects; n > 5 {
					t.Errorf("files were read %d times", n)
				}
				if got := w.here(run); got != tt.here || strings.Contains(run.Message, "not known to be whole") != (tt.doubt > 0) {
					t.Errorf("here %q: %s", got, run.Message)
				}
				w.clean()
			})
		})
	}
}

// A run that went on from a checkpoint and whose job failed before it came any
// further goes on from the one before; one that came further does not.
func TestAResumeInVainGoesBack(t *testing.T) {
	for _, tt := range []struct {
		name    string
		metrics string
		writes  string
		reason  state.Reason
		from    int64
	}{
		{"no further", `{"step":2}` + "\n", "", state.ExitCode, 1},
		{"a newer step", `{"step":3}` + "\n", "", state.ExitCode, 2},
		{"a newer checkpoint", "", "ck/3/a", state.ExitCode, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			with(t, func(t *testing.T, w *world) {
				w.job = fakeJob{length: time.Hour, exit: 3, log: "x\n", files: map[string]string{"ck/1/a": "1"}}
				w.boot = func(n int, p *fakePod) {
					go func() {
						time.Sleep(15 * time.Minute)
						if n == 1 {
							p.put("ck/2/a", "2")
						}
					}()
				}
				w.apply(oneRun(keeping()), Options{})
				first := w.run("run.train")
				if c := first.Checkpoint(); c == nil || c.Step != 2 || first.Previous == nil || first.Previous.Step != 1 || w.here(first) != "1 2" {
					t.Fatalf("goes on from %+v, before that %+v; here %s", c, first.Previous, w.here(first))
				}
				w.job = fakeJob{length: time.Hour, exit: 3, metrics: tt.metrics, files: map[string]string{"output/x": "x"}}
				if tt.writes != "" {
					w.job.files[tt.writes] = "w"
				}
				s := keeping()
				s.ResumeFrom = plan.ResumeAt("run.train", first.Checkpoint())
				w.apply(planOf(plan.Resume, map[string]*plan.RunSpec{"run.train": s}), Options{})
				run := w.run("run.train")
				if c := run.Checkpoint(); run.ID == first.ID || run.Reason != tt.reason || c == nil || c.Step != tt.from {
					t.Errorf("%s %s goes on from %+v", run.Phase, run.Reason, c)
				}
				if got := w.pod(2).launch.ResumeDir; got != "resume/2" {
					t.Errorf("resumed from %q", got)
				}
			})
		})
	}
}

// rotating is a job that writes a checkpoint every seven minutes and keeps some.
func rotating(w *world, steps, keeps int) {
	w.job = fakeJob{length: time.Duration(steps)*7*time.Minute + time.Minute, exit: 3, log: "x\n", files: map[string]string{"output/x": "x"}}
	w.boot = func(_ int, p *fakePod) {
		go func() {
			time.Sleep(30 * time.Second)
			for step := 1; step <= steps; step++ {
				p.put(fmt.Sprintf("ck/%d/a", step), fmt.Sprint(step))
				p.put(fmt.Sprintf("ck/%d/b", step), fmt.Sprint(step))
				p.drop(fmt.Sprintf("ck/%d", step-keeps))
				time.Sleep(7 * time.Minute)
			}
		}()
	}
}

// Only the checkpoint that is fetched is read on the pod, and only once; those
// that the pod has removed do not stay here, but for what may be gone back to.
func TestCheckpointsHereAndThere(t *testing.T) {
	with(t, func(t *testing.T, w *world) {
		rotating(w, 20, 3)
		hashed, inner := map[string]int{}, w.boot
		w.boot = func(n int, p *fakePod) {
			inner(n, p)
			p.listed = func(m Manifest) error {
				for _, f := range m.Files {
					if strings.HasPrefix(f.Path, "ck/") {
						hashed[f.Path]++
					}
				}
				return nil
			}
		}
		w.apply(oneRun(keeping()), Options{})
		run := w.run("run.train")
		for name, times := range hashed {
			if times > 1 {
				t.Errorf("%s was read %d times", name, times)
			}
		}
		// One in ten minutes of those in seven, and the last two.
		if n := len(hashed); n < 22 || n > 30 {
			t.Errorf("%d files were read: %v", n, hashed)
		}
		if got := w.here(run); got != "17 18 19 20" {
			t.Errorf("here: %s", got)
		}
		if run.Snapshot == nil || run.Snapshot.Step != 19 || run.Previous == nil || run.Previous.Step != 18 && run.Previous.Step != 17 || w.said(EventWarning, "do not come home") {
			t.Errorf("%+v, before that %+v", run.Snapshot, run.Previous)
		}
	})
}

// A checkpoint that the job removes while it comes counts as what it was; one that
// was half removed when it was read does not, and the next one is tried.
func TestCheckpointsAreRemovedWhileTheyCome(t *testing.T) {
	for name, harm := range map[string]func(p *fakePod){
		"while it came": func(p *fakePod) {
			p.listed = func(m Manifest) error {
				if len(m.Files) == 2 && strings.HasPrefix(m.Files[0].Path, "ck/") {
					p.removes(filepath.Dir(m.Files[0].Path))
				}
				return nil
			}
		},
		"before it was read": func(p *fakePod) {
			p.collect = func(n int) error {
				list, _ := fakeMachine{p}.checkpoints("ck/{step}")
				if n%2 == 1 && len(list) > 1 {
					dir := list[len(list)-2].Path
					p.job.files = maps.Clone(p.job.files)
					delete(p.job.files, dir+"/a")
					time.AfterFunc(time.Second, func() { p.drop(dir) })
				}
				return nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			with(t, func(t *testing.T, w *world) {
				rotating(w, 12, 2)
				inner := w.boot
				w.boot = func(n int, p *fakePod) { inner(n, p); harm(p) }
				w.store.seen = func(st *state.State) {
					run := currentRun(st, "run.train")
					if run == nil || run.Snapshot == nil {
						return
					}
					text := fmt.Sprint(run.Snapshot.Step)
					if checkpointSum([]File{fileOf("a", text), fileOf("b", text)}) != run.Snapshot.SHA256 {
						t.Errorf("half of step %s counts", text)
					}
				}
				w.apply(oneRun(keeping()), Options{})
				run := w.run("run.train")
				s := run.Snapshot
				if s == nil || s.Step < 9 {
					t.Fatalf("to go on from: %+v", s)
				}
				files, err := listDir(filepath.Join(w.dir, run.Dir, s.Path))
				if err != nil || len(files) != 2 || checkpointSum(files) != s.SHA256 {
					t.Errorf("step %d: %v %v", s.Step, files, err)
				}
			})
		})
	}
}

// What keeps checkpoints from coming home is said once for each kind of cause, and
// so is that they come again.
func TestCheckpointsThatDoNotComeAreTold(t *testing.T) {
	with(t, func(t *testing.T, w *world) {
		rotating(w, 20, 2)
		inner := w.boot
		w.boot = func(n int, p *fakePod) {
			inner(n, p)
			began := time.Now()
			p.collect = func(int) error {
				if age := time.Since(began); age > 25*time.Minute && age < 80*time.Minute {
					return fmt.Errorf("%w: 8 bytes are needed, 3 are free", ErrNoSpace)
				}
				return nil
			}
		}
		w.apply(oneRun(keeping()), Options{})
		count := func(text string) (n int) {
			for _, e := range w.events {
				if e.Kind == EventWarning && strings.Contains(e.Message, text) {
					n++
				}
			}
			return n
		}
		if count("do not come home") != 1 || count("the newest here is that of step 2: that of step 4, 2 B: no space left here: 8 bytes are needed, 3 are free") != 1 || count("come home again") != 1 {
			for _, e := range w.events {
				if e.Kind == EventWarning {
					t.Error(e.Message)
				}
			}
		}
		if run := w.run("run.train"); run.Snapshot == nil || run.Snapshot.Step != 19 {
			t.Errorf("%+v", run.Snapshot)
		}
	})
}

// A job that keeps one checkpoint leaves it here, and is told that nothing goes on
// from it.
func TestAJobThatKeepsOneCheckpoint(t *testing.T) {
	with(t, func(t *testing.T, w *world) {
		rotating(w, 12, 1)
		w.apply(oneRun(keeping()), Options{})
		run := w.run("run.train")
		if d := run.Doubtful(); run.Checkpoint() != nil || d == nil || d.Step != 12 || !strings.HasSuffix(w.here(run), "12") {
			t.Errorf("%+v, in doubt %+v, here %s", run.Checkpoint(), d, w.here(run))
		}
		if !w.said(EventWarning, "Have it keep two") {
			t.Error("it is not told")
		}
		// Who knows better says so.
		if err := w.engine().Accept(t.Context(), "run.train", *keeping(), Options{}); err != nil {
			t.Fatal(err)
		}
		if c := w.run("run.train").Checkpoint(); c == nil || c.Step != 12 {
			t.Errorf("accepted: %+v", c)
		}
	})
}
