package apply

import (
	"errors"
	"fmt"

	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/state"
)

// rescue fetches the results of a job that has ended, before its pod is
// deleted. A job that still runs is ended with its pod. What cannot be fetched
// keeps its pod.
func (r *runner) rescue() error {
	run, pod := r.run, r.run.Pod
	if pod == nil || pod.Gone() || run.Retrieved || pod.State == state.PodDeleting {
		return nil
	}
	if run.Phase == state.Preparing && pod.State != state.PodLaunching {
		return nil
	}
	if err := r.takeKey(); err != nil {
		return r.notOurKey(err)
	}
	err := r.connect()
	if err != nil {
		return r.unrescued(err)
	}
	defer r.closeMachine()
	ctx, cancel := r.s.effect(r.t.Call)
	p, err := r.machine.Poll(ctx, Offsets{Log: -1, Metrics: -1}, 0)
	cancel()
	if err != nil {
		return r.unrescued(err)
	}
	if p.State == JobNone || p.State == JobRunning {
		if p.State == JobRunning {
			r.warnf("the job still runs and ends with its pod; what it has written so far is lost")
		}
		return nil
	}
	w := r.follow() // brings the rest of the log and the metrics
	if w.end != jobEnded {
		return nil
	}
	e := r.ending(w)
	r.noteEnding(e, w.last)
	got, err := r.collect(e)
	if errors.Is(err, ErrNoJob) {
		r.warnf("%s", r.anewWords(" before its results were fetched, and they are gone"))
		return nil
	}
	if err != nil {
		return failf("not_retrieved", "the results of run %s could not be fetched, so its pod %s was not deleted, %s: %v", run.ID, pod.ID, podHour(pod), err).
			at(r.address).id(pod.ID).because(err).hint("try again, or destroy with -discard-results")
	}
	if got.missed != "" {
		r.warnf("%s", got.missed)
		e.phase, e.reason, e.message = state.Failed, got.reason, got.missed
		r.noteEnding(e, Poll{})
	}
	if err := r.settleResults(e, got); err != nil || got.missed != "" {
		return err
	}
	r.markRetrieved()
	return nil
}

// unrescued decides about a pod whose job cannot be asked: where its job is
// known to have ended, the pod stays; a pod that is gone, or stopped, has
// nothing any more.
func (r *runner) unrescued(err error) error {
	var e *Error
	if errors.As(err, &e) && (e.Code == "pod_gone" || e.Code == "pod_stopped") {
		return nil
	}
	if errors.Is(err, errClaimLost) {
		return err
	}
	if r.run.Phase.Ended() {
		return failf("not_retrieved", "the results of run %s cannot be fetched, so its pod %s was not deleted, %s: %v", r.run.ID, podID(r.run), podHour(r.run.Pod), err).
			at(r.address).id(podID(r.run)).because(err).hint("try again, or destroy with -discard-results")
	}
	r.warnf("the pod could not be asked whether its job has ended: %v", err)
	return nil
}

// destroyVolumes deletes what may go, and says what stays and costs.
func (s *session) destroyVolumes(p *plan.Plan, opt DestroyOptions, wanted func(string) bool) {
	st, err := s.read()
	if err != nil {
		s.addError(err)
		return
	}
	for _, address := range st.Addresses() {
		v := st.Resources[address].Volume
		if v == nil || !wanted(address) && !opt.Volumes {
			continue
		}
		if len(opt.Targets) > 0 && !contains(opt.Targets, address) {
			continue
		}
		retain := retained(p, address, v)
		if opt.Volumes && v.Managed && !retain {
			if err := s.deleteVolume(address, st.Resources[address].Provider, retain); err != nil {
				s.addError(err)
				s.emit(Event{Kind: EventFailed, Address: address, Message: err.Error()})
			}
			continue
		}
		why := "retain = true"
		switch {
		case !v.Managed:
			why = "it was adopted by its ID"
		case !retain:
			why = "only -volumes deletes volumes"
		}
		s.say(fmt.Sprintf("%s (%s, %d GB) stays: %s; it goes on costing %s a month", address, v.ID, v.SizeGB, why, monthlyWords(v)))
	}
}
