package apply

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/overbrainer/overbrainer/plan"
)

// changedError is a transfer in which files changed on the pod, or in which the
// pod could not read some.
type changedError struct {
	paths  []string
	unread bool
	error
}

// steadyTries is how often results that change are tried again once what the job
// left behind was ended, and those that cannot be read, before they are left out.
const steadyTries = 2

// unsteady deals with results that are not finished: something that the job left
// behind still writes. First it is given time to finish, then it is ended, and at
// last what still changes is left out, so that the rest comes. So is what the pod
// cannot read, a directory of a server that is away for one.
type unsteady struct {
	r      *runner
	looked bool          // for what the job left running
	blind  int           // looks that failed
	open   []string      // what could be written to at the last look
	unsure bool          // a look failed since
	waited time.Duration // for results to be finished, in all
	told   bool          // that they are waited for
	warned bool          // that they change
	wait   time.Duration // before the next try
	ended  bool          // what the job left running
	tries  int
	reads  int      // tries at what could not be read
	left   []string // out of what is fetched
	// unread are out of it because the pod cannot read them.
	unread []string
}

// without is all that is left out.
func (u *unsteady) without() []string { return slices.Concat(u.left, u.unread) }

// finish gives what a job that ended by itself left running time to finish the
// results, and ends it before they are listed. On a pod that is kept it goes on, as
// long as no results are seen to change.
func (u *unsteady) finish(e ending) error {
	if u.looked || e.exit == nil {
		return nil
	}
	left, rested, err := u.rest(false)
	if err != nil {
		// The results are worth more than knowing that nothing writes them.
		if u.blind++; u.blind < steadyTries || u.r.s.interrupted() {
			return err
		}
		u.r.warnf("what the job left running could not be looked for: %v", err)
	}
	u.looked = true
	if left.Processes == 0 {
		return nil
	}
	kept, what := u.r.run.Bounds.KeepPodS != 0, "ended"
	if kept {
		what = "left, as its pod is kept"
	}
	if !rested {
		u.r.warnf("results may not be finished: %s; that is %s", leftWords(left), what)
	}
	if !kept {
		u.end()
	}
	return nil
}

// leftWords says what the job left running, and what of it may still be written.
func leftWords(left Unfinished) string {
	text := "the job left 1 process running"
	if left.Processes != 1 {
		text = fmt.Sprintf("the job left %d processes running", left.Processes)
	}
	if len(left.Open) > 0 {
		text += ", with " + someOf(left.Open) + " open for writing"
	}
	return text
}

// rest waits until nothing of the job runs any more, or what does writes to no file
// of the run's directory and nothing there has changed for some seconds; always: in
// any case until nothing has. rested is false where all such waits together take
// longer than they may.
func (u *unsteady) rest(always bool) (left Unfinished, rested bool, err error) {
	r := u.r
	ctx, cancel := r.s.breakable()
	defer cancel()
	var since time.Time
	for {
		began, first := r.now(), since.IsZero()
		look, done := context.WithTimeout(ctx, 2*r.t.Call)
		left, err = r.machine.Unfinished(look, first)
		done()
		if err != nil {
			u.unsure = len(u.open) > 0
			return left, false, err
		}
		if u.unsure && left.Processes == 0 {
			// It may have been finished, or have ended with its container.
			r.warnf("results may not be finished: the job left %s open for writing, and nobody saw the end of that, for the pod could not be reached for a while", someOf(u.open))
		}
		u.open, u.unsure = left.Open, false
		now := r.now()
		switch {
		case left.Processes == 0 && !always:
			return left, true, nil
		case first || left.Changed || len(left.Open) > 0:
			since = now
		case now.Sub(since) >= r.t.Steady:
			return left, true, nil
		}
		if u.waited >= r.t.Settle {
			return left, false, nil
		}
		if !first && !always && !u.told {
			u.told = true
			r.emit(Event{Kind: EventWaiting, Message: fmt.Sprintf("%s: waiting until the results are finished, for %s at most",
				leftWords(left), spanWords(int(r.t.Nominal(r.t.Settle).Seconds())))})
		}
		r.leasedForResults()
		if r.s.sleep(r.t.JobPoll) != nil {
			return left, false, errInterrupted
		}
		u.waited += r.now().Sub(began)
		_ = r.machine.RenewLease(ctx)
	}
}

// end ends what the job left running.
func (u *unsteady) end() {
	u.ended, u.wait = true, u.r.t.Reconnect
	if err := u.r.onPod(2*u.r.t.Call, func(ctx context.Context, m Machine) error { return m.Cancel(ctx) }); err != nil {
		u.r.warnf("it could not be ended: %v", err)
	}
}

// again reports whether to try once more, by a new list, after a wait.
func (u *unsteady) again(err *changedError) bool {
	r := u.r
	switch {
	case err.unread && u.reads < steadyTries:
		u.reads++
		return u.pause()
	case err.unread:
		if slices.Contains(u.unread, err.paths[0]) || len(u.unread) >= 1000 {
			return false
		}
		u.unread = append(u.unread, err.paths...)
		return true
	}
	if u.waited < r.t.Settle {
		if !u.warned {
			u.warned = true
			r.warnf("results change while they are fetched, trying again once they are at rest: %v", err)
		}
		if _, rested, cannot := u.rest(true); cannot != nil {
			return u.pause()
		} else if rested {
			return true
		}
	}
	switch {
	case !u.ended:
		r.warnf("results still change: what the job left running is ended")
		u.end()
	case u.tries < steadyTries:
		u.tries++
	case len(u.left) >= 1000:
		return false
	default:
		u.left = append(u.left, err.paths...)
	}
	return u.pause()
}

// pause waits before the next try, longer each time, and reports whether there is
// to be one.
func (u *unsteady) pause() bool {
	u.wait = max(u.wait, u.r.t.Reconnect)
	rested := u.r.s.sleep(u.wait)
	u.waited += u.wait
	u.wait = min(2*u.wait, u.r.t.ReconnectMax)
	return rested == nil
}

// error is what to say where something was left out, nil otherwise.
func (u *unsteady) error() error {
	var why []string
	if len(u.left) > 0 {
		why = append(why, "something on the pod goes on writing to "+someOf(u.left))
	}
	if len(u.unread) > 0 {
		why = append(why, "the pod cannot read "+someOf(u.unread))
	}
	if why == nil {
		return nil
	}
	r := u.r
	return failf("not_retrieved", "%s; everything else is in %s", strings.Join(why, ", and "), r.run.Dir).
		at(r.address).id(podID(r.run)).
		hint("mend that (overbrainer run ssh %s), or leave these out of outputs, and apply again within the pod's grace", plan.ShellWord(r.address))
}
