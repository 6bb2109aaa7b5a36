package apply

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/overbrainer/overbrainer/internal/money"
	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/state"
)

// remove deletes the run's pod and proves that it is gone. by is who the state
// names as the one who deleted it. Nothing recorded means nothing to do.
//
// The delete is sent even where the state cannot be written: it only makes
// less. A failed delete outranks a failed write.
func (r *runner) remove(reason, by string) error {
	pod := r.run.Pod
	if pod == nil || pod.Gone() {
		return nil
	}
	r.noteRunning(podGoes, pod.HourUSD(), fmt.Sprintf("%s: pod %s is being deleted (%s) and bills %s until that is proven; %s; overbrainer apply or destroy goes on with it", r.address, pod.ID, reason, podHour(pod), r.byItselfWords()))
	r.emit(Event{Kind: EventDeleting, Phase: "ending", Message: fmt.Sprintf("deleting pod %s (%s)", pod.ID, reason)})
	at := r.now()
	saved := r.save(func(_ *state.State, run *state.Run) {
		if p := run.Pod; p != nil {
			if p.State != state.PodDeleting {
				p.State, p.DeletingFor = state.PodDeleting, reason
			}
			if r.marked && run.Bounds.KeepPodS == 0 {
				p.KeptUntil = &at // its guard ends it from now on, too
			}
		}
	})
	r.drainLogs()
	seen, stopped := r.sighted(pod.ID)
	var stoppedAt time.Time
	if stopped {
		stoppedAt = r.stoppedAt(pod.ID)
	}
	existed, err := r.deletePod(pod.ID, pod.CreatedAt, podHour(pod))
	if err != nil {
		r.noteUndeleted()
		return r.notDeleted(pod, err)
	}
	until := r.now()
	switch {
	case stopped:
		until = stoppedAt
	case !seen && !existed:
		until = r.unseenEnd()
		if by == "client" {
			by = "watchdog"
		}
	}
	if err := r.recordGone(by, until, !stopped && (seen || existed)); err != nil {
		return err
	}
	return saved
}

// recordGone writes down that the pod is proven gone, and what it cost until
// then. ours: it was still there and was deleted from here. The end of one is known
// that its guard told, or that was seen until a bound or shortly before.
func (r *runner) recordGone(by string, until time.Time, ours bool) error {
	pod := r.run.Pod
	cost := round4(pod.CostUSD(until))
	at := r.now()
	r.unseen = ""
	if !ours && (by == byUnknown || r.unseenFor() >= mayMiss*r.t.GuardInterval) {
		r.unseen = r.unseenWords(until, at)
	}
	err := r.save(func(_ *state.State, run *state.Run) {
		p := run.Pod
		if p == nil || p.Gone() {
			return
		}
		p.State, p.DeletedBy, p.DeletedAt, p.SpendUSD = state.PodDeleted, by, &at, cost
		run.CostUSD = round4(run.CostUSD + cost)
		run.ReservedUSD = math.Max(0, run.ReservedUSD-cost)
		for _, a := range run.Attempts {
			if a.PodID == p.ID && a.EndedAt == nil {
				a.EndedAt, a.CostUSD = &at, cost
			}
		}
	})
	if !ours && errors.Is(err, errClaimLost) {
		return err // who works on the run knows what it cost
	}
	r.noteGone()
	text := fmt.Sprintf("pod %s is gone, it cost about %s", pod.ID, money.USD(cost))
	if r.unseen != "" {
		text = fmt.Sprintf("pod %s is gone and counts as about %s: nobody saw its end, %s", pod.ID, money.USD(cost), r.unseen)
	}
	r.emit(Event{Kind: EventDeleted, PodID: pod.ID, Message: text})
	return err
}

// sighted is one read of a pod, to know who ended it: whether it may be there,
// and whether it is stopped.
func (r *runner) sighted(id string) (seen, stopped bool) {
	ctx, cancel := r.looking(r.s.steady()) // the deletion is not to wait for it
	defer cancel()
	pod, err := r.rented.Provider.GetPod(ctx, id)
	return !providers.Is(err, providers.NotFound), err == nil && pod.Status.Dead()
}

