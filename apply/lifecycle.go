package apply

import (
	"errors"
	"fmt"

	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/state"
)

// runStep executes a step on a run and gives its outcome. The address is held
// while it does.
func (s *session) runStep(step *plan.Step, spec *plan.RunSpec, offers []plan.Offer) RunOutcome {
	c, err := s.claims.take(step.Address)
	if err != nil {
		return s.notBegun(step.Address, err)
	}
	defer s.claims.release(step.Address)
	provider := ""
	if spec != nil {
		provider = spec.Provider
	}
	st, err := s.read()
	if err != nil {
		return s.notBegun(step.Address, err)
	}
	current := currentRun(st, step.Address)
	if res := st.Resources[step.Address]; res != nil && provider == "" {
		provider = res.Provider
	}
	r, err := s.runner(step.Address, provider, spec, c)
	if err != nil {
		return s.notBegun(step.Address, err)
	}
	if step.Cost.DiskUSD != nil {
		r.diskUSD = *step.Cost.DiskUSD
	}
	switch {
	case current != nil && (!current.Phase.Ended() || unfetched(current)):
		// Somebody began it, perhaps since the plan was made: go on with it.
		r.load(current)
		return r.goOn(step, offers)
	case step.Action == plan.Attach || step.Action == plan.Collect:
		if current == nil {
			return s.notBegun(step.Address, failf("stale_plan", "there is no run to go on with").at(step.Address).hint("plan again"))
		}
		r.load(current) // it has ended since the plan was made
		return r.done(nil)
	}
	return r.fromStart(step, offers)
}

func currentRun(st *state.State, address string) *state.Run {
	res := st.Resources[address]
	if res == nil || res.Run == nil {
		return nil
	}
	return res.Run.CurrentRun()
}

// unfetched reports whether a run has ended and its results wait on a pod.
func unfetched(run *state.Run) bool {
	return run.Phase.Ended() && !run.Retrieved && run.Pod != nil && run.Pod.State == state.PodAwaiting
}

// notBegun is the outcome of a step that could not be begun.
func (s *session) notBegun(address string, err error) RunOutcome {
	var e *Error
	if errors.As(err, &e) && e.Address == "" {
		e.Address = address
	}
	s.emit(Event{Kind: EventFailed, Address: address, Message: err.Error()})
	return RunOutcome{Address: address, Err: err, Class: ClassOf(err)}
}

// fromStart begins a new run and takes it to its end.
func (r *runner) fromStart(step *plan.Step, offers []plan.Offer) RunOutcome {
	if r.s.interrupted() {
		return r.s.notBegun(r.address, errInterrupted)
	}
	if err := r.begin(step); err != nil {
		return r.s.notBegun(r.address, err)
	}
	return r.prepared(offers)
}

// prepared takes a run without a pod to its end.
func (r *runner) prepared(offers []plan.Offer) RunOutcome {
	if err := r.prepareKeys(); err != nil {
		return r.notStarted(err)
	}
	return r.placed(offers)
}

// placed finds a pod for a run whose keys are ready, and takes it to its end.
func (r *runner) placed(offers []plan.Offer) RunOutcome {
	if err := r.place(offers); err != nil {
		return r.notStarted(err)
	}
	return r.ready()
}

// ready starts the job on a pod that is ready, and follows it.
func (r *runner) ready() RunOutcome {
	if err := r.start(); err != nil {
		return r.notStarted(err)
	}
	return r.running()
}

// running follows a job that runs.
func (r *runner) running() RunOutcome {
	r.s.noteRunning(r.address, r.whereItRuns())
	if r.run.Bounds.KeepPodS < 0 {
		r.warnf("the pod stays after the job's end until it is destroyed, %s", anHour(hourly(r.run.Pod)))
	}
	if r.s.detach {
		return r.detached(false)
	}
	return r.settle(r.follow())
}

// notStarted ends a run whose job was not started: its pod is deleted, and
// with it everything else of the run.
func (r *runner) notStarted(cause error) RunOutcome {
	if errors.Is(cause, errClaimLost) {
		return r.failed(cause)
	}
	r.copyPodLogs()
	r.closeMachine()
	reason := endReason(cause)
	message := r.s.Redactor.String(cause.Error())
	if reason == state.Interrupted {
		message = "interrupted before the job started"
	}
	err := r.remove(deleteReason(cause), "client")
	r.stopLogs()
	r.finish(state.Failed, reason, message)
	r.tidy()
	if err == nil {
		err = cause
	} else {
		err = errors.Join(err, cause)
	}
	out := r.outcome()
	out.Err, out.Class, out.Message = err, ClassOf(err), message
	if reason == state.Interrupted {
		out.Class = Interrupt
		if r.mayExist() {
			r.s.say(fmt.Sprintf("%s: a pod may be left; overbrainer destroy, or pod rm %s, ends it", r.address, r.run.ID))
		} else {
			r.s.say(fmt.Sprintf("%s was interrupted before its job started; nothing of it is left", r.address))
		}
	}
	if out.Class == NothingRentable && r.run.CostUSD > 0 {
		out.Class = Failure
	}
	r.saveResult(nil)
	r.ended(out)
	return out
}

