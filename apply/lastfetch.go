package apply

import (
	"context"
	"time"
)

// lastFetch brings home what a job has written so far, shortly before a bound
// ends its pod: a job that cannot save itself would take it along.
type lastFetch struct {
	running chan bool
	tried   bool
	got     bool
}

func (l *lastFetch) look(f *follower, now time.Time) {
	if l.running != nil {
		select {
		case ok := <-l.running:
			l.running, l.got = nil, ok
			if ok {
				f.r.fetchedEarly = true
				f.r.warnf("the pod is about to be ended; what the job has written so far is in %s", f.r.run.Dir)
			}
		default:
		}
		return
	}
	end := f.end()
	if l.tried || end.IsZero() || now.Before(end.Add(-f.r.t.LastFetch)) || len(f.r.run.Job.Outputs) == 0 {
		return
	}
	l.tried = true
	l.running = make(chan bool, 1)
	go func(ctx context.Context, m Machine, globs []string, dir string, out chan<- bool) {
		got, err := m.Collect(ctx, CollectRequest{Dir: dir, Globs: globs, Running: true})
		out <- err == nil && got.Matched > 0
	}(f.ctx, f.r.machine, f.r.run.Job.Outputs, f.r.dir(), l.running)
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
