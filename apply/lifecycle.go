package apply

import (
	"errors"
	"fmt"

	"github.com/overbrainer/overbrainer/plan"
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
	r, out := s.heldStep(step, spec, offers, c)
	return r.orLookOn(out)
}

// heldStep is runStep under a claim. There is no runner where nothing was begun.
func (s *session) heldStep(step *plan.Step, spec *plan.RunSpec, offers []plan.Offer, c *claim) (*runner, RunOutcome) {
	provider := ""
	if spec != nil {
		provider = spec.Provider
	}
	st, err := s.read()
	if err != nil {
		return nil, s.notBegun(step.Address, err)
	}
	current := currentRun(st, step.Address)
	if res := st.Resources[step.Address]; res != nil && provider == "" {
		provider = res.Provider
	}
	r, err := s.runner(step.Address, provider, spec, c)
	if err != nil {
		return nil, s.notBegun(step.Address, err)
	}
	switch {
	case current != nil && (!current.Phase.Ended() || unfetched(current)):
		// Somebody began it, perhaps since the plan was made: go on with it.
		r.load(current)
		if !r.lostNow(step) {
			return r, r.goOn(offers)
		}
		out := r.vanished()
		if out.Err != nil || !step.Begins() || r.run.Reason != state.Lost || r.mayExist() {
			return r, out
		}
		if r, err = s.runner(step.Address, provider, spec, c); err != nil {
			return nil, s.notBegun(step.Address, err)
		}
		return r, r.fromStart(offers)
	case step.Action == plan.Attach || step.Action == plan.Collect:
		if current == nil {
			return nil, s.notBegun(step.Address, failf("stale_plan", "there is no run to go on with").at(step.Address).hint("plan again"))
		}
		r.load(current) // it has ended since the plan was made
		return r, r.done(nil)
	}
	return r, r.fromStart(offers)
}

// lostNow reports whether the pod of a run that was alive is proven gone, where
// the plan says so or nobody would find out otherwise.
func (r *runner) lostNow(step *plan.Step) bool {
	pod := r.run.Pod
	if r.run.Phase != state.Running || pod == nil || pod.Gone() || !step.Begins() && !r.s.detach {
		return false
	}
	gone, err := r.gone(pod.ID, pod.CreatedAt)
	return err == nil && gone
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
	err = addressed(err, address)
	if !errors.Is(err, errInterrupted) { // which is told of all that were not begun
		s.emit(Event{Kind: EventFailed, Address: address, State: StateNotBegun, Message: err.Error()})
	}
	out := RunOutcome{Address: address}
	if ClassOf(err) == Held { // it goes on all the same
		out = s.asNoted(address)
	}
	out.Err, out.Class = err, ClassOf(err)
	return out
}

// asNoted is how the run of an address stands by the state, as far as that tells.
func (s *session) asNoted(address string) RunOutcome {
	out := RunOutcome{Address: address}
	st, err := s.read()
	if err != nil {
		return out
	}
	run := currentRun(st, address)
	if run == nil {
		return out
	}
	r, err := s.runner(address, st.Resources[address].Provider, nil, nil)
	if err != nil {
		return out
	}
	r.unclaimed = true
	r.load(run)
	out = r.outcome()
	if pod := run.Pod; out.PodID == "" && pod != nil && !pod.Gone() {
		out.PodID, out.GPUType = pod.ID, pod.GPUType
	}
	return out
}

// fromStart begins a new run and takes it to its end.
func (r *runner) fromStart(offers []plan.Offer) RunOutcome {
	if r.s.interrupted() {
		return r.s.notBegun(r.address, errInterrupted)
	}
	if err := r.needSecrets(); err != nil {
		return r.s.notBegun(r.address, err)
	}
	if err := r.needCheckpoint(); err != nil {
		return r.s.notBegun(r.address, err)
	}
	if err := r.begin(offers); err != nil {
		if r.run != nil { // it is in the state, and goes no further
			return r.notStarted(err)
		}
		return r.s.notBegun(r.address, err)
	}
	return r.prepared(offers)
}

// prepared takes a run without a pod to its end.
func (r *runner) prepared(offers []plan.Offer) RunOutcome {
	if err := r.needSecrets(); err != nil {
		return r.notStarted(err)
	}
	if err := r.prepareKeys(); err != nil {
		return r.notStarted(err)
	}
	return r.placed(offers)
}

// placed finds a pod for a run whose keys are ready, and takes it to its end.
func (r *runner) placed(offers []plan.Offer) RunOutcome {
	if err := r.needCheckpoint(); err != nil {
		return r.notStarted(err)
	}
	if err := r.place(offers); err != nil {
		return r.notStarted(err)
	}
	return r.ready()
}

// ready starts the job on a pod that is ready, and follows it.
func (r *runner) ready() RunOutcome {
	// A second pod of the run bills while an upload takes its time; without one the
	// job, whose pod bills as well, is not to wait for a list.
	uploads := len(r.spec.Uploads) > 0
	if uploads {
		r.sweepBeside()
	}
	err := r.start()
	var doubt *doubtError
	switch {
	case errors.As(err, &doubt):
		return r.inDoubt(doubt.error)
	case err != nil:
		return r.notStarted(err)
	}
	if !uploads {
		r.sweepBeside()
	}
	return r.running()
}

// running follows a job that runs.
func (r *runner) running() RunOutcome {
	r.noteOnPod()
	if r.run.Bounds.KeepPodS < 0 {
		r.warnf("the pod stays after the job's end %s, %s", r.keptWords(), podHour(r.run.Pod))
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
			out.Message += "; nothing of it is left"
		}
	}
	if out.Class == NothingRentable && r.run.CostUSD > 0 {
		out.Class = Failure
	}
	r.saveResult(nil)
	r.ended(out)
	return out
}
