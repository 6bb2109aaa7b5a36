package apply

import (
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/state"
)

// mostRecovered is of how many addresses at once what was left open is resolved. It
// is mostly waiting: three looks ten seconds apart prove that a pod is gone.
const mostRecovered = 64

// recoverAll resolves what earlier commands left open, before anything new is
// begun: create calls that were never answered are adopted or proven absent,
// pods whose deletion was under way and strays are deleted, secrets that no pod
// needs are removed. Addresses that another process works on are left to it.
//
// planned are the addresses whose runs go on in this command.
func (s *session) recoverAll(planned map[string]bool) error {
	st, err := s.read()
	if err != nil {
		return err
	}
	lists, err := s.listAccounts(st)
	if err != nil {
		return err
	}
	// Whatever is live waits for it, and its pods bill.
	var all errgroup.Group
	all.SetLimit(mostRecovered)
	for _, address := range st.Addresses() {
		res := st.Resources[address]
		if res.Run == nil {
			continue
		}
		all.Go(func() error {
			for _, run := range res.Run.Runs {
				if s.interrupted() {
					return nil
				}
				if err := s.recoverRun(address, res.Provider, run, lists[res.Provider], planned[address]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		return err
	}
	if err := s.reportUnknown(st, lists); err != nil {
		return err
	}
	s.sweepHostKeys(lists)
	return nil
}

func anyHolds(res *state.RunResource) bool {
	for _, run := range res.Runs {
		if run.Holds() {
			return true
		}
	}
	return false
}

// recoverRun resolves what is open of one run.
func (s *session) recoverRun(address, provider string, run *state.Run, pods []providers.Pod, planned bool) error {
	if !needsRecovery(s, run, pods) {
		return nil
	}
	if _, ok := s.Providers[provider]; !ok {
		s.warn(address, run.ID, fmt.Sprintf("run %s still holds something at provider %q, which is not configured", run.ID, provider))
		return nil
	}
	had := s.claims.have(address) != nil
	c, err := s.claims.try(address)
	if err != nil {
		var held *state.ClaimedError
		if errors.As(err, &held) {
			return nil // whoever holds it resolves it
		}
		return err
	}
	defer func() {
		if !had && !planned {
			s.claims.release(address)
		}
	}()
	st, err := s.read()
	if err != nil {
		return err
	}
	if run = findRun(st, address, run.ID); run == nil {
		return nil
	}
	r, err := s.runner(address, provider, nil, c)
	if err != nil {
		return err
	}
	r.load(run)
	return r.recover(pods, planned)
}

// needsRecovery reports whether something of the run is open that does not
// wait for a step of a plan.
func needsRecovery(s *session, run *state.Run, pods []providers.Pod) bool {
	for _, a := range run.Attempts {
		if open(a) {
			return true
		}
	}
	switch p := run.Pod; {
	case len(run.Strays) > 0:
		return true
	case run.BeingDeleted():
		return true
	case run.Phase.Ended() && (p == nil || p.Gone()) && len(run.Secrets) > 0:
		return true
	case run.Phase.Ended() && p != nil && !p.Gone() && p.State != state.PodAwaiting && p.State != state.PodKept:
		return true
	case p != nil && !p.Gone() && (p.State == state.PodKept || p.State == state.PodAwaiting && run.Retrieved):
		return !listed(pods, p.ID) || run.Retrieved && p.State == state.PodAwaiting
	}
	for _, pod := range s.ours(pods, run.ID) {
		if run.Pod == nil || pod.ID != run.Pod.ID {
			return true
		}
	}
	return false
}

func listed(pods []providers.Pod, id string) bool {
	for _, pod := range pods {
		if pod.ID == id {
			return true
		}
	}
	return false
}

// recover resolves the run's open ends.
func (r *runner) recover(pods []providers.Pod, planned bool) error {
	if err := r.resolveAttempts(pods); err != nil {
		return err
	}
	run := r.run
	switch pod := run.Pod; {
	case pod == nil || pod.Gone():
	case pod.State == state.PodDeleting, run.Phase.Ended() && pod.State != state.PodAwaiting && pod.State != state.PodKept:
		if err := r.remove("left by an earlier command", "client"); err != nil {
			r.s.addError(err)
		} else if run.Phase == state.Running {
			r.finishDeleted()
		}
	case pod.State == state.PodAwaiting && run.Retrieved:
		if err := r.remove("retrieved", "client"); err != nil {
			r.s.addError(err)
		}
	case pod.State == state.PodKept && !listed(pods, pod.ID):
		if gone, err := r.gone(pod.ID, pod.CreatedAt); err == nil && gone {
			_ = r.recordGone("watchdog", r.unseenEnd(), false)
		}
	}
	if run := r.run; run.Phase.Ended() && !r.mayExist() {
		r.tidy()
		return nil
	}
	if r.run.Pod != nil || len(r.run.Strays) > 0 {
		r.sweepOthers(r.s.steady())
	}
	if !planned && !r.run.Phase.Ended() && (r.run.Pod == nil || r.run.Pod.Gone()) && !r.mayExist() {
		return nil // begun and without a pod: a later plan goes on with it
	}
	return nil
}

// resolveAttempts adopts the pods of create calls that were never answered, or
// proves that they do not exist.
func (r *runner) resolveAttempts(pods []providers.Pod) error {
	for _, name := range r.unfinishedNames() {
		a := findAttempt(r.run, name)
		r.phase("waiting", "a create call of an earlier command was not answered; looking for its pod %s", name)
		found, err := r.lookFor(a, pods)
		if err != nil {
			return err
		}
		if found {
			continue
		}
		at := r.now()
		err = r.save(func(_ *state.State, run *state.Run) {
			if a := findAttempt(run, name); a != nil && open(a) {
				a.Result, a.EndedAt = state.AttemptAbsent, &at
			}
		})
		if err != nil {
			return err
		}
		r.phase("waiting", "pod %s was never made", name)
	}
	return nil
}

// lookFor looks for an attempt's pod several times, the last time not before
// the call can have had an effect. A pod of a run that goes on is adopted; one
// beside another pod, or of a run that has ended, is deleted.
func (r *runner) lookFor(a *state.Attempt, pods []providers.Pod) (bool, error) {
	for look := 0; ; look++ {
		if look > 0 {
			var err error
			if pods, err = r.s.listPods(r.provider); err != nil {
				return false, failf("list_pods", "pod %s of an unanswered create call cannot be looked for: %s", a.Name, reasonOf(err)).at(r.address).because(err)
			}
		}
		for _, pod := range r.s.ours(pods, r.run.ID) {
			if pod.Marker.Attempt != a.Name && pod.Name != a.Name {
				continue
			}
			return true, r.takeIn(a, pod)
		}
		if look >= len(r.t.Reconcile)-1 && r.now().Sub(a.SentAt) >= r.t.AdoptAge {
			return false, nil
		}
		if err := r.s.sleep(r.t.Reconcile[min(look, len(r.t.Reconcile)-2)]); err != nil {
			return false, err
		}
	}
}

// takeIn adopts a pod or deletes it, as the run needs it.
func (r *runner) takeIn(a *state.Attempt, pod providers.Pod) error {
	if !r.run.Phase.Ended() && (r.run.Pod == nil || r.run.Pod.Gone()) {
		r.phase("booting", "pod %s was made by an earlier command and is adopted", pod.ID)
		return r.keep(a.Name, pod, state.AttemptAdopted)
	}
	err := r.removeOther(pod)
	if err != nil {
		r.s.addError(err)
	}
	return r.save(func(_ *state.State, run *state.Run) {
		if a := findAttempt(run, a.Name); a != nil && open(a) {
			a.Result = state.AttemptRefused
		}
	})
}

func (s *session) addError(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outcome.Errors = append(s.outcome.Errors, err)
}