// deletePod asks for the deletion until the provider does not know the pod any
// more. existed tells whether the provider accepted a deletion at all. That the pod
// bills meanwhile, so much an hour, is said once where the deletion is not accepted,
// or the pod is still there for long after it was.
func (r *runner) deletePod(id string, created time.Time, hour string) (existed bool, err error) {
	deadline := r.s.Now().Add(r.t.DeleteConfirm)
	var last error
	accepted, told := false, false
	var since time.Time // of the acceptance
	tell := func(what string) {
		if !told {
			told = true
			r.emit(Event{Kind: EventWarning, PodID: id, Message: fmt.Sprintf("the deletion of pod %s is %s; it is tried again, and the pod bills %s until it is gone", id, what, hour)})
		}
	}
	for tries := 0; ; tries++ {
		if !accepted || tries%3 == 2 {
			was, err := r.askDeletion(id, func() { tell("refused or not answered so far") })
			if err == nil {
				existed = existed || was
				if !accepted {
					accepted, since = true, r.s.Now()
				}
			} else if transient(err) && !providers.Is(err, providers.NotFound) {
				r.unanswered()
			}
			last = err
		}
		final := !r.s.Now().Before(deadline) || last != nil && !transient(last) && providers.KindOf(last) != providers.Unknown
		if accepted || final { // a refused deletion may have had its effect, or the pod's guard ended it
			gone, err := r.isGone(id, created, existed)
			if gone {
				return existed, nil
			}
			if err != nil && accepted {
				last = err
			}
		}
		if final {
			if last == nil {
				last = errors.New("it is still shown after its deletion")
			}
			return existed, last
		}
		switch {
		case !accepted:
			tell("refused (" + reasonOf(last) + ")")
		case r.s.Now().Sub(since) >= r.t.EffectAnswer:
			tell("accepted, but the pod is not seen to be gone")
		}
		r.s.pause(r.t.step(tries))
	}
}

// askDeletion asks for the deletion of a pod once.
func (r *runner) askDeletion(id string, late func()) (existed bool, err error) {
	r.soon(late, func() { existed, err = r.rented.Provider.DeletePod(r.s.steady(), id) })
	return existed, err
}

// soon makes a call with an effect. The provider may go on trying for minutes before it
// answers: late is called where it has no answer soon.
func (r *runner) soon(late, call func()) {
	answered, told := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(told)
		soon := time.NewTimer(r.t.EffectAnswer)
		defer soon.Stop()
		select {
		case <-answered:
		case <-soon.C:
			late()
		}
	}()
	defer func() {
		close(answered)
		<-told
	}()
	call()
}

// late says that a call has no answer so far.
func (r *runner) late(does string) func() {
	return func() {
		r.emit(Event{Kind: EventWaiting, Message: fmt.Sprintf("the call that %s has no answer so far: the provider's API is slow, or asks to wait; it goes on", does)})
	}
}

// isGone looks whether a pod is gone whose deletion was asked for: one read tells
// where the provider accepted to delete it, else it takes the proof of gone.
func (r *runner) isGone(id string, created time.Time, existed bool) (bool, error) {
	_, err := r.rented.Provider.GetPod(r.s.steady(), id)
	switch {
	case !providers.Is(err, providers.NotFound):
		return false, err
	case existed:
		return true, nil
	}
	return r.gone(id, created)
}

// noteUndeleted writes down that the provider did not answer while the pod's end
// was due.
func (r *runner) noteUndeleted() {
	at := r.unansweredAt
	if at.IsZero() {
		return
	}
	_ = r.save(func(_ *state.State, run *state.Run) {
		if run.Pod != nil {
			run.Pod.SeenAt = &at
		}
	})
}

func (r *runner) notDeleted(pod *state.Pod, err error) error {
	return failf("not_deleted", "pod %s is not proven deleted and may go on billing %s: %s", pod.ID, podHour(pod), reasonOf(err)).
		at(r.address).id(pod.ID).because(err).hint("overbrainer destroy, or overbrainer pod rm %s", r.run.ID)
}

// removeOther deletes a pod of the run that is not the recorded one; one that
// stays is noted as a stray.
func (r *runner) removeOther(pod providers.Pod) error {
	since := r.sentAt(pod)
	if err := r.noteStray(pod, since); err != nil && !r.s.isBroken() {
		return err
	}
	return r.removeStray(state.Stray{PodID: pod.ID, Name: pod.Name, RateUSD: pod.RatePerHour, Since: since})
}

func (r *runner) sentAt(pod providers.Pod) time.Time {
	for _, a := range r.run.Attempts {
		if a.Name == pod.Marker.Attempt || a.Name == pod.Name {
			return a.SentAt
		}
	}
	if !pod.CreatedAt.IsZero() {
		return pod.CreatedAt
	}
	return r.now()
}

func (r *runner) noteStray(pod providers.Pod, since time.Time) error {
	return r.save(func(_ *state.State, run *state.Run) {
		for _, have := range run.Strays {
			if have.PodID == pod.ID {
				return
			}
		}
		run.Strays = append(run.Strays, state.Stray{PodID: pod.ID, Name: pod.Name, RateUSD: pod.RatePerHour, Since: since})
		for _, a := range run.Attempts {
			if a.Name == pod.Marker.Attempt && open(a) {
				a.PodID = pod.ID
			}
		}
	})
}

