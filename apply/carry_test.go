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
		{"changed here", func(int, *fakePod) (int64, error) { return 100, errEdited }, 1, Failure},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				tries := 0
				w.boot = func(_ int, p *fakePod) {
					p.upload = func(u UploadRequest) error {
						tries++
						there, err := tt.cut(tries, p)
						u.Progress(0, total, 0) // until it has measured what is there
						u.Progress(there, total, 1)
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
// of, whether or not it is known how long its lease let it be there.
func TestLongCollection(t *testing.T) {
	for name, known := range map[string]bool{"under a lease that is known": true, "under one that is not": false} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				var last time.Time
				w.boot = func(_ int, p *fakePod) {
					p.copying = func(c CollectRequest) error {
						for n := range 120 {
							time.Sleep(time.Minute)
							c.Digests(n, 120)
							if known {
								c.Renewed()
							}
						}
						p.heard, p.offline, last = time.Now(), true, time.Now()
						go w.mem.Take(p.id)
						return errCut
					}
				}
				s := spec()
				s.Cap.MaxHours = 10
				w.apply(oneRun(s), Options{})
				if !known { // it is given up, and found gone later
					time.Sleep(24 * time.Hour)
					_, _ = w.engine().Attach(t.Context(), "run.train", Options{})
				}
				run := w.run("run.train")
				if run.Phase != state.Failed || run.Retrieved || !run.Pod.Gone() {
					t.Fatalf("%s, %+v", run.Phase, run.Pod)
				}
				if lease := run.Pod.LeasedUntil; known && (lease == nil || lease.Before(last)) {
					t.Errorf("the lease is known until %v", lease)
				}
				if got, least := run.CostUSD, round4(run.Pod.CostUSD(last)); got < least {
					t.Errorf("it cost %v, less than %v when it was last heard of", got, least)
				}
				if !w.said(EventWaiting, "the pod computes digests: 42 of 120 files") {
					t.Error("how far it is was not told")
				}
			})
		})
	}
}

