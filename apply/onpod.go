package apply

import (
	"context"
	"errors"
	"time"
)

// podTries is how often a short command on a pod is tried, each time over
// another connection.
const podTries = 3

// onPod runs one short command on the pod, and again over another connection
// where that fails: a breath of the network must not cost a job. Only what may
// be done twice is given to it. An interrupt ends the waiting, never a command
// in flight.
func (r *runner) onPod(limit time.Duration, do func(context.Context, Machine) error) error {
	var err error
	for tries := range podTries {
		if tries > 0 && r.s.sleep(r.t.Reconnect<<(tries-1)) != nil {
			return err
		}
		if r.machine == nil {
			if cannot := r.connect(); cannot != nil {
				if err == nil || podEnded(cannot) {
					err = cannot
				}
				if podEnded(cannot) {
					return err
				}
				continue
			}
		}
		ctx, cancel := r.s.effect(limit)
		err = do(ctx, r.machine)
		cancel()
		if err == nil || errors.Is(err, ErrTaken) || errors.Is(err, ErrLacks) {
			return err
		}
		r.closeMachine()
	}
	return err
}
