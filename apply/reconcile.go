package apply

import (
	"errors"
	"fmt"

	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/state"
)

// reconcile looks for the pod of a create call without a clear answer: several
// times, because a list may lag behind. It gives the pod, adopted and written
// down, or nil where none was seen. A list that cannot be read says nothing, so
// that no further pod is asked for until one can. An interrupt ends the waiting,
// not the last look.
func (r *runner) reconcile(attempt string) (*providers.Pod, error) {
	until := r.now().Add(r.t.Blind)
	for look := 0; look < len(r.t.Reconcile); {
		stopped := r.s.sleep(r.t.Reconcile[look]) != nil
		pods, err := r.s.listPods(r.provider)
		switch {
		case err != nil && !stopped && r.now().After(until):
			return nil, failf("unanswered", "whether a pod was made cannot be told: the create call was not answered clearly, and the list of pods cannot be read: %s", reasonOf(err)).
				at(r.address).because(errors.Join(err, &endError{state.Unanswered})).hint("overbrainer apply, once the API answers, goes on with it or proves that there is none")
		case err != nil:
			r.emit(Event{Kind: EventWaiting, Message: "the answer to the create call was not clear, and the list of pods cannot be read: " + reasonOf(err)})
		default:
			found, err := r.adopt(attempt, pods)
			if err != nil || found != nil {
				return found, err
			}
			look++
			r.emit(Event{Kind: EventWaiting, Message: fmt.Sprintf("the answer to the create call was not clear; no pod of it is listed (look %d of %d)", look, len(r.t.Reconcile))})
		}
		if stopped {
			return nil, errInterrupted
		}
	}
	return nil, nil
}

// adopt takes the attempt's pod out of a list and deletes other pods of the
// run that are in it.
func (r *runner) adopt(attempt string, pods []providers.Pod) (*providers.Pod, error) {
	var found *providers.Pod
	var others []providers.Pod
	for _, pod := range r.s.ours(pods, r.run.ID) {
		switch {
		case found == nil && (pod.Marker.Attempt == attempt || pod.Name == attempt):
			found = &pod
		case r.run.Pod != nil && r.run.Pod.ID == pod.ID:
		default:
			others = append(others, pod)
		}
	}
	if found != nil {
		if err := r.keep(attempt, *found, state.AttemptAdopted); err != nil {
			return nil, err
		}
	}
	for _, pod := range others {
		if err := r.removeOther(pod); err != nil && errors.Is(err, errClaimLost) {
			return nil, err
		}
	}
	return found, nil
}