// TestWhatAJobLeftFinishes: what a job left running is given time to finish its
// results, and ended before they are listed. What idles costs some seconds, nothing
// left costs none.
func TestWhatAJobLeftFinishes(t *testing.T) {
	writing := Unfinished{Processes: 2, Open: []string{"output/merged.bin"}}
	cut := false
	for _, tt := range []struct {
		name  string
		left  func(after time.Duration, p *fakePod) (Unfinished, error)
		kept  bool
		waits time.Duration // until it is listed
		ended bool
		says  string
		kind  EventKind
	}{
		{name: "nothing"},
		{name: "until it is done", left: func(after time.Duration, _ *fakePod) (Unfinished, error) {
			if after < 20*time.Second {
				return writing, nil
			}
			return Unfinished{Changed: true}, nil
		}, waits: 20 * time.Second, kind: EventWaiting, says: "the job left 2 processes running, with output/merged.bin open for writing: waiting until the results are finished, for 2m at most"},
		{name: "until it idles", left: func(after time.Duration, _ *fakePod) (Unfinished, error) {
			return Unfinished{Processes: 1, Changed: after < 30*time.Second}, nil
		}, waits: 40 * time.Second, ended: true, kind: EventWaiting, says: "the job left 1 process running: waiting until the results are finished"},
		{name: "idles", left: func(time.Duration, *fakePod) (Unfinished, error) { return Unfinished{Processes: 1}, nil }, waits: 10 * time.Second, ended: true},
		{name: "idles on a pod that is kept", kept: true, left: func(time.Duration, *fakePod) (Unfinished, error) { return Unfinished{Processes: 1}, nil }, waits: 10 * time.Second},
		{name: "for ever", left: func(_ time.Duration, p *fakePod) (Unfinished, error) {
			if p.marks["cancel"] > 0 {
				return Unfinished{}, nil
			}
			return writing, nil
		}, waits: 2 * time.Minute, ended: true, kind: EventWarning, says: "results may not be finished: the job left 2 processes running, with output/merged.bin open for writing; that is ended"},
		{name: "for ever on a pod that is kept", kept: true, left: func(time.Duration, *fakePod) (Unfinished, error) { return writing, nil },
			waits: 2 * time.Minute, kind: EventWarning, says: "open for writing; that is left, as its pod is kept"},
		{name: "out of reach meanwhile", left: func(after time.Duration, _ *fakePod) (Unfinished, error) {
			switch {
			case after < 10*time.Second:
				return writing, nil
			case !cut:
				cut = true
				return Unfinished{}, errCut
			}
			return Unfinished{Changed: true}, nil
		}, waits: 10 * time.Second, kind: EventWarning, says: "results may not be finished: the job left output/merged.bin open for writing, and nobody saw the end of that"},
		{name: "nobody can tell", left: func(time.Duration, *fakePod) (Unfinished, error) { return Unfinished{}, errors.New("no find") },
			kind: EventWarning, says: "what the job left running could not be looked for: no find"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				var ended, listed time.Time
				cancelled := false
				w.boot = func(_ int, p *fakePod) {
					p.unfinished = func(now time.Time) (Unfinished, error) {
						if ended.IsZero() {
							ended = now
						}
						if tt.left == nil {
							return Unfinished{Changed: true}, nil
						}
						return tt.left(now.Sub(ended), p)
					}
					p.copying = func(CollectRequest) error {
						listed, cancelled = time.Now(), p.marks["cancel"] > 0
						return nil
					}
				}
				s := spec()
				if tt.kept {
					s.KeepPodS = 60
				}
				out := w.apply(oneRun(s), Options{})
				if run := w.run("run.train"); out.Class != OK || !run.Retrieved {
					t.Fatalf("class %d, retrieved %v: %s", out.Class, run.Retrieved, out.Runs[0].Message)
				}
				if got := listed.Sub(ended); got < tt.waits-time.Second || got > tt.waits+3*time.Second {
					t.Errorf("listed after %s, want %s", got, tt.waits)
				}
				if cancelled != tt.ended {
					t.Errorf("ended before the list: %v", cancelled)
				}
				if tt.says != "" && !w.said(tt.kind, tt.says) {
					t.Errorf("%q was not said", tt.says)
				}
				if tt.left == nil && w.said(EventWaiting, "") {
					t.Error("something was waited for")
				}
			})
		})
	}
}

// TestChangedResultsComeToRest: results that were seen to change are listed anew
// once nothing changes any more, however short a fetch of them is.
func TestChangedResultsComeToRest(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		var changed, again time.Time
		w.boot = func(_ int, p *fakePod) {
			p.unfinished = func(now time.Time) (Unfinished, error) {
				return Unfinished{Changed: now.Sub(changed) < 30*time.Second}, nil
			}
			p.listed = func(Manifest) error {
				if !changed.IsZero() {
					again = time.Now()
					return nil
				}
				changed = time.Now()
				return &changedError{paths: []string{"output/growing"}, error: errors.New("it changed")}
			}
		}
		if out := w.apply(oneRun(spec()), Options{}); out.Class != OK {
			t.Errorf("%+v", out)
		}
		if waited := again.Sub(changed); waited < 39*time.Second || waited > 43*time.Second {
			t.Errorf("listed again after %s", waited)
		}
		if w.pod(1).marks["cancel"] > 0 || !w.said(EventWarning, "trying again once they are at rest: it changed") {
			t.Error("it was ended, or nothing was said")
		}
	})
}

// TestHeardIsSeen: what came over a connection proves that the pod was there.
func TestHeardIsSeen(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		heard := time.Now().Add(-time.Minute).UTC()
		r := &runner{s: &session{Engine: w.engine()}, machine: fakeMachine{&fakePod{heard: heard}}}
		r.closeMachine()
		if !r.lastSeen.Equal(heard) {
			t.Errorf("seen at %s, heard at %s", r.lastSeen, heard)
		}
	})
}
