package apply

import (
	"errors"
	"fmt"
	"time"

	"github.com/overbrainer/overbrainer/state"
)

// settle acts on the result of following: it brings home what has ended, ends
// the pod, and writes down how the run ended. It is not broken off by an
// interrupt, except in a transfer, which goes on later from where it was.
func (r *runner) settle(w watched) RunOutcome {
	switch w.end {
	case leftAlone:
		return r.detached(true)
	case takenOver:
		return r.failed(errClaimLost)
	case cannotGoOn:
		return r.failed(w.err)
	case timeUp:
		return r.cutOff(state.TimeLimit, "deadline")
	case moneyUp:
		return r.cutOff(state.CostCap, "cost cap")
	case podGone:
		return r.vanished()
	case podDead:
		return r.takenAway(w.err)
	case jobEnded:
	}
	e := r.ending(w)
	r.noteEnding(e, w.last)
	return r.wrapUp(e)
}

// ending reads the proof, if the job left one, and tells how the job ended.
func (r *runner) ending(w watched) ending {
	f := facts{state: w.last.State, exit: w.last.Exit, asked: w.asked, metrics: len(r.run.Metrics)}
	if r.run.Job.SnapshotPath != "" && w.last.Proof && r.machine != nil {
		ctx, cancel := r.s.effect(r.t.Call)
		snap, found, err := r.machine.Proof(ctx, r.run.Job.SnapshotPath)
		cancel()
		switch {
		case errors.Is(err, ErrBadProof):
			f.bad = true
		case err == nil && found:
			f.proof = &snap
		}
	}
	e := judge(f, r.run.Job)
	if text := r.limitMessage(e.reason); text != "" {
		if e.snapshot != nil {
			e.message = fmt.Sprintf("stopped at step %d: %s", e.snapshot.Step, text)
		} else {
			e.message = text
		}
	}
	return e
}

// noteEnding writes down that the job has ended, before its results are
// fetched: whoever comes after a crash goes on with them.
func (r *runner) noteEnding(e ending, p Poll) {
	at := r.now()
	if !p.EndedAt.IsZero() && p.EndedAt.Before(at) && r.run.StartedAt != nil && p.EndedAt.After(*r.run.StartedAt) {
		at = p.EndedAt.UTC()
	}
	_ = r.save(func(_ *state.State, run *state.Run) {
		run.Phase, run.Reason, run.Message, run.ExitCode = e.phase, e.reason, e.message, e.exit
		if run.EndedAt == nil {
			run.EndedAt = &at
		}
		if run.Pod != nil {
			run.Pod.State = state.PodAwaiting
			if k := run.Bounds.KeepPodS; k > 0 {
				until := at.Add(r.t.Seconds(k))
				run.Pod.KeptUntil = &until
			}
		}
	})
}

// wrapUp fetches the results of an ended job, verifies them and ends its pod.
func (r *runner) wrapUp(e ending) RunOutcome {
	got, err := r.collect(e)
	if errors.Is(err, errInterrupted) {
		return r.detached(true)
	}
	var ended *Error
	if errors.As(err, &ended) && (ended.Code == "pod_gone" || ended.Code == "pod_stopped") {
		if ended.Code == "pod_stopped" {
			return r.takenAway(err)
		}
		return r.vanished()
	}
	if err != nil {
		return r.notRetrieved(e, err)
	}
	if got.missed {
		e.phase, e.reason = state.Failed, state.NoOutputs
		e.message = missedWords(r.run.Job.Outputs, got.others)
		r.noteEnding(e, Poll{})
		_ = r.settleResults(e, got)
		return r.awaiting(fmt.Errorf("%s", e.message))
	}
	if err := r.settleResults(e, got); err != nil {
		return r.failed(err)
	}
	return r.endPod()
}

// endPod ends the pod of a run whose results are here: it is kept where the
// run says so, else deleted with everything else of the run.
func (r *runner) endPod() RunOutcome {
	r.copyPodLogs()
	if keep := r.run.Bounds.KeepPodS; keep != 0 {
		return r.keepPod(keep)
	}
	if r.machine != nil && r.run.Pod.VolumeID != "" {
		ctx, cancel := r.s.effect(2 * r.t.Call)
		if err := r.machine.RemoveRunDir(ctx); err != nil {
			r.warnf("the run's directory stays on the volume: %v", err)
		}
		cancel()
	}
	r.closeMachine()
	if err := r.remove("retrieved", "client"); err != nil {
		return r.done(err)
	}
	r.tidy()
	return r.done(nil)
}

