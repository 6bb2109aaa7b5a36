package apply

import (
	"context"
	"time"

	"github.com/overbrainer/overbrainer/state"
)

// lastFetch brings home what a job has written so far, shortly before a bound
// ends its pod: a job that cannot save itself would take it along.
type lastFetch struct {
	running chan lastGot
	tried   bool
}

// lastGot is what a last fetch brought.
type lastGot struct {
	checkpoints []brought
	outputs     bool
}

func (l *lastFetch) look(f *follower, now time.Time) {
	if l.running != nil {
		select {
		case got := <-l.running:
			l.running = nil
			l.take(f, got)
		default:
		}
		return
	}
	end, job := f.end(), f.r.run.Job
	if l.tried || end.IsZero() || now.Before(end.Add(-f.r.t.LastFetch)) || len(job.Outputs) == 0 && job.SnapshotPath == "" ||
		f.snapshots.cancelled || f.checkpoints.running != nil { // which uses the same directory
		return
	}
	l.tried = true
	l.running = make(chan lastGot, 1)
	go func(ctx context.Context, m Machine, dir string, out chan<- lastGot) {
		var got lastGot
		if job.SnapshotPath != "" {
			got.checkpoints = bringLast(ctx, m, dir, job.SnapshotPath, now)
		}
		if len(job.Outputs) > 0 {
			list, err := m.Collect(ctx, CollectRequest{Dir: dir, Globs: job.Outputs, Running: true})
			got.outputs = err == nil && list.Matched > 0
		}
		out <- got
	}(f.ctx, f.r.machine, f.r.dir(), l.running)
}

// bringLast brings home the newest checkpoint, and then the one before, which is
// known to be whole.
func bringLast(ctx context.Context, m Machine, dir, pattern string, now time.Time) []brought {
	list, err := m.Checkpoints(ctx, pattern)
	if err != nil {
		return nil
	}
	var all []brought
	for i := len(list) - 1; i >= max(0, len(list)-2); i-- {
		if got, err := bring(ctx, m, dir, pattern, list[i], list[i].Files, now); err == nil {
			got.Reason = "last"
			all = append(all, brought{got: &got, whole: i < len(list)-1})
		}
	}
	return all
}

// end is as that of a checkpointWatch.
func (l *lastFetch) end(f *follower, wait bool) {
	if l.running != nil && (wait || len(l.running) > 0) {
		l.take(f, <-l.running)
		l.running = nil
	}
}

func (l *lastFetch) take(f *follower, got lastGot) {
	r := f.r
	if len(got.checkpoints) > 0 {
		_ = r.save(func(_ *state.State, run *state.Run) {
			for _, b := range got.checkpoints {
				noteCheckpoint(run, *b.got, b.whole)
			}
		})
	}
	if got.outputs || len(got.checkpoints) > 0 {
		r.fetchedEarly = true
		r.warnf("the pod is about to be ended; what the job has written so far is in %s", r.run.Dir)
	}
}

// noteCheckpoint takes in a checkpoint that is here, unless what is known already
// is as good.
func noteCheckpoint(run *state.Run, s state.Snapshot, whole bool) {
	switch have := run.Snapshot; {
	case have != nil && have.Local && have.Path == s.Path:
		have.SHA256 = s.SHA256 // the job has written to it since
	case have != nil && have.Local && have.Step >= s.Step:
	case whole:
		run.Leave(s)
	default:
		run.Unproven = &s
	}
}

// end is when the first bound ends the pod of a job that goes on; zero: never.
func (f *follower) end() time.Time {
	pod := f.r.run.Pod
	var end time.Time
	if pod.Deadline != nil {
		end = pod.Deadline.Add(f.r.t.Hours(f.r.run.Bounds.OverrunHours))
	}
	if c := pod.CostCapAt; c != nil && (end.IsZero() || c.Before(end)) {
		end = *c
	}
	return end
}
