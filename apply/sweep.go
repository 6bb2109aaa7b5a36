package apply

import (
	"context"
	"fmt"
	"time"

	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/state"
)

// Sweep deletes this project's pods that are past their bounds, and account
// secrets of its runs that no pod needs; nothing else. It is for cron and CI: a
// second guard beside the one on each pod. It waits as long after a bound as
// any client does, so that the pod's own guard acts first.
func (e *Engine) Sweep(ctx context.Context, opt Options) (Outcome, error) {
	s := e.open(ctx, "sweep", opt.LockTimeout)
	defer s.close()
	return s.until(func() (Outcome, error) {
		st, err := s.read()
		if err != nil {
			return Outcome{}, err
		}
		s.lineage = st.Lineage
		for _, address := range st.Addresses() {
			if st.Resources[address].Run == nil {
				continue
			}
			if err := s.sweepAddress(address); err != nil && ClassOf(err) != Held {
				s.addError(err)
				s.emit(Event{Kind: EventFailed, Address: address, Message: err.Error()})
			}
		}
		s.sweepAccounts()
		return s.outcome.settled(), nil
	})
}

// sweepAddress sweeps the runs of one address.
func (s *session) sweepAddress(address string) error {
	st, err := s.read()
	if err != nil {
		return err
	}
	res := st.Resources[address]
	if res == nil || res.Run == nil || !anyHolds(res.Run) {
		return nil
	}
	rented, err := s.provider(res.Provider)
	if err != nil {
		return err
	}
	c, err := s.claims.take(address)
	if err != nil {
		return err
	}
	defer s.claims.release(address)
	pods, err := s.listPods(res.Provider)
	if err != nil {
		return failf("list_pods", "%s", reasonOf(err)).at(address).because(err)
	}
	var problems []error
	for _, run := range res.Run.Runs {
		if !run.Holds() {
			continue
		}
		r := &runner{s: s, address: address, provider: res.Provider, rented: rented, t: s.timing(res.Provider), claim: c}
		r.load(run)
		if err := r.sweep(pods); err != nil {
			problems = append(problems, err)
		}
	}
	if len(problems) > 0 {
		return join(problems)
	}
	return nil
}

// sweep ends what is past its bound.
func (r *runner) sweep(pods []providers.Pod) error {
	now := r.now()
	if pod := r.run.Pod; pod != nil && !pod.Gone() {
		reason, over := r.pastBound(now)
		if !over {
			return r.sweepOverdue(pods, now)
		}
		if err := r.remove(limitWords(reason), "client"); err != nil {
			return err
		}
		if !r.run.Phase.Ended() {
			r.finish(state.Failed, reason, r.limitMessage(reason))
		}
		r.saveResult(nil)
	}
	if err := r.sweepOverdue(pods, now); err != nil {
		return err
	}
	if r.run.Phase.Ended() && !r.mayExist() {
		r.tidy()
	}
	return nil
}

// pastBound reports whether the run's pod should have ended itself.
func (r *runner) pastBound(now time.Time) (state.Reason, bool) {
	pod, b := r.run.Pod, r.run.Bounds
	late := now.Add(-r.t.DeadlineMargin)
	if pod.CostCapAt != nil && late.After(*pod.CostCapAt) {
		return state.CostCap, true
	}
	switch {
	case pod.State == state.PodKept && b.KeepPodS < 0:
		return "", false
	case pod.State == state.PodKept:
		return state.TimeLimit, pod.KeptUntil != nil && late.After(*pod.KeptUntil)
	case pod.State == state.PodDeleting:
		return r.run.Reason, true
	case pod.Deadline == nil:
		return "", false
	}
	end := pod.Deadline.Add(r.t.Hours(b.OverrunHours))
	if r.run.Phase.Ended() || r.run.Phase == state.Running {
		end = end.Add(r.t.Seconds(b.RetrieveGrace)) // its results may wait
	}
	return state.TimeLimit, late.After(end)
}

// sweepOverdue deletes other pods of the run that are past the deadline of
// their attempt.
func (r *runner) sweepOverdue(pods []providers.Pod, now time.Time) error {
	for _, pod := range r.s.ours(pods, r.run.ID) {
		if r.run.Pod != nil && r.run.Pod.ID == pod.ID {
			continue
		}
		a := findAttempt(r.run, pod.Marker.Attempt)
		if a == nil || a.Deadline == nil || !now.Add(-r.t.DeadlineMargin).After(*a.Deadline) {
			continue
		}
		if err := r.removeOther(pod); err != nil {
			return fmt.Errorf("%s: %w", r.address, err)
		}
	}
	return nil
}
