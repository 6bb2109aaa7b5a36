package apply

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/state"
)

// reconnect makes one try to reach the pod again. Losing a connection ends
// nothing: only a pod that is gone, or that the provider has ended, does.
func (f *follower) reconnect() (watched, bool) {
	r := f.r
	if r.overtaken(f.ctx) {
		return watched{end: takenOver}, true
	}
	if w, done := f.lookAtPod(); done {
		return w, true
	}
	if r.endpoint == nil {
		return watched{}, false
	}
	machine, err := r.dial(f.ctx, *r.endpoint)
	if err == nil {
		if !f.lost.IsZero() {
			r.emit(Event{Kind: EventPhase, Phase: "training", Message: fmt.Sprintf("connected to the pod again after %s", r.now().Sub(f.lost).Round(time.Second))})
		}
		r.machine, r.stateLooks, f.lost, f.refused = machine, 0, time.Time{}, streak{}
		return watched{}, false
	}
	if f.lost.IsZero() {
		f.lost = r.now()
		r.emit(Event{Kind: EventWaiting, Message: "the pod cannot be reached, trying again: " + err.Error()})
	}
	var failed *DialError
	if errors.As(err, &failed) && failed.Stage == StageAuth {
		if f.refused.lasts(r.now(), r.t.Refusals, r.t.RefusalWindow) {
			return watched{end: cannotGoOn, err: failf("key_refused", "pod %s refuses this run's key %s; the job may go on there", r.run.Pod.ID, ssh.FingerprintSHA256(r.signer.PublicKey())).at(r.address).id(r.run.Pod.ID)}, true
		}
	} else {
		f.refused = streak{}
	}
	return watched{}, false
}

// lookAtPod asks the provider for the pod and takes in its address.
func (f *follower) lookAtPod() (watched, bool) {
	r := f.r
	f.lookedAt = r.now()
	ctx, cancel := r.looking(f.ctx)
	defer cancel()
	pod, err := r.readPod(ctx, r.t.PodLook/2)
	switch {
	case providers.Is(err, providers.NotFound):
		gone, gerr := r.goneWith(f.ctx, r.run.Pod.ID, r.run.Pod.CreatedAt, func(d time.Duration) error { return r.whileOurs(f.ctx, d) })
		switch {
		case errors.Is(gerr, errClaimLost):
			return watched{end: takenOver}, true
		case gone && gerr == nil:
			return watched{end: podGone}, true
		}
		return watched{}, false
	case err != nil:
		if f.ctx.Err() == nil {
			r.unanswered()
		}
		return watched{}, false
	}
	if pod.Status.Dead() {
		// Once more before it is believed: a container that restarts may look
		// so for a moment.
		if f.deadLooks++; f.deadLooks >= 2 {
			return watched{end: podDead, err: fmt.Errorf("it is %s", pod.Status)}, true
		}
		return watched{}, false
	}
	f.deadLooks = 0
	r.sawPod(pod)
	if pod.SSH != nil {
		f.moved(*pod.SSH)
	}
	return watched{}, false
}

// moved takes in another address.
func (f *follower) moved(at providers.Endpoint) {
	r := f.r
	if r.endpoint != nil && *r.endpoint == at {
		return
	}
	r.endpoint = &at
	_ = r.save(func(_ *state.State, run *state.Run) {
		if run.Pod != nil {
			run.Pod.SSH = stateEndpoint(&at)
		}
	})
}
