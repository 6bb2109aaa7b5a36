package apply

import (
	"context"
	"errors"
	"fmt"

	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/state"
)

// RemovePods deletes the pods of a run, by its ID. Without force a run that
// goes on keeps the pod it trains on, one that is starting keeps everything,
// and one that is not in this state is not touched.
func (e *Engine) RemovePods(ctx context.Context, id string, force bool, opt Options) (Outcome, error) {
	if !ValidRunID(id) {
		return Outcome{}, failf("run_id", "%q is not a run ID", id)
	}
	s := e.open(ctx, "pod rm", opt.LockTimeout)
	defer s.close()
	return s.until(func() (Outcome, error) {
		st, err := s.read()
		if err != nil && !force {
			return Outcome{}, err
		}
		var run *state.Run
		var address string
		if err == nil {
			s.lineage = st.Lineage
			address, run = st.FindRun(id)
		}
		switch {
		case err != nil:
			err = s.removeBlindly(id, err)
		case run == nil:
			err = s.removeUnknown(id, force)
		default:
			err = s.removeKnown(address, st.Resources[address].Provider, run, force)
			if force && s.mayBegin() != nil {
				err = s.removeBlindly(id, err)
			}
		}
		if err != nil {
			s.addError(err)
		}
		return s.outcome.settled(), nil
	})
}

// removal is what pod rm does, by where a run is.
type removal int

const (
	removeAll    removal = iota
	removeOthers         // all but the pod in use
	removeNone
)

// rule decides what may be deleted of a run.
func rule(run *state.Run, force bool) (removal, *Error) {
	if force || run.Phase.Ended() {
		return removeAll, nil
	}
	starting := run.Phase == state.Preparing
	if n := len(run.Attempts); n > 0 && open(run.Attempts[n-1]) {
		starting = true
	}
	switch {
	case starting:
		return removeNone, failf("still_starting", "run %s is starting, nothing was deleted", run.ID).hint("wait, cancel it once it runs, or -force")
	case run.Pod == nil || run.Pod.Gone():
		return removeNone, failf("pod_not_recorded", "run %s goes on and has no pod in the state, nothing was deleted", run.ID).hint("-force, if it is really dead")
	}
	return removeOthers, failf("run_still_running", "run %s is running: its pod %s was kept", run.ID, run.Pod.ID).hint("cancel the run first, or -force")
}

func (s *session) removeKnown(address, provider string, run *state.Run, force bool) error {
	what, refusal := rule(run, force)
	if refusal != nil {
		refusal.Address, refusal.ID = address, podID(run)
	}
	if what == removeNone {
		return refusal
	}
	c, err := s.claims.take(address)
	if ClassOf(err) == Held && what == removeOthers {
		return errors.Join(refusal, err)
	}
	if ClassOf(err) == Held && force {
		c, err = s.claims.seize(address)
	}
	if err != nil {
		return err
	}
	defer s.claims.release(address)
	r, err := s.runner(address, provider, nil, c)
	if err != nil {
		return err
	}
	st, err := s.read()
	if err != nil {
		return err
	}
	if now := findRun(st, address, run.ID); now != nil {
		run = now
	}
	r.load(run)
	return r.removeByHand(what, refusal)
}

func (r *runner) removeByHand(what removal, refusal *Error) error {
	var problems []error
	add := func(err error) {
		if err != nil {
			problems = append(problems, err)
		}
	}
	pods, err := r.s.listPods(r.provider)
	add(err)
	if what == removeOthers {
		for _, err := range r.removeOthersIn(pods) {
			add(err)
		}
		return errors.Join(append([]error{refusal}, problems...)...)
	}
	if len(r.unfinishedNames()) > 0 && err == nil {
		add(r.resolveAttempts(pods))
	}
	add(r.remove("requested", "pod_rm"))
	for _, err := range r.removeOthersIn(pods) {
		add(err)
	}
	if !r.run.Phase.Ended() {
		r.finish(state.Failed, state.Destroyed, "its pods were removed by hand")
		r.saveResult(nil)
	}
	if !r.mayExist() {
		r.tidy()
	}
	if len(problems) > 0 {
		return problems[0]
	}
	return nil
}

// removeOthersIn deletes strays and pods with the run's marker that are not
// the recorded one.
func (r *runner) removeOthersIn(pods []providers.Pod) []error {
	var problems []error
	tried := map[string]bool{}
	for _, pod := range r.s.ours(pods, r.run.ID) {
		if r.run.Pod != nil && r.run.Pod.ID == pod.ID {
			continue
		}
		tried[pod.ID] = true
		if err := r.removeOther(pod); err != nil {
			problems = append(problems, err)
		}
	}
	for _, stray := range append([]state.Stray(nil), r.run.Strays...) {
		if tried[stray.PodID] {
			continue
		}
		if err := r.removeStray(stray); err != nil {
			problems = append(problems, err)
		}
	}
	return problems
}

// removeBlindly deletes the pods of a run by its ID alone, where the state cannot
// be used: what bills can always be ended. The command fails all the same, since
// the state does not know of it.
func (s *session) removeBlindly(id string, why error) error {
	s.warn("", id, "the pods of run "+id+" are looked for by its ID alone, and the state is left as it is")
	return errors.Join(why, s.removeUnknown(id, true))
}

// removeUnknown deletes the pods and the secret of a run that this state does
// not know.
func (s *session) removeUnknown(id string, force bool) error {
	if !force {
		return failf("not_in_runs", "run %s is not in this state; it may belong to another checkout, and nothing was deleted", id).hint("-force deletes its pods all the same")
	}
	found := false
	var problems []error
	for _, name := range sortedKeys(s.Providers) {
		pods, err := s.listPods(name)
		if err != nil {
			problems = append(problems, failf("list_pods", "%s", reasonOf(err)).because(err))
			continue
		}
		r := s.stranger(name, id)
		left := false
		for _, pod := range pods {
			if pod.Marker.RunID != id {
				continue
			}
			found = true
			if _, err := r.deletePod(pod.ID, pod.CreatedAt, anHour(pod.RatePerHour)); err != nil {
				left = true
				problems = append(problems, failf("not_deleted", "pod %s is not proven deleted and may go on billing %s: %s", pod.ID, anHour(pod.RatePerHour), reasonOf(err)).id(pod.ID).because(err))
				continue
			}
			s.emit(Event{Kind: EventDeleted, RunID: id, PodID: pod.ID, Message: fmt.Sprintf("pod %s is gone", pod.ID)})
		}
		if !left && r.rented.Description.Has(providers.CapSecrets) {
			if err := r.dropHostKeys(id); err != nil {
				problems = append(problems, err)
			}
		}
	}
	if !found && len(problems) == 0 {
		s.say(fmt.Sprintf("no pod of run %s exists", id))
	}
	return errors.Join(problems...)
}
