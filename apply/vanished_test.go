package apply

import (
	"strings"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/state"
)

// TestHowAPodWentIsNotGuessed: what is told of a pod's end is what is known of
// it. Bounds are told as the reason where the guard said so or the pod was seen
// until then, and as possible otherwise.
func TestHowAPodWentIsNotGuessed(t *testing.T) {
	const guard = "2026-03-04T05:06:07Z watchdog: delete reason="
	tests := []struct {
		name    string
		length  time.Duration              // of the job; 0: it hangs
		follow  func(w *world, p *fakePod) // what happens while it is followed
		away    func(w *world, p *fakePod) // what happens while nobody is here
		change  func(*plan.RunSpec)
		reason  state.Reason
		says    string
		saysNot []string
	}{
		{name: "while it is followed", follow: func(w *world, p *fakePod) { w.mem.Take(p.id) }, reason: state.Lost,
			says: "is gone and nobody here deleted it: the provider or somebody else did;", saysNot: []string{"retrieve_grace", "cap"}},
		{name: "its guard said why", follow: func(w *world, p *fakePod) {
			w.mem.Log(p.id, guard+"cost_cap")
			time.Sleep(time.Second)
			w.mem.Take(p.id)
		}, reason: state.CostCap, says: "ended by its cost cap"},
		{name: "while nobody was here, past its money", length: 10 * time.Minute, away: func(w *world, p *fakePod) {
			time.Sleep(90 * time.Minute)
			w.mem.Take(p.id)
			time.Sleep(10 * time.Hour)
		}, change: func(s *plan.RunSpec) { s.Cap.MaxCostUSD = 1 }, reason: state.CostCap,
			says:    "nobody here saw how it ended: when it was looked for it was past its cost cap: max_cost_usd = 1 (overbrainer.hcl:10), boot attempts counted, or its job had ended before and its guard ended it after retrieve_grace = 1h, or somebody else deleted it",
			saysNot: []string{"ended by its"}},
		{name: "while nobody was here, within its bounds", length: 10 * time.Minute, away: func(w *world, p *fakePod) {
			time.Sleep(90 * time.Minute)
			w.mem.Take(p.id)
		}, reason: state.Lost, says: "the provider or somebody else did, or its job had ended before and its guard ended it after retrieve_grace = 1h"},
		{name: "as its results came", length: time.Minute, follow: nil, reason: state.Lost,
			says: "the job succeeded; the pod is gone before the results were fetched, and nobody here deleted it: the provider or somebody else did", saysNot: []string{"ended itself", "retrieve_grace"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				w.job = fakeJob{hang: tt.length == 0, length: max(tt.length, time.Hour)}
				if tt.length > 0 {
					w.job.length = tt.length
				}
				w.boot = func(_ int, p *fakePod) {
					if tt.follow == nil && tt.away == nil {
						p.collect = func(int) error {
							p.offline = true
							go w.mem.Take(p.id)
							return errCut
						}
					}
					if tt.follow != nil {
						go func() {
							time.Sleep(5 * time.Minute)
							tt.follow(w, p)
						}()
					}
				}
				s := spec()
				if tt.change != nil {
					tt.change(s)
				}
				w.apply(oneRun(s), Options{Detach: tt.away != nil})
				if tt.away != nil {
					tt.away(w, w.pod(1))
					if _, err := w.engine().Attach(t.Context(), "run.train", Options{}); err != nil {
						t.Fatal(err)
					}
				}
				run := w.run("run.train")
				if run.Phase != state.Failed || run.Reason != tt.reason || !strings.Contains(run.Message, tt.says) {
					t.Errorf("%s %s: %q lacks %q", run.Phase, run.Reason, run.Message, tt.says)
				}
				for _, word := range tt.saysNot {
					if strings.Contains(run.Message, word) {
						t.Errorf("%q says %q", run.Message, word)
					}
				}
				w.clean()
			})
		})
	}
}

