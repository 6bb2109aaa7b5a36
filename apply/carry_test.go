package apply

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/state"
)

// An upload survives what a download survives: a pod out of reach for a while,
// and any number of cuts as long as each try brings more.
func TestUploadGoesOn(t *testing.T) {
	const total = 1000
	for _, tt := range []struct {
		name  string
		cut   func(n int, p *fakePod) (there int64, err error)
		tries int
		class Class
	}{
		{"out of reach", func(n int, p *fakePod) (int64, error) {
			if n > 1 {
				return total, nil
			}
			p.offline = true
			time.AfterFunc(5*time.Minute, func() {
				p.mu.Lock()
				p.offline = false
				p.mu.Unlock()
			})
			return 0, errCut
		}, 2, OK},
		{"cut again and again", func(n int, _ *fakePod) (int64, error) {
			if n < 10 {
				return int64(100 * n), errCut
			}
			return total, nil
		}, 10, OK},
		{"cut in the same place", func(int, *fakePod) (int64, error) { return 100, errCut }, 6, Failure},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				tries := 0
				w.boot = func(_ int, p *fakePod) {
					p.upload = func(u UploadRequest) error {
						tries++
						there, err := tt.cut(tries, p)
						u.Progress(0, total) // until it has measured what is there
						u.Progress(there, total)
						return err
					}
				}
				if err := os.WriteFile(filepath.Join(w.dir, "data.bin"), make([]byte, total), 0o600); err != nil {
					t.Fatal(err)
				}
				sp := spec()
				sp.Uploads = []plan.Upload{{Path: "data.bin", Source: "data.bin", Size: total}}
				out := w.apply(oneRun(sp), Options{})
				if out.Class != tt.class || tries != tt.tries {
					t.Errorf("class %d after %d tries: %+v", out.Class, tries, out.Runs)
				}
				for _, e := range w.events {
					if e.Kind == EventTransfer && e.Done == 0 {
						t.Errorf("told as if nothing were there: %+v", e)
					}
				}
				w.clean()
			})
		})
	}
}

// A list that is made anew because something still wrote says what went away.
func TestFilesThatWentAwayAreNamed(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		r := &runner{s: &session{Engine: w.engine()}, address: "run.train"}
		r.warnOfGone([]File{{Path: "a"}, {Path: "b"}}, []File{{Path: "b"}})
		if !w.said(EventWarning, "1 file that the pod listed at first, a among them") {
			t.Error("nothing is said")
		}
	})
}

// TestWhatCameOtherwiseIsTold: links to nothing, and results with names that are
// taken here, end nothing, and somebody has to know.
func TestWhatCameOtherwiseIsTold(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.job.left = []string{"output/best (it leads to no file and no directory)"}
		w.job.moved = "renamed"
		if out := w.apply(oneRun(spec()), Options{}); out.Class != OK {
			t.Errorf("%+v", out)
		}
		if !w.said(EventWarning, "output/best (it leads to no file") {
			t.Error("the link was not told of")
		}
		if !w.said(EventWarning, "are in "+w.run("run.train").Dir+"/renamed") {
			t.Error("the names were not told of")
		}
		w.clean()
	})
}

// TestResultsThatCannotBeRead: what the pod cannot read is asked for again, and
// then left out; the rest comes home and the pod waits with it.
func TestResultsThatCannotBeRead(t *testing.T) {
	for name, lasts := range map[string]int{"for a moment": 1, "for ever": 1000} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				w.job = fakeJob{length: time.Hour, files: map[string]string{"output/away/x": "x", "output/away/y": "y", "output/still": "s"}}
				looks := 0
				w.boot = func(_ int, p *fakePod) {
					p.listed = func(m Manifest) error {
						if looks++; looks > lasts || !holds(m.Files, "output/away") {
							return nil
						}
						return &changedError{paths: []string{"output/away"}, unread: true, error: errors.New("it cannot be read")}
					}
				}
				out := w.apply(oneRun(spec()), Options{})
				run := w.run("run.train")
				for _, file := range []string{"output/still", "output/away/x"} {
					_, err := os.Stat(filepath.Join(w.dir, run.Dir, file))
					if want := file == "output/still" || lasts == 1; (err == nil) != want {
						t.Errorf("%s: %v", file, err)
					}
				}
				if lasts == 1 {
					if out.Class != OK || !run.Retrieved {
						t.Errorf("class %d, retrieved %v", out.Class, run.Retrieved)
					}
				} else if out.Class == OK || run.Retrieved || run.Pod.State != state.PodAwaiting || !strings.Contains(out.Runs[0].Message, "the pod cannot read output/away; everything else is in "+run.Dir) {
					t.Errorf("class %d, retrieved %v: %s", out.Class, run.Retrieved, out.Runs[0].Message)
				}
			})
		})
	}
}