func (r *runner) keepPod(seconds int) RunOutcome {
	_ = r.savePodState(state.PodKept)
	text := fmt.Sprintf("pod %s is kept, %s, until it is destroyed", r.run.Pod.ID, anHour(hourly(r.run.Pod)))
	if seconds > 0 {
		if u := r.run.Pod.KeptUntil; u != nil {
			text = fmt.Sprintf("pod %s is kept until %s, %s", r.run.Pod.ID, u.Local().Format("2006-01-02 15:04:05"), anHour(hourly(r.run.Pod)))
		}
	}
	text += fmt.Sprintf("; overbrainer run ssh %s, overbrainer pod rm %s", shellWord(r.address), r.run.ID)
	r.emit(Event{Kind: EventKept, Message: text})
	r.s.say(text)
	r.closeMachine()
	r.stopLogs()
	return r.done(nil)
}

// cutOff ends a run whose bound has passed without its pod's guard acting.
func (r *runner) cutOff(reason state.Reason, why string) RunOutcome {
	r.copyPodLogs()
	r.closeMachine()
	err := r.remove(why, "client")
	r.finish(state.Failed, reason, r.limitMessage(reason)+r.savedWords())
	if err == nil {
		r.tidy()
	}
	return r.done(err)
}

// vanished ends a run whose pod is proven gone, by the bound that had passed.
func (r *runner) vanished() RunOutcome {
	now := r.now()
	_, said := r.guardSaid()
	by, reason, message := "unknown", state.Lost, fmt.Sprintf("pod %s is gone and nobody here deleted it", podID(r.run))
	switch limit := r.limitPassed(now); {
	case limit == "cost" || said == "cost_cap":
		by, reason, message = "watchdog", state.CostCap, r.limitMessage(state.CostCap)
	case limit == "time" || said == "deadline":
		by, reason, message = "watchdog", state.TimeLimit, r.limitMessage(state.TimeLimit)
	case said != "":
		by, message = "watchdog", fmt.Sprintf("pod %s ended itself (%s)", podID(r.run), said)
	}
	if r.run.Phase.Ended() { // its job had ended, its results were not fetched
		reason, message = r.run.Reason, r.run.Message
		by = "watchdog"
		if message != "" {
			message += "; "
		}
		message += "the pod ended itself before the results were fetched"
		if r.run.Phase == state.Succeeded {
			reason = state.Lost
		}
	}
	until := r.endOf(r.run.Pod, by)
	if by == "unknown" && !r.lastSeen.IsZero() {
		until = r.lastSeen
	}
	r.closeMachine()
	r.stopLogs()
	err := r.recordGone(by, until)
	r.finish(state.Failed, reason, message+r.savedWords())
	if err == nil {
		r.tidy()
	}
	return r.done(err)
}

// takenAway ends a run whose pod the provider has ended; what is left of it
// still costs something and is deleted.
func (r *runner) takenAway(why error) RunOutcome {
	message := fmt.Sprintf("the provider ended pod %s: %v", podID(r.run), why)
	reason := state.TakenAway
	if r.run.Phase.Ended() && r.run.Reason != "" {
		reason = r.run.Reason
		message = r.run.Message + "; " + message + " before the results were fetched"
	} else if limit := r.limitPassed(r.now()); limit == "cost" {
		reason = state.CostCap
	} else if limit == "time" {
		reason = state.TimeLimit
	}
	r.closeMachine()
	err := r.remove("ended by the provider", "client")
	r.finish(state.Failed, reason, message+r.savedWords())
	if err == nil {
		r.tidy()
	}
	return r.done(err)
}

// savedWords says what of the run is here.
func (r *runner) savedWords() string {
	text := fmt.Sprintf("; its log and metrics until then are in %s", r.run.Dir)
	if s := r.run.Snapshot; s != nil && s.Local {
		text += fmt.Sprintf(", and the checkpoint of step %d", s.Step)
	}
	return text + fmt.Sprintf("; it cost about %s", money(r.spentUSD(r.now())))
}

