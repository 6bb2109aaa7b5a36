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
			if run := st.Resources[address].Run; run == nil || !anyHolds(run) {
				continue // what was begun since is not past its bounds
			}
			switch err := s.sweepAddress(address); {
			case err == nil:
			case ClassOf(err) == Held:
				s.say(address + " is left to the process that works on it")
			default:
				s.addError(err)
				s.emit(Event{Kind: EventFailed, Address: address, Message: err.Error()})
			}
		}
		s.say(fmt.Sprintf("looked at every pod and secret of the account; addresses in the state: %d", len(st.Addresses())))
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
		at, reason, due := r.sweptAt()
		if !due || !now.After(at) {
			r.left(at, due)
			return r.sweepOverdue(pods, now)
		}
		message := r.limitMessage(reason)
		if err := r.remove(limitWords(reason), "client"); err != nil {
			return err
		}
		if !r.run.Phase.Ended() {
			r.finishAt(r.jobEndBefore(r.now()), state.Failed, reason, message)
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

// sweptAt is when a sweep ends the run's pod, and by which bound: as long after
// the latest of its bounds as any client waits. due is false where it has none.
func (r *runner) sweptAt() (at time.Time, reason state.Reason, due bool) {
	pod := r.run.Pod
	if pod.State == state.PodDeleting {
		return time.Time{}, r.run.Reason, true
	}
	end, due := LastEnd(r.run, r.t)
	reason = state.TimeLimit
	if pod.CostCapAt != nil && !pod.CostCapAt.After(end) {
		reason = state.CostCap
	}
	return end.Add(r.t.DeadlineMargin), reason, due
}

// left says of a pod that a sweep does not end until when it stays.
func (r *runner) left(at time.Time, due bool) {
	until := "for ever: it is kept and has no bound"
	if due {
		until = "until " + at.Local().Format(clock)
	}
	r.s.say(fmt.Sprintf("%s: pod %s of run %s is left %s", r.address, r.run.Pod.ID, r.run.ID, until))
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
