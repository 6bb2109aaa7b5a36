package apply

import (
	"context"
	"errors"
	"fmt"

	"github.com/overbrainer/overbrainer/plan"
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
	if e.doubt {
		r.inDoubtOf(e.message)
	}
	r.noteEnding(e, w.last)
	if w.wiped {
		return r.wiped(e)
	}
	return r.wrapUp(e)
}

// ending reads the proof, if the job left one, and tells how the job ended.
func (r *runner) ending(w watched) ending {
	f := facts{state: w.last.State, exit: w.last.Exit, asked: w.asked, metrics: len(r.run.Metrics), ignored: w.ignored}
	if r.run.Job.SnapshotPath != "" && w.last.Proof && r.machine != nil {
		var snap state.Snapshot
		var found bool
		err := r.onPod(r.t.Call, func(ctx context.Context, m Machine) (err error) {
			if snap, found, err = m.Proof(ctx, r.run.Job.SnapshotPath); errors.Is(err, ErrBadProof) {
				f.bad, err = err, nil
			}
			return err
		})
		if err == nil && found && f.bad == nil {
			f.proof = &snap
		}
	}
	e := judge(f, r.run.Job)
	switch {
	case w.wiped:
		e.message = r.anewWords(", and its job is gone")
	case e.reason == state.Lost && r.restartedSince(r.run.StartedAt):
		e.message = fmt.Sprintf("the container of pod %s was restarted, which ended the job", podID(r.run))
	}
	if e.reason == state.ExitCode {
		e.message += r.fullWords(w.last)
	}
	if text := r.limitMessage(e.reason); text != "" {
		if e.snapshot != nil {
			e.message = fmt.Sprintf("stopped at step %d: %s", e.snapshot.Step, text)
		} else {
			e.message = text
		}
	}
	return e
}

// inDoubtOf says of a run that counts as a success why it may not be one.
func (r *runner) inDoubtOf(message string) {
	r.warnf("%s", message)
	r.s.say(r.address + ": " + message)
}

// noteEnding writes down that the job has ended, before its results are
// fetched: whoever comes after a crash goes on with them.
func (r *runner) noteEnding(e ending, p Poll) {
	at := r.now()
	if !p.EndedAt.IsZero() && p.EndedAt.Before(at) && r.run.StartedAt != nil && p.EndedAt.After(*r.run.StartedAt) {
		at = p.EndedAt.UTC()
	} else if p.EndedAt.IsZero() {
		at = r.jobEndBefore(at) // whoever looks late has not seen it run until now
	}
	_ = r.save(func(st *state.State, run *state.Run) {
		run.Phase, run.Reason, run.Message, run.ExitCode = e.phase, e.reason, e.message, e.exit
		if run.EndedAt == nil {
			run.EndedAt = &at
			run.Seconds = r.took(run)
		}
		if run.Pod != nil {
			if e.reason == state.DiskFull {
				run.FullVolumeGB = st.VolumeGB(run.Pod.VolumeID)
			}
			run.Pod.State = state.PodAwaiting
			if k := run.Bounds.KeepPodS; k > 0 {
				until := at.Add(r.t.Seconds(k))
				run.Pod.KeptUntil = &until
			}
		}
	})
	if r.run.Pod != nil {
		r.noteOnPod() // the command may end suddenly before the results are here
	}
}

// wrapUp fetches the results of an ended job, verifies them and ends its pod.
func (r *runner) wrapUp(e ending) RunOutcome {
	if r.run.Bounds.KeepPodS == 0 {
		r.beginDrain() // most results are here before a log's end shows
	}
	got, err := r.collect(e)
	if errors.Is(err, errInterrupted) {
		return r.detached(true)
	}
	if errors.Is(err, ErrNoJob) {
		return r.wiped(e.without(r.anewWords(" before its results were fetched, and they are gone")))
	}
	var ended *Error
	if errors.As(err, &ended) && (ended.Code == "pod_gone" || ended.Code == "pod_stopped") {
		if ended.Code == "pod_stopped" {
			return r.takenAway(err)
		}
		return r.vanished()
	}
	if errors.Is(err, errClaimLost) {
		return r.failed(err)
	}
	if err != nil {
		return r.notRetrieved(e, err)
	}
	if got.missed != "" {
		e.phase, e.reason, e.message = state.Failed, got.reason, got.missed
		r.noteEnding(e, Poll{})
		_ = r.settleResults(e, got)
		return r.awaiting(fmt.Errorf("%s", e.message))
	}
	r.settleSaved(got)
	if err := r.settleResults(e, got); err != nil {
		return r.failed(err)
	}
	return r.endPod()
}

// endPod ends the pod of a run whose results are here: it is kept where the
// run says so, else deleted with everything else of the run.
func (r *runner) endPod() RunOutcome {
	keep := r.run.Bounds.KeepPodS
	// On a volume the guard is told by the run's directory going away: told
	// before that, it might end the pod first.
	byRemoval := keep == 0 && r.run.Pod.VolumeID != ""
	if keep == 0 {
		r.beginDrain()
	}
	if !byRemoval {
		r.markRetrieved()
	}
	r.copyPodLogs()
	if keep != 0 {
		return r.keepPod(keep)
	}
	if byRemoval && r.machine != nil {
		remove := func(ctx context.Context, m Machine) error { return m.RemoveRunDir(ctx) }
		if err := r.onPod(2*r.t.Call, remove); err != nil {
			r.warnf("the run's directory stays on the volume: %v", err)
			r.markRetrieved()
		}
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
	text := fmt.Sprintf("pod %s is kept, %s, %s", r.run.Pod.ID, podHour(r.run.Pod), r.keptWords())
	if seconds > 0 {
		if u := r.run.Pod.KeptUntil; u != nil {
			text = fmt.Sprintf("pod %s is kept until %s, %s", r.run.Pod.ID, u.Local().Format(clock), podHour(r.run.Pod))
		}
	}
	text += fmt.Sprintf("; overbrainer run ssh %s, overbrainer pod rm %s", plan.ShellWord(r.address), r.run.ID)
	r.emit(Event{Kind: EventKept, Message: text})
	r.stays("kept", "it is kept", "overbrainer pod rm "+r.run.ID)
	r.s.say(text)
	r.closeMachine()
	r.stopLogs()
	return r.done(nil)
}
