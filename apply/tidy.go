package apply

import (
	"errors"
	"time"

	"github.com/overbrainer/overbrainer/state"
)

// finish writes down how a run ended, now.
func (r *runner) finish(phase state.Phase, reason state.Reason, message string) {
	r.finishAt(r.now(), phase, reason, message)
}

// finishAt is finish for a run that ended earlier.
func (r *runner) finishAt(at time.Time, phase state.Phase, reason state.Reason, message string) {
	_ = r.save(func(_ *state.State, run *state.Run) {
		run.Phase, run.Reason, run.Message = phase, reason, r.s.Redactor.String(message)
		if run.EndedAt == nil {
			run.EndedAt = &at
			run.EndUnseen = r.unseen != "" && run.StartedAt != nil
		}
		run.Seconds = r.took(run)
	})
}

// tidy removes everything else of a run whose pod is gone: other pods, account
// secrets, keys. What cannot be removed stays in the state.
func (r *runner) tidy() {
	r.stopLogs()
	if r.unclaimed || r.s.isBroken() {
		return
	}
	known := r.sweepOthers(r.s.steady())
	if !known || r.mayExist() {
		return
	}
	if err := r.dropSecrets(); err != nil {
		r.warnf("%v; the next apply or destroy removes it", err)
		return
	}
	if err := r.s.Keys.Forget(r.dir()); err != nil {
		r.warnf("the run's key was not removed: %v", err)
	}
	_, _ = r.s.updateOnly(func(st *state.State) error {
		if r.claim != nil && !st.Holds(r.claim.id, r.address) {
			return state.ErrNoChange
		}
		st.Prune(r.address)
		return nil
	}, r.address)
	r.s.crew.fallen()
}

// mayExist reports whether a pod of the run may exist.
func (r *runner) mayExist() bool {
	return r.run.Pod != nil && !r.run.Pod.Gone() || len(r.run.Strays) > 0 || r.unfinished()
}

// done is the outcome of a run that has ended, with the error of ending it.
func (r *runner) done(err error) RunOutcome {
	if errors.Is(err, errClaimLost) {
		return r.failed(err)
	}
	r.saveResult(nil)
	out := r.outcome()
	if err != nil {
		out.Err = err
		out.Class = Failure
	}
	r.ended(out)
	return out
}

// ended tells that a run has ended.
func (r *runner) ended(out RunOutcome) {
	r.s.forgetRunning(r.address)
	if out.Waits {
		out.Dir = "" // the results are not there
	}
	r.emit(Event{Kind: EventEnded, Phase: "done", State: out.State, Reason: out.Reason, ExitCode: out.ExitCode, Dir: out.Dir, Seconds: out.Seconds, Unseen: out.Unseen, Message: out.Message})
}

// outcome is the run as the state has it.
func (r *runner) outcome() RunOutcome {
	run := r.run
	out := RunOutcome{
		Address: r.address, RunID: run.ID, PodID: run.PodID, State: string(run.Phase), Reason: string(run.Reason),
		Message: run.Message, ExitCode: run.ExitCode, Dir: run.Dir, GPUType: run.GPUType,
		CostUSD: round4(r.run.SpentUSD(r.now())), Seconds: r.seconds(), Retrieved: run.Retrieved, Waits: run.Waits(), Class: classOfRun(run),
		Elsewhere: Elsewhere(r.s.Project, run),
	}
	if pod := run.Pod; out.PodID == "" && pod != nil { // the run has one once its job was started
		out.PodID, out.GPUType = pod.ID, pod.GPUType
	}
	out.Unknown, out.Unseen = run.Unanswered(), run.EndUnseen
	out.Removed = out.Elsewhere == r.s.Who.Name()
	if run.Phase == state.Failed {
		out.Tail = lastLines(r.dir(), 20)
	}
	return out
}

// failed is the outcome of a run that could not be worked on; it stays as it
// is.
func (r *runner) failed(err error) RunOutcome {
	r.closeMachine()
	r.stopLogs()
	out := r.outcome()
	out.Err, out.Class = err, ClassOf(err)
	if !errors.Is(err, errClaimLost) { // see orLookOn
		r.emit(Event{Kind: EventFailed, Message: err.Error()})
	}
	return out
}

// say keeps a message for the end of the command.
func (s *session) say(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outcome.Messages = append(s.outcome.Messages, s.Redactor.String(text))
}
