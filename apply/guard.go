package apply

import (
	"context"
	"fmt"
	"time"

	"github.com/overbrainer/overbrainer/internal/money"
	"github.com/overbrainer/overbrainer/state"
)

// guard is the client's side of a pod's bounds: it keeps a job that makes
// progress from being cut off, and ends a pod whose own guard failed to.
type guard struct {
	tickedAt  time.Time
	renewedAt time.Time
	costAsked bool
	stalled   bool
}

// bounds is what is looked at besides the job itself.
func (f *follower) bounds() (watched, bool) {
	r := f.r
	now := r.now()
	if !f.observing && now.Sub(f.guard.tickedAt) >= f.tick(now) {
		f.guard.tickedAt = now
		if w, done := f.guardTick(now); done {
			return w, true
		}
	}
	if r.machine != nil && now.Sub(f.lookedAt) >= r.t.PodLook {
		if w, done := f.lookAtPod(); done {
			return w, true
		}
	}
	if r.machine != nil && !f.observing {
		f.disk.look(f, now)
		f.checkpoints.look(f, now)
		f.last.look(f, now)
	}
	return watched{}, false
}

// tick is the time between two looks at the bounds: shorter near one.
func (f *follower) tick(now time.Time) time.Duration {
	tick := f.r.t.GuardTick
	for _, at := range []*time.Time{f.r.run.Pod.Deadline, f.r.run.Pod.CostCapAt} {
		if at != nil {
			if left := at.Sub(now); left > 0 && left < 2*tick {
				tick = min(tick, max(left/4, f.r.t.JobPoll))
			}
		}
	}
	return tick
}

// guardTick applies the rules in order: lease, snapshot before the money ends,
// the money, the time, the stall.
func (f *follower) guardTick(now time.Time) (watched, bool) {
	r, g, pod := f.r, &f.guard, f.r.run.Pod
	f.renew(now)
	if at := f.snapshotDue(); !at.IsZero() && !now.Before(at) && !g.costAsked && r.run.Job.SnapshotPath != "" && r.machine != nil {
		if f.snapshots.ask(f, "cost", false) == nil {
			g.costAsked = true
			r.emit(Event{Kind: EventSnapshot, Message: fmt.Sprintf("asked for a snapshot: %s of %s spent", money.USD(r.run.SpentUSD(now)), money.USD(r.limitUSD()))})
		}
	}
	if pod.CostCapAt != nil && !now.Before(pod.CostCapAt.Add(r.t.GuardInterval)) {
		return watched{end: moneyUp}, true
	}
	if pod.Deadline != nil {
		leased := now.Sub(g.renewedAt) < r.t.LeaseTTL
		hard := pod.Deadline.Add(r.t.Hours(r.run.Bounds.OverrunHours))
		if r.machine == nil {
			// Nobody knows whether the job has ended. If it has, its results
			// have their grace; if not, the pod's own guard ends it.
			leased, hard = true, hard.Add(r.grace())
		}
		if !now.Before(hard.Add(r.t.DeadlineMargin)) || !leased && !now.Before(pod.Deadline.Add(r.t.DeadlineMargin)) {
			return watched{end: timeUp}, true
		}
	}
	f.overrun(now)
	f.stall(now)
	return watched{}, false
}

// renew renews the lease of a job that makes progress, and of one that has ended
// and whose log still comes.
func (f *follower) renew(now time.Time) {
	r, g := f.r, &f.guard
	if now.Sub(f.progressAt) < r.t.LeaseStall && now.Sub(g.renewedAt) >= r.t.LeaseEvery && r.machine != nil {
		if f.call(r.machine.RenewLease) == nil {
			g.renewedAt = now
		}
	}
}

// grace is how long a pod may stay after its job's end.
func (r *runner) grace() time.Duration {
	b := r.run.Bounds
	return r.t.Seconds(b.RetrieveGrace + max(0, b.KeepPodS))
}

// snapshotDue is when the money asks for a snapshot.
func (f *follower) snapshotDue() time.Time {
	pod := f.r.run.Pod
	if pod.CostCapAt == nil {
		return time.Time{}
	}
	return costSnapshot(pod.CreatedAt, *pod.CostCapAt, f.r.t)
}

// stall ends a job that makes no progress, where the cap says so.
func (f *follower) stall(now time.Time) {
	r := f.r
	after := r.t.Seconds(r.run.Bounds.StallAfterS)
	if after <= 0 || f.guard.stalled || now.Sub(f.progressAt) < after || r.machine == nil {
		return
	}
	f.guard.stalled = true
	r.warnf("no progress since %s: the run is stalled and will be ended", f.progressAt.Local().Format(clock))
	f.snapshots.because = state.StalledOut
	if r.run.Job.SnapshotPath != "" && f.snapshots.ask(f, "stalled", false) == nil {
		return
	}
	f.snapshots.cancel(f)
}

// call makes one short call on the pod that the user may break off.
func (f *follower) call(do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(f.ctx, f.r.t.Call)
	defer cancel()
	return do(ctx)
}
