package apply

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/state"
)

// lastJobEnd is the moment at which the guard on a pod has ended a job at the
// latest; zero for a pod without a deadline.
func lastJobEnd(run *state.Run, t Timing) time.Time {
	pod := run.Pod
	if pod == nil || pod.Deadline == nil {
		return time.Time{}
	}
	end := pod.Deadline.Add(t.Hours(run.Bounds.OverrunHours))
	if run.Job.SnapshotPath != "" {
		end = end.Add(t.GuardSnapshotWait)
	}
	return end
}

// LastEnd is the moment at which a run's pod has ended itself at the latest, by
// the rules of its guard and what the state knows of the job; bounded is false
// where no rule ends it. A guard that cannot reach the provider ends nothing.
func LastEnd(run *state.Run, t Timing) (end time.Time, bounded bool) {
	pod, b := run.Pod, run.Bounds
	if pod == nil {
		return time.Time{}, false
	}
	by := func(at time.Time) {
		if !bounded || at.Before(end) {
			end, bounded = at, true
		}
	}
	if pod.CostCapAt != nil {
		by(*pod.CostCapAt)
	}
	if run.Phase == state.Preparing && pod.State != state.PodLaunching { // there is no job
		if pod.Deadline != nil {
			by(pod.Deadline.Add(t.Hours(b.OverrunHours)))
		}
		return end, bounded
	}
	keep := b.KeepPodS
	if keep < 0 {
		return end, bounded
	}
	wait := t.Seconds(max(b.RetrieveGrace, keep))
	if pod.Deadline != nil {
		by(pod.Deadline.Add(t.Hours(b.OverrunHours) + t.Seconds(b.RetrieveGrace+keep)))
		by(lastJobEnd(run, t).Add(wait))
	}
	if run.EndedAt != nil && run.StartedAt != nil && run.Reason != state.Destroyed { // its guard knows
		end := run.EndedAt.Add(wait)
		if lease := pod.LeasedUntil; lease != nil && lease.Add(t.LeaseTTL).After(end) {
			end = lease.Add(t.LeaseTTL) // it is not abandoned while its results come home
		}
		by(end)
	}
	if pod.KeptUntil != nil && run.Retrieved && (pod.State == state.PodKept || pod.State == state.PodDeleting) {
		by(*pod.KeptUntil)
	}
	return end, bounded
}

// UnseenEnd is until when the pod of a run is reckoned to have billed that is
// gone and whose end nobody saw: the latest moment at which its guard can have
// ended it, and one look of the guard more; bounded is false where nothing earlier
// than now is known.
func UnseenEnd(run *state.Run, t Timing) (end time.Time, bounded bool) {
	if end, bounded = LastEnd(run, t); run.Pod == nil {
		return end, bounded
	}
	if boot, known := bootEnd(run, t); known && (!bounded || boot.Before(end)) {
		end, bounded = boot, true
	}
	if seen := run.Pod.SeenAt; seen != nil && seen.After(end) {
		end = *seen
	}
	return end.Add(t.GuardInterval), bounded
}

// bootEnd is the latest moment at which a pod's guard has given up to wait for a
// job; known is false where it may have had one. It waits boot_grace from its own
// start. Of a pod that nobody saw get ready that start is not known, and
// ready_timeout is what is allowed for it: the provider tells of a pod that is gone
// neither its log nor its end, so nothing less is sure. One that was ready had
// started by then, and waits for as long as an upload renewed its lease.
func bootEnd(run *state.Run, t Timing) (end time.Time, known bool) {
	pod, grace := run.Pod, t.Seconds(run.Bounds.BootGraceS)
	switch {
	case run.StartedAt != nil || grace <= 0:
	case pod.ReadyAt == nil && pod.State != state.PodLaunching:
		return pod.CreatedAt.Add(t.Seconds(cmp.Or(run.Bounds.ReadyTimeoutS, defaultReadyS)) + grace), true
	case pod.ReadyAt != nil && pod.LeasedUntil != nil && pod.State != state.PodLaunching:
		end = pod.ReadyAt.Add(grace)
		if lease := pod.LeasedUntil.Add(t.LeaseTTL); lease.After(end) {
			end = lease
		}
		return end, true
	}
	return time.Time{}, false
}

// bootWords says what a pod counts by that had no job and counts until then.
func (r *runner) bootWords(until time.Time) string {
	b := r.run.Bounds
	if boot, known := bootEnd(r.run, r.t); !known || !until.Equal(boot.Add(r.t.GuardInterval)) {
		return ""
	}
	if r.run.Pod.ReadyAt != nil {
		return fmt.Sprintf(" of a pod without a job (boot_grace = %s, or while an upload may have gone on)", spanWords(b.BootGraceS))
	}
	return fmt.Sprintf(" of a pod that nobody saw get ready (ready_timeout = %s and boot_grace = %s)", spanWords(cmp.Or(b.ReadyTimeoutS, defaultReadyS)), spanWords(b.BootGraceS))
}

// unseenWords says until when a pod counts whose end nobody saw.
func (r *runner) unseenWords(until, now time.Time) string {
	why := "the latest that is likely" + r.bootWords(until)
	if now.Sub(until) < r.t.GuardInterval {
		why = "when it was looked for"
	}
	return fmt.Sprintf("so it counts until %s, %s; the provider's bill may say less", until.Local().Format(clock), why)
}

// unseenEnd is UnseenEnd by all that is known here, and now at the latest.
func (r *runner) unseenEnd() time.Time {
	r.noteHeard()
	now := r.now()
	end, bounded := UnseenEnd(r.run, r.t)
	if !bounded {
		return now
	}
	if end.Before(r.lastSeen) {
		end = r.lastSeen
	}
	if down := r.unansweredAt.Add(r.t.GuardInterval); end.Before(down) && !r.unansweredAt.IsZero() {
		end = down
	}
	if end.After(now) {
		return now
	}
	return end
}

// unanswered takes in that the provider does not answer. Long after the pod's
// last bound that says nothing of its end.
func (r *runner) unanswered() {
	now := r.now()
	end, bounded := UnseenEnd(r.run, r.t)
	if bounded && end.Before(r.unansweredAt) {
		end = r.unansweredAt
	}
	if !bounded || !now.After(end.Add(r.t.DeadlineMargin)) {
		r.unansweredAt = now
	}
}

// stoppedAt is until when a pod is reckoned to have billed that is there and
// stopped: its own guard stops it only where deleting has failed, so its bounds
// say little. The last line of its log does, and without one it counts to now.
func (r *runner) stoppedAt(id string) time.Time {
	now := r.now()
	if !r.rented.Description.Has(providers.CapLogs) {
		return now
	}
	var last time.Time
	ctx, cancel := context.WithTimeout(r.s.steady(), r.t.DrainLogs)
	defer cancel()
	_ = r.rented.Provider.PodLogs(ctx, providers.LogRequest{PodID: id}, func(line providers.LogLine) error {
		if at, err := time.Parse(time.RFC3339, line.Time); err == nil && at.After(last) {
			last = at
		}
		return nil
	})
	if last.IsZero() {
		return now
	}
	end := last.Add(r.t.GuardInterval)
	if bound := r.unseenEnd(); bound.After(end) {
		end = bound
	}
	if end.After(now) {
		return now
	}
	return end
}