// TestResultsThatChange: results that something still writes are waited for;
// then what the job left running is ended; what changes even then is left out,
// and the pod waits with it.
func TestResultsThatChange(t *testing.T) {
	tests := []struct {
		name  string
		quiet func(p *fakePod) bool // whether nothing writes any more
		ended bool                  // what was left running
		rest  bool                  // only the rest comes
	}{
		{name: "come to rest", quiet: func(p *fakePod) bool { return time.Since(p.started) > 61*time.Minute }},
		{name: "until it is ended", quiet: func(p *fakePod) bool { return p.marks["cancel"] > 0 }, ended: true},
		{name: "for ever", quiet: func(*fakePod) bool { return false }, ended: true, rest: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				w.job = fakeJob{length: time.Hour, files: map[string]string{"output/growing": "g", "output/still": "s"}}
				w.boot = func(_ int, p *fakePod) {
					p.listed = func(m Manifest) error {
						if tt.quiet(p) || !holds(m.Files, "output/growing") {
							return nil
						}
						return &changedError{paths: []string{"output/growing"}, error: errors.New("it changed")}
					}
				}
				out := w.apply(oneRun(spec()), Options{})
				run, p := w.run("run.train"), w.pod(1)
				if ended := p.marks["cancel"] > 0; ended != tt.ended {
					t.Errorf("ended %v", ended)
				}
				if _, err := os.Stat(filepath.Join(w.dir, run.Dir, "output/still")); err != nil {
					t.Error(err)
				}
				if tt.rest {
					if out.Class == OK || run.Retrieved || run.Pod.State != state.PodAwaiting || !strings.Contains(out.Runs[0].Message, "goes on writing to output/growing; everything else is in "+run.Dir) {
						t.Errorf("class %d, retrieved %v: %s", out.Class, run.Retrieved, out.Runs[0].Message)
					}
					return
				}
				if out.Class != OK || !run.Retrieved {
					t.Errorf("class %d, retrieved %v: %s", out.Class, run.Retrieved, out.Runs[0].Message)
				}
				w.clean()
			})
		})
	}
}

// TestLongCollection: while results come home, for longer than their grace, it is
// told how far the pod is, and a pod that goes then counts until it was last heard
// of, as long as its lease lets it be there.
func TestLongCollection(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		var last time.Time
		w.boot = func(_ int, p *fakePod) {
			p.copying = func(c CollectRequest) error {
				for n := range 120 {
					time.Sleep(time.Minute)
					c.Renewed()
					c.Digests(n, 120)
				}
				p.heard, p.offline, last = time.Now(), true, time.Now()
				go w.mem.Take(p.id)
				return errCut
			}
		}
		s := spec()
		s.Cap.MaxHours = 10
		w.apply(oneRun(s), Options{})
		run := w.run("run.train")
		if run.Phase != state.Failed || run.Retrieved || !run.Pod.Gone() {
			t.Fatalf("%s, %+v", run.Phase, run.Pod)
		}
		if lease := run.Pod.LeasedUntil; lease == nil || lease.Before(last) {
			t.Errorf("the lease is known until %v", lease)
		}
		if got, least := run.CostUSD, run.Pod.CostUSD(last); got < least {
			t.Errorf("it cost %v, less than %v when it was last heard of", got, least)
		}
		if !w.said(EventWaiting, "the pod computes digests: 42 of 120 files") {
			t.Error("how far it is was not told")
		}
	})
}
