package apply

import (
	"testing"
	"time"
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
				out := w.apply(oneRun(spec()), Options{})
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

// TestLinksToNothingAreToldOf: they end nothing, and nobody finds out later.
func TestLinksToNothingAreToldOf(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.job.left = []string{"output/best (it leads to no file and no directory)"}
		if out := w.apply(oneRun(spec()), Options{}); out.Class != OK {
			t.Errorf("%+v", out)
		}
		if !w.said(EventWarning, "output/best (it leads to no file") {
			t.Error("the link was not told of")
		}
		w.clean()
	})
}