// What a pod cost whose end nobody saw is told as what it is reckoned at, and how
// long its job took as the most that it can have taken. Its log does not lessen that:
// a job may be silent. Where somebody saw the end both are told as they are.
func TestUnseenEndIsToldAsReckoned(t *testing.T) {
	const rate = 0.44 + 50*0.10/720
	exit := func(w *world, id string) { w.mem.SetPod(id, func(p *providers.Pod) { p.Status = providers.Exited }) }
	for _, tt := range []struct {
		name   string
		end    func(w *world, id string)
		away   time.Duration // after the pod's end; 0: it is followed
		hours  float64       // that count, of 6 and a grace of 1
		reason state.Reason
		why    string
	}{
		{"stopped", exit, 40 * time.Minute, 1, state.TakenAway, "when it was looked for"},
		{"removed", func(w *world, id string) { w.mem.Take(id) }, 40 * time.Minute, 1, state.Lost, "when it was looked for"},
		{"removed, past its bounds", func(w *world, id string) { w.mem.Take(id) }, 20 * time.Hour, 7, state.TimeLimit, "the latest that is likely"},
		{"stopped before our eyes", exit, 0, 1. / 3, state.TakenAway, ""},
		{"removed while it is followed", func(w *world, id string) { w.mem.Take(id) }, 0, 1. / 3, state.Lost, "when it was looked for"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				w.job.hang = true
				if tt.away == 0 {
					w.boot = func(_ int, p *fakePod) { time.AfterFunc(20*time.Minute, func() { tt.end(w, p.id) }) }
				}
				out := w.apply(oneRun(spec()), Options{Detach: tt.away > 0})
				if tt.away > 0 {
					id := w.run("run.train").Pod.ID
					time.Sleep(20 * time.Minute)
					w.mem.Log(id, "the job's last word")
					tt.end(w, id)
					time.Sleep(tt.away)
					var err error
					if out, err = w.engine().Attach(t.Context(), "run.train", Options{}); err != nil {
						t.Fatal(err)
					}
				}
				run := w.run("run.train")
				if hours := run.CostUSD / rate; run.Reason != tt.reason || hours < tt.hours-0.01 || hours > tt.hours+0.2 {
					t.Errorf("%s, counts %.2f h, want %.2f", run.Reason, hours, tt.hours)
				}
				unseen := tt.why != ""
				says := ", " + tt.why + "; the provider's bill may say less"
				if strings.Contains(run.Message, says) != unseen || strings.Contains(run.Message, "; nobody saw the end of its pod, so it counts until ") != unseen || strings.Contains(run.Message, "$") {
					t.Errorf("%q", run.Message)
				}
				if unseen != w.said(EventDeleted, says) || out.Runs[0].Unseen != unseen || run.EndUnseen != unseen {
					t.Errorf("pod told as unseen, want %v; job %v", unseen, out.Runs[0].Unseen)
				}
				for _, e := range w.events {
					if e.Kind == EventEnded && e.Unseen != unseen {
						t.Errorf("the event says %v", e.Unseen)
					}
				}
				w.clean()
			})
		})
	}
}

// TestPodThatEndsItselfInTheWait: a guard that ends its pod because no job
// started is nobody else, and the next offer is tried.
func TestPodThatEndsItselfInTheWait(t *testing.T) {
	for name, line := range map[string]string{"it says so": "2026-03-04T05:06:07Z watchdog: delete reason=never_started", "nothing was heard": ""} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				s := spec()
				s.Target.ReadyTimeoutS = 45 * 60
				w.boot = func(n int, p *fakePod) {
					if n > 1 {
						return
					}
					p.bootTime = 24 * time.Hour
					go func() {
						time.Sleep(31 * time.Minute)
						if line != "" {
							w.mem.Log(p.id, line)
							time.Sleep(time.Second)
						}
						w.mem.Take(p.id)
					}()
				}
				w.apply(oneRun(s), Options{})
				run := w.run("run.train")
				if first := run.Attempts[0]; run.Phase != state.Succeeded || first.Result != state.AttemptNotReady || !strings.Contains(first.Detail, "boot_grace = 30m") {
					t.Errorf("%s %s: %+v", run.Phase, run.Message, first)
				}
				w.clean()
			})
		})
	}
}
