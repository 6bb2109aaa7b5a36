package apply

import (
	"errors"
	"fmt"

	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/state"
)

// goOn takes up a run where it was left, by us or by a process that is gone.
func (r *runner) goOn(offers []plan.Offer) RunOutcome {
	run := r.run
	pod := run.Pod
	started := run.Phase == state.Running || run.Phase.Ended() || pod != nil && pod.State == state.PodLaunching
	if started && (pod == nil || pod.Gone()) {
		return r.orphaned()
	}
	if err := r.takeKey(); err != nil {
		if started {
			return r.failed(r.notOurKey(err))
		}
		return r.again(offers, "its private key is not here")
	}
	switch {
	case run.BeingDeleted() && started:
		return r.deleted()
	case run.BeingDeleted():
		return r.again(offers, "its pod was being deleted")
	}
	if !started && r.spec != nil && r.spec.Fingerprint != "" && r.spec.Fingerprint != run.Fingerprint {
		return r.again(offers, "its inputs have changed")
	}
	if r.spec != nil {
		r.takeSpec()
		r.knowSecrets()
	}
	switch {
	case !started && r.spec == nil:
		return r.again(offers, "nothing says what to start")
	case !started && (pod == nil || pod.Gone()) && r.mayExist():
		return r.again(offers, "a pod of it may still exist")
	case !started && (pod == nil || pod.Gone()):
		return r.prepared(offers)
	case !started:
		return r.goOnBooting(offers)
	case pod.State == state.PodLaunching:
		return r.goOnLaunching()
	}
	return r.goOnRunning()
}

// takeSpec lets what may change while a run goes on take effect: the outputs.
func (r *runner) takeSpec() {
	job := jobOf(r.spec)
	_ = r.save(func(_ *state.State, run *state.Run) {
		run.Job.Outputs, run.Job.AllowEmpty, run.Job.PreventDestroy = job.Outputs, job.AllowEmpty, job.PreventDestroy
	})
}

// takeKey reads the run's private client key.
func (r *runner) takeKey() error {
	signer, err := r.s.Keys.ClientKey(r.dir(), r.s.lineage, r.run.ID)
	if err == nil {
		err = KeyFits(r.run, signer)
	}
	if err != nil {
		return err
	}
	r.signer = signer
	return nil
}

// notOurKey is the error of a run that only another machine can go on with.
func (r *runner) notOurKey(err error) error {
	me := r.s.Who.Name()
	e := failf("not_our_key", "the private key of run %s is not here, so its pod %s cannot be reached; %s", r.run.ID, podID(r.run), WhoHasKey(r.run, me))
	if errors.Is(err, ErrOtherKey) {
		e.Message = fmt.Sprintf("%s, so its pod %s is not asked", err, podID(r.run))
	}
	e.Hint = WithoutKey(r.address, r.run, me, err)
	return e.at(r.address).id(podID(r.run))
}

// goOnBooting waits for a pod that was left while it was getting ready.
func (r *runner) goOnBooting(offers []plan.Offer) RunOutcome {
	r.phase("booting", "going on with pod %s of run %s", r.run.Pod.ID, r.run.ID)
	attempt := r.run.Pod.Attempt
	w := &placement{r: r, created: 1, attempts: 1}
	err := r.waitReady()
	var slow *notReadyError
	if err == nil {
		return r.ready()
	}
	if errors.As(err, &slow) && !slow.final {
		if _, derr := w.giveUp(attempt, slow.result, slow.reason, "not ready"); derr != nil {
			return r.notStarted(derr)
		}
		return r.placed(offers)
	}
	result := state.AttemptNotReady
	if slow != nil {
		result = slow.result
	}
	if derr := r.endAttempt(attempt, result, err.Error(), deleteReason(err)); derr != nil {
		err = derr
	}
	return r.notStarted(err)
}

// goOnLaunching asks a pod whether the job whose start was sent runs.
func (r *runner) goOnLaunching() RunOutcome {
	switch started, err := r.started(); {
	case err != nil:
		return r.inDoubt(err)
	case !started && r.spec == nil:
		return r.notStarted(failf("launch_failed", "the job was not started").at(r.address).because(&endError{state.LaunchFailed}))
	case !started:
		return r.ready()
	}
	if err := r.launched(); err != nil {
		return r.notStarted(err)
	}
	return r.running()
}

// goOnRunning follows a job again, or goes on with its results.
func (r *runner) goOnRunning() RunOutcome {
	r.phase("training", "attached to run %s on pod %s", r.run.ID, r.run.Pod.ID)
	if r.run.Retrieved && r.run.Phase.Ended() {
		_ = r.connect() // without it the guard cannot be told, and is not needed
		return r.endPod()
	}
	return r.running()
}

// unreachable sorts out why a pod cannot be connected to.
func (r *runner) unreachable(err error) RunOutcome {
	if r.unclaimed && errors.Is(err, errClaimLost) {
		return calm(r.observe())
	}
	var e *Error
	if errors.As(err, &e) {
		switch e.Code {
		case "pod_gone":
			return r.vanished()
		case "pod_stopped":
			return r.takenAway(e)
		}
	}
	return r.failed(err)
}

// deleted finishes the deletion of a pod that a job ran on, and with it the run.
func (r *runner) deleted() RunOutcome {
	if err := r.remove("left by an earlier command", "client"); err != nil {
		return r.failed(err)
	}
	return r.orphaned()
}

// orphaned is a run whose pod the state knows to be gone although the run was
// not written down as ended.
func (r *runner) orphaned() RunOutcome {
	if !r.run.Phase.Ended() {
		r.finishDeleted()
	}
	r.tidy()
	return r.done(nil)
}

// finishDeleted writes down how a run ended whose pod was deleted before that was.
func (r *runner) finishDeleted() {
	phase, reason := r.run.DeletedEnd()
	message := "its pod is gone" + r.savedWords()
	if reason == state.Destroyed {
		message = destroyedWords
	}
	r.finishAt(r.jobEndBefore(r.now()), phase, reason, message)
	r.saveResult(nil)
}

// again gives up a run whose job never started, and begins a new one.
func (r *runner) again(offers []plan.Offer, why string) RunOutcome {
	r.phase("ending", "run %s is given up: %s", r.run.ID, why)
	if err := r.remove("requested", "client"); err != nil {
		return r.failed(err)
	}
	r.finish(state.Failed, state.Interrupted, "given up before its job started: "+why)
	r.tidy()
	if r.spec == nil {
		return r.done(nil)
	}
	spec := *r.spec
	if from := r.run.From; from != nil && spec.Fingerprint == r.run.Fingerprint {
		spec.ResumeFrom = plan.ResumeAt(r.address, from)
	}
	next, err := r.s.runner(r.address, r.provider, &spec, r.claim)
	if err != nil {
		return r.failed(err)
	}
	return next.fromStart(offers)
}