// notRetrieved leaves an ended job's pod for its grace.
func (r *runner) notRetrieved(e ending, err error) RunOutcome {
	if e.phase != state.Succeeded && e.phase != state.Stopped {
		r.warnf("results not retrieved: %v", err)
	}
	return r.awaiting(err)
}

// awaiting reports a run that has ended and whose pod waits.
func (r *runner) awaiting(why error) RunOutcome {
	r.copyPodLogs()
	r.saveResult(nil)
	out := r.outcome()
	if out.Err = why; why != nil {
		out.Message = why.Error()
	}
	if out.Class == OK {
		out.Class = Failure
	}
	grace := r.t.Seconds(r.run.Bounds.RetrieveGrace)
	if e := r.run.EndedAt; e != nil {
		r.s.say(fmt.Sprintf("pod %s waits until %s for the results of %s, %s; overbrainer apply goes on with them", r.run.Pod.ID, e.Add(grace).Local().Format("15:04:05"), r.address, anHour(hourly(r.run.Pod))))
	}
	r.ended(out)
	r.closeMachine()
	r.stopLogs()
	return out
}

// finish writes down how a run ended.
func (r *runner) finish(phase state.Phase, reason state.Reason, message string) {
	at := r.now()
	_ = r.save(func(_ *state.State, run *state.Run) {
		run.Phase, run.Reason, run.Message = phase, reason, r.s.Redactor.String(message)
		if run.EndedAt == nil {
			run.EndedAt = &at
		}
	})
}

// tidy removes everything else of a run whose pod is gone: other pods, account
// secrets, keys. What cannot be removed stays in the state.
func (r *runner) tidy() {
	r.stopLogs()
	if r.unclaimed || r.s.isBroken() {
		return
	}
	known := r.sweepOthers()
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
	_, _ = r.s.update(func(st *state.State) error {
		if r.claim != nil && !st.Holds(r.claim.id, r.address) {
			return state.ErrNoChange
		}
		st.Prune(r.address)
		return nil
	})
}

// mayExist reports whether a pod of the run may exist.
func (r *runner) mayExist() bool {
	return r.run.Pod != nil && !r.run.Pod.Gone() || len(r.run.Strays) > 0 || r.unfinished()
}

// done is the outcome of a run that has ended, with the error of ending it.
func (r *runner) done(err error) RunOutcome {
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
	r.emit(Event{Kind: EventEnded, Phase: "done", State: out.State, Reason: out.Reason, ExitCode: out.ExitCode, Dir: out.Dir, Seconds: out.Seconds, Message: out.Message})
}

// outcome is the run as the state has it.
func (r *runner) outcome() RunOutcome {
	run := r.run
	out := RunOutcome{
		Address: r.address, RunID: run.ID, PodID: run.PodID, State: string(run.Phase), Reason: string(run.Reason),
		Message: run.Message, ExitCode: run.ExitCode, Dir: run.Dir, GPUType: run.GPUType,
		CostUSD: round4(r.spentUSD(r.now())), Seconds: r.seconds(), Retrieved: run.Retrieved, Class: classOfRun(run),
	}
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
	r.emit(Event{Kind: EventFailed, Message: err.Error()})
	return out
}

// detached leaves a job that goes on.
func (r *runner) detached(interrupted bool) RunOutcome {
	text := r.whereItRuns()
	if r.run.Phase.Ended() && r.run.Pod != nil {
		text = fmt.Sprintf("%s has ended (%s) and its results wait on pod %s, %s, for %s after the end; fetch them: overbrainer apply",
			r.address, r.run.Phase, r.run.Pod.ID, anHour(hourly(r.run.Pod)), (time.Duration(r.run.Bounds.RetrieveGrace) * time.Second).String())
	}
	r.closeMachine()
	r.stopLogs()
	out := r.outcome()
	out.Detached, out.Class, out.PodID = true, OK, podID(r.run)
	out.Message = ""
	if interrupted {
		out.Class = Interrupt
	}
	r.s.say(text)
	r.emit(Event{Kind: EventDetached, Message: text})
	return out
}

// say keeps a message for the end of the command.
func (s *session) say(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outcome.Messages = append(s.outcome.Messages, s.Redactor.String(text))
}

// noteRunning keeps what to say of a run should the command end suddenly.
func (s *session) noteRunning(address, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running[address] = s.Redactor.String(text)
}

func (s *session) forgetRunning(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.running, address)
}
