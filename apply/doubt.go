package apply

import (
	"context"
	"fmt"
)

// doubtError is why nobody knows whether the job that was to start runs.
type doubtError struct{ error }

func (e *doubtError) Unwrap() error { return e.error }

// started asks the pod whether the job was started, for as long as the pod is
// there and does not answer: a job that may run is not given up, and a pod
// whose job did not start ends itself. The error is why it cannot be known.
func (r *runner) started() (bool, error) {
	told := false
	for wait := r.t.Reconnect; ; wait = min(2*wait, r.t.ReconnectMax) {
		var p Poll
		err := r.onPod(r.t.Call, func(ctx context.Context, m Machine) (err error) {
			p, err = m.Poll(ctx, Offsets{Log: -1, Metrics: -1}, 0)
			return err
		})
		switch {
		case err == nil:
			return p.State != JobNone, nil
		case r.s.interrupted():
			return false, errInterrupted
		case podEnded(err), turnedAway(err):
			return false, err
		case !told:
			told = true
			r.emit(Event{Kind: EventWaiting, Message: fmt.Sprintf("nobody knows whether the job has started, asking again: %v", err)})
		}
		if r.s.sleep(wait) != nil {
			return false, errInterrupted
		}
	}
}

// inDoubt leaves a run whose job may or may not run; who comes next asks its
// pod again.
func (r *runner) inDoubt(why error) RunOutcome {
	if r.s.interrupted() {
		r.warnf("whether the job of run %s has started is not known", r.run.ID)
		return r.detached(true)
	}
	return r.unreachable(why)
}
