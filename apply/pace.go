package apply

import (
	"fmt"
	"time"

	"github.com/overbrainer/overbrainer/internal/money"
)

// paceShare of the time to a bound has to be seen of a job's steps before its
// pace is told: the first ones are slower than the others.
const paceShare = 0.05

// pace is what is known of how fast a job goes, from the first step that was seen
// of it: one that went on from a snapshot has not made those before.
type pace struct {
	step int64
	at   time.Time
	told bool
}

// overrun warns once when the job's pace ends it after a bound of its pod. Nothing
// is known while there is no connection.
func (f *follower) overrun(now time.Time) {
	t, p := f.tail, &f.pace
	if p.told || t.maxSteps <= 0 || t.step <= 0 || t.step >= t.maxSteps || f.r.machine == nil {
		return
	}
	if p.at.IsZero() {
		p.step, p.at = t.step, now
		return
	}
	bound := f.end()
	if bound.IsZero() || now.Sub(p.at) < time.Duration(paceShare*float64(bound.Sub(p.at))) {
		return
	}
	// A step that is not done takes as long as it has by now, at least.
	perStep := now.Sub(p.at) / time.Duration(max(1, t.step-p.step))
	end := now.Add(perStep * time.Duration(t.maxSteps-t.step))
	f.tellPace(end, f.r.t.NominalHours(end.Sub(now)))
}

// tellPace says which bound comes before the end of the job, with the hours that
// it needs yet.
func (f *follower) tellPace(end time.Time, hours float64) {
	pod, b := f.r.run.Pod, f.r.run.Bounds
	text := fmt.Sprintf("at this pace the job needs %.1f h more", hours)
	switch paid := pod.CostCapAt; {
	case !end.After(f.firstBound()):
		return
	case paid != nil && end.After(*paid) && !paid.After(f.end()):
		f.r.warnf("%s and is ended before, at %s, when its %s are spent (%s)", text, paid.Local().Format(clock), money.USD(f.r.limitUSD()), b.Where)
	case b.OverrunHours > 0:
		f.r.emit(Event{Kind: EventPhase, Message: fmt.Sprintf("%s, past its deadline %s; it may go on for %g h while it is followed and makes progress", text, pod.Deadline.Local().Format(clock), b.OverrunHours)})
	default:
		f.r.warnf("%s and is ended before, at its deadline %s (max_hours = %g, %s)", text, pod.Deadline.Local().Format(clock), b.MaxHours, b.Where)
	}
	f.pace.told = true
}

// firstBound is the deadline without overrun, or the end of the money where that
// is earlier.
func (f *follower) firstBound() time.Time {
	pod := f.r.run.Pod
	if at := pod.Deadline; at != nil && (pod.CostCapAt == nil || at.Before(*pod.CostCapAt)) {
		return *at
	}
	return f.end()
}