// removeStray deletes a stray and takes it out of the state once it is gone.
func (r *runner) removeStray(stray state.Stray) error {
	r.emit(Event{Kind: EventDeleting, PodID: stray.PodID, Message: fmt.Sprintf("deleting pod %s, another one of run %s", stray.PodID, r.run.ID)})
	if _, err := r.deletePod(stray.PodID, stray.Since, anHour(stray.RateUSD)); err != nil {
		e := failf("not_deleted", "pod %s, a stray of run %s, is not proven deleted and may go on billing %s: %s", stray.PodID, r.run.ID, anHour(stray.RateUSD), reasonOf(err)).
			at(r.address).id(stray.PodID).because(err).hint("overbrainer pod rm %s", r.run.ID)
		r.emit(Event{Kind: EventWarning, PodID: stray.PodID, Message: e.Message})
		return e
	}
	at := r.now()
	cost := round4(stray.RateUSD * math.Max(0, r.t.NominalHours(at.Sub(stray.Since))))
	r.emit(Event{Kind: EventDeleted, PodID: stray.PodID, Message: "pod " + stray.PodID + " is gone"})
	return r.save(func(_ *state.State, run *state.Run) {
		kept := run.Strays[:0]
		for _, have := range run.Strays {
			if have.PodID != stray.PodID {
				kept = append(kept, have)
			}
		}
		if len(kept) < len(run.Strays) {
			run.CostUSD = round4(run.CostUSD + cost)
		}
		run.Strays = kept
		for _, a := range run.Attempts {
			if a.PodID == stray.PodID && a.EndedAt == nil {
				a.EndedAt, a.CostUSD = &at, cost
				if open(a) {
					a.Result = state.AttemptRefused
				}
			}
		}
	})
}

// sweepBeside is sweepOthers beside a pod that is in use: what cannot be looked at
// soon is looked at when the run ends.
func (r *runner) sweepBeside() {
	ctx, cancel := r.looking(r.s.steady())
	defer cancel()
	r.sweepOthers(ctx)
}

// sweepOthers deletes every pod that carries the run's marker but the recorded
// one. known is false when the list could not be read, and then nothing of the
// run may be forgotten. A create call that was not answered clearly, is old
// enough and left no pod in the list, counts as absent.
func (r *runner) sweepOthers(ctx context.Context) (known bool) {
	pods, err := r.recentPods(ctx)
	if err != nil {
		r.warnf("other pods of the run could not be looked for: %s", reasonOf(err))
		return false
	}
	seen := map[string]bool{}
	for _, pod := range r.s.ours(pods, r.run.ID) {
		seen[pod.ID], seen[pod.Marker.Attempt] = true, true
		if r.run.Pod != nil && r.run.Pod.ID == pod.ID {
			continue
		}
		_ = r.removeOther(pod) // what stays is noted as a stray
	}
	for _, stray := range append([]state.Stray(nil), r.run.Strays...) {
		if !seen[stray.PodID] {
			_ = r.removeStray(stray)
		}
	}
	r.closeAttempts(seen)
	return true
}

func (r *runner) closeAttempts(seen map[string]bool) {
	now := r.now()
	absent := func(a *state.Attempt) bool {
		return a.Result == state.AttemptAmbiguous && !seen[a.Name] && now.Sub(a.SentAt) >= r.t.AdoptAge
	}
	for _, a := range r.run.Attempts {
		if absent(a) {
			_ = r.save(func(_ *state.State, run *state.Run) {
				for _, a := range run.Attempts {
					if absent(a) {
						a.Result, a.EndedAt = state.AttemptAbsent, &now
					}
				}
			})
			return
		}
	}
}

func (s *session) isBroken() bool { return s.mayBegin() != nil }

func (r *runner) closeMachine() {
	if r.machine != nil {
		r.noteHeard()
		_ = r.machine.Close()
		r.machine = nil
	}
}

// noteHeard takes in when the pod was last heard of over its connection.
func (r *runner) noteHeard() {
	if r.machine == nil {
		return
	}
	if at := r.now().Add(-time.Since(r.machine.Heard())); at.After(r.lastSeen) {
		r.lastSeen = at
	}
}

// deleteReason says in one word why a pod is deleted.
func deleteReason(err error) string {
	switch endReason(err) {
	case state.Interrupted:
		return "interrupted"
	case state.Bootstrap:
		return "bootstrap failed"
	case state.WatchdogRefused, state.PlacementMismatch:
		return "refused"
	case state.NotReady:
		return "not ready"
	case state.DiskFull:
		return "disk full"
	}
	return "requested"
}
