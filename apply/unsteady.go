package apply

import (
	"context"
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

// unsteady deals with results that change while they are fetched: something that
// the job left behind still writes. First it is given time to finish, then it is
// ended, and at last what still changes is left out, so that the rest comes. So is
// what the pod cannot read, a directory of a server that is away for one.
type unsteady struct {
	r     *runner
	since time.Time
	wait  time.Duration
	ended bool
	tries int
	reads int      // tries at what could not be read
	left  []string // out of what is fetched
	// unread are out of it because the pod cannot read them.
	unread []string
}

// without is all that is left out.
func (u *unsteady) without() []string { return slices.Concat(u.left, u.unread) }

// again reports whether to try once more, by a new list, after a wait.
func (u *unsteady) again(err *changedError) bool {
	r := u.r
	now := r.now()
	switch {
	case err.unread && u.reads < steadyTries:
		u.reads++
		u.wait = max(u.wait, r.t.Reconnect)
	case err.unread:
		if slices.Contains(u.unread, err.paths[0]) || len(u.unread) >= 1000 {
			return false
		}
		u.unread = append(u.unread, err.paths...)
		return true
	case u.since.IsZero():
		u.since, u.wait = now, r.t.Reconnect
		r.warnf("results change while they are fetched, trying again: %v", err)
	case !u.ended && now.Sub(u.since) >= r.t.Settle:
		u.ended, u.wait = true, r.t.Reconnect
		r.warnf("results still change: what the job left running is ended")
		if err := r.onPod(2*r.t.Call, func(ctx context.Context, m Machine) error { return m.Cancel(ctx) }); err != nil {
			r.warnf("it could not be ended: %v", err)
		}
	case u.ended && u.tries < steadyTries:
		u.tries++
	case u.ended:
		if len(u.left) >= 1000 {
			return false
		}
		u.left = append(u.left, err.paths...)
	}
	rested := r.s.sleep(u.wait)
	u.wait = min(2*u.wait, r.t.ReconnectMax)
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
