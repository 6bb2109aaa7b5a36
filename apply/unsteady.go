package apply

import (
	"context"
	"time"

	"github.com/overbrainer/overbrainer/plan"
)

// changedError is a transfer in which files changed on the pod.
type changedError struct {
	paths []string
	error
}

// steadyTries is how often results that change are tried again once what the job
// left behind was ended, before those that still do are left out.
const steadyTries = 2

// unsteady deals with results that change while they are fetched: something that
// the job left behind still writes. First it is given time to finish, then it is
// ended, and at last what still changes is left out, so that the rest comes.
type unsteady struct {
	r     *runner
	since time.Time
	wait  time.Duration
	ended bool
	tries int
	left  []string // out of what is fetched
}

// again reports whether to try once more, by a new list, after a wait.
func (u *unsteady) again(err *changedError) bool {
	r := u.r
	now := r.now()
	switch {
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
	if len(u.left) == 0 {
		return nil
	}
	r := u.r
	return failf("not_retrieved", "something on the pod goes on writing to %s; everything else is in %s", someOf(u.left), r.run.Dir).
		at(r.address).id(podID(r.run)).
		hint("end it (overbrainer run ssh %s), or leave these out of outputs, and apply again within the pod's grace", plan.ShellWord(r.address))
}
