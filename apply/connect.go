package apply

import (
	"errors"
	"time"

	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/state"
)

// connect finds the pod's address and opens a connection to it.
func (r *runner) connect() error {
	if r.signer == nil {
		if err := r.takeKey(); err != nil {
			return r.notOurKey(err)
		}
	}
	ctx, cancel := r.s.breakable()
	defer cancel()
	pod, err := r.rented.Provider.GetPod(ctx, r.run.Pod.ID)
	switch {
	case providers.Is(err, providers.NotFound):
		gone, gerr := r.goneWith(ctx, r.run.Pod.ID, r.run.Pod.CreatedAt, func(d time.Duration) error { return r.whileOurs(ctx, d) })
		switch {
		case errors.Is(gerr, errClaimLost):
			return gerr
		case gone:
			return failf("pod_gone", "pod %s is gone", r.run.Pod.ID).at(r.address).id(r.run.Pod.ID)
		case gerr != nil:
			return failf("read_pod", "pod %s cannot be looked at: %s", r.run.Pod.ID, reasonOf(gerr)).at(r.address).id(r.run.Pod.ID).because(gerr)
		}
		return failf("read_pod", "pod %s is not shown at the moment", r.run.Pod.ID).at(r.address).id(r.run.Pod.ID)
	case err != nil:
		return failf("read_pod", "pod %s cannot be looked at: %s", r.run.Pod.ID, reasonOf(err)).at(r.address).id(r.run.Pod.ID).because(err)
	}
	r.sawPod(pod)
	if pod.Status.Dead() {
		return failf("pod_stopped", "it is %s and will not run again by itself", pod.Status).at(r.address).id(pod.ID).hint("overbrainer pod rm %s", r.run.ID)
	}
	if pod.SSH == nil {
		return failf("no_endpoint", "pod %s is %s and has no SSH address", pod.ID, pod.Status).at(r.address).id(pod.ID).hint("try again once it runs")
	}
	machine, err := r.dial(ctx, *pod.SSH)
	if err != nil {
		return failf("unreachable", "pod %s cannot be reached: %v", pod.ID, err).at(r.address).id(pod.ID).because(err)
	}
	r.machine, r.endpoint, r.stateLooks = machine, pod.SSH, 0
	if r.run.Pod.SSH == nil || *r.run.Pod.SSH != *stateEndpoint(pod.SSH) {
		at := pod.SSH
		_ = r.save(func(_ *state.State, run *state.Run) {
			if run.Pod != nil {
				run.Pod.SSH = stateEndpoint(at)
			}
		})
	}
	return nil
}