// goOn takes up a run where it was left, by us or by a process that is gone.
func (r *runner) goOn(step *plan.Step, offers []plan.Offer) RunOutcome {
	run := r.run
	pod := run.Pod
	started := run.Phase == state.Running || run.Phase.Ended() || pod != nil && pod.State == state.PodLaunching
	if started && (pod == nil || pod.Gone()) {
		return r.orphaned()
	}
	if err := r.takeKey(); err != nil {
		if started {
			return r.failed(r.notOurKey())
		}
		return r.again(step, offers, "its private key is not here")
	}
	if pod != nil && pod.State == state.PodDeleting {
		return r.again(step, offers, "its pod was being deleted")
	}
	if !started && r.spec != nil && r.spec.Fingerprint != "" && r.spec.Fingerprint != run.Fingerprint {
		return r.again(step, offers, "its inputs have changed")
	}
	if r.spec != nil {
		r.takeSpec()
		r.knowSecrets()
	}
	switch {
	case !started && r.spec == nil:
		return r.again(step, offers, "nothing says what to start")
	case !started && (pod == nil || pod.Gone()) && r.mayExist():
		return r.again(step, offers, "a pod of it may still exist")
	case !started && (pod == nil || pod.Gone()):
		return r.prepared(offers)
	case !started:
		return r.goOnBooting(step, offers)
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
	if err != nil {
		return err
	}
	r.signer = signer
	return nil
}

// notOurKey is the error of a run that only another machine can go on with.
func (r *runner) notOurKey() error {
	e := failf("not_our_key", "the private key of run %s is not here, so its pod %s cannot be reached; %s holds it", r.run.ID, podID(r.run), r.run.Holder).
		at(r.address).id(podID(r.run))
	if r.run.KeySource == "derived" {
		e.Hint = "set OVERBRAINER_KEY to the value that the run was started with"
	} else {
		e.Hint = "go on there, or set OVERBRAINER_KEY everywhere for later runs; overbrainer pod rm " + r.run.ID + " -force deletes the pod with its results"
	}
	return e
}

// goOnBooting waits for a pod that was left while it was getting ready.
func (r *runner) goOnBooting(step *plan.Step, offers []plan.Offer) RunOutcome {
	r.phase("booting", "going on with pod %s of run %s", r.run.Pod.ID, r.run.ID)
	attempt := r.run.Pod.Attempt
	w := &placement{r: r, created: 1, attempts: 1}
	err := r.waitReady()
	var slow *notReadyError
	if err == nil {
		r.sweepOthers()
		return r.ready()
	}
	if errors.As(err, &slow) && !slow.final {
		if _, derr := w.giveUp(attempt, state.AttemptNotReady, slow.reason, "not ready"); derr != nil {
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
	if err := r.connect(); err != nil {
		return r.unreachable(err)
	}
	if !r.started() {
		if r.spec == nil {
			return r.notStarted(failf("launch_failed", "the job was not started").at(r.address).because(&endError{state.LaunchFailed}))
		}
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
		if err := r.connect(); err == nil {
			r.markRetrieved()
		}
		return r.endPod()
	}
	return r.running()
}

// unreachable sorts out why a pod cannot be connected to.
func (r *runner) unreachable(err error) RunOutcome {
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

// orphaned is a run whose pod the state knows to be gone although the run was
// not written down as ended.
func (r *runner) orphaned() RunOutcome {
	if !r.run.Phase.Ended() {
		r.finish(state.Failed, state.Lost, "its pod is gone"+r.savedWords())
	}
	r.tidy()
	return r.done(nil)
}

// again gives up a run whose job never started, and begins a new one.
func (r *runner) again(step *plan.Step, offers []plan.Offer, why string) RunOutcome {
	r.phase("ending", "run %s is given up: %s", r.run.ID, why)
	if err := r.remove("requested", "client"); err != nil {
		return r.failed(err)
	}
	r.finish(state.Failed, state.Interrupted, "given up before its job started: "+why)
	r.tidy()
	if r.spec == nil {
		return r.done(nil)
	}
	next, err := r.s.runner(r.address, r.provider, r.spec, r.claim)
	if err != nil {
		return r.failed(err)
	}
	next.diskUSD = r.diskUSD
	return next.fromStart(step, offers)
}

// connect finds the pod's address and opens a connection to it.
func (r *runner) connect() error {
	if r.signer == nil {
		if err := r.takeKey(); err != nil {
			return r.notOurKey()
		}
	}
	ctx, cancel := r.s.breakable()
	defer cancel()
	pod, err := r.rented.Provider.GetPod(ctx, r.run.Pod.ID)
	switch {
	case providers.Is(err, providers.NotFound):
		gone, gerr := r.goneWith(ctx, r.run.Pod.ID, r.run.Pod.CreatedAt, r.s.sleep)
		switch {
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
	r.machine, r.endpoint = machine, pod.SSH
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
