package apply

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/overbrainer/overbrainer/internal/money"
	"github.com/overbrainer/overbrainer/state"
)

// cutOff ends a run whose bound has passed without its pod's guard acting.
func (r *runner) cutOff(reason state.Reason, why string) RunOutcome {
	r.copyPodLogs()
	r.closeMachine()
	message := r.limitMessage(reason)
	err := r.remove(why, "client")
	r.finish(state.Failed, reason, message+r.savedWords())
	if err == nil {
		r.tidy()
	}
	return r.done(err)
}

// vanished ends a run whose pod is proven gone, by the bound that had passed.
func (r *runner) vanished() RunOutcome {
	now := r.now()
	_, said := r.guardSaid()
	grace := spanWords(r.run.Bounds.RetrieveGrace)
	by, reason, message := "unknown", state.Lost, fmt.Sprintf("pod %s is gone and nobody here deleted it: somebody else did, or the job had ended and its own guard ended it, after retrieve_grace = %s without anybody who fetched the results", podID(r.run), grace)
	switch limit := r.limitPassed(now); {
	case limit == "cost" || said == "cost_cap":
		by, reason, message = "watchdog", state.CostCap, r.limitMessage(state.CostCap)
	case limit == "time" || said == "deadline":
		by, reason, message = "watchdog", state.TimeLimit, r.limitMessage(state.TimeLimit)
	case said == "abandoned":
		by, message = "watchdog", fmt.Sprintf("pod %s ended itself: its job had ended, and the results waited longer than retrieve_grace = %s", podID(r.run), grace)
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
	until := r.unseenEnd()
	r.closeMachine()
	r.stopLogs()
	err := r.recordGone(by, until)
	r.finishAt(r.jobEndBefore(until), state.Failed, reason, message+r.savedWords())
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
	r.finishAt(r.jobEndBefore(r.unseenEnd()), state.Failed, reason, message+r.savedWords())
	if err == nil {
		r.tidy()
	}
	return r.done(err)
}

// jobEndBefore is when the job of a pod has ended at the latest that ended then.
func (r *runner) jobEndBefore(podEnd time.Time) time.Time {
	if last := lastJobEnd(r.run, r.t); !last.IsZero() && last.Before(podEnd) {
		return last
	}
	return podEnd
}

// savedWords says what of the run is here.
func (r *runner) savedWords() string {
	text := "; nothing of its log is here"
	if log, err := os.Stat(filepath.Join(r.dir(), jobLog)); err == nil && log.Size() > 0 {
		text = fmt.Sprintf("; its log and metrics until then are in %s", r.run.Dir)
	}
	if s := r.run.Snapshot; s != nil && s.Local {
		text += fmt.Sprintf(", and the checkpoint of step %d", s.Step)
	}
	if r.fetchedEarly {
		text += ", with what it had written until shortly before"
	}
	return text + fmt.Sprintf("; it cost about %s", money.USD(r.run.SpentUSD(r.now())))
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
		r.s.say(fmt.Sprintf("pod %s waits until %s for the results of %s, %s; overbrainer apply goes on with them", r.run.Pod.ID, e.Add(grace).Local().Format(clock), r.address, podHour(r.run.Pod)))
	}
	r.ended(out)
	r.closeMachine()
	r.stopLogs()
	return out
}

// detached leaves a job that goes on.
func (r *runner) detached(interrupted bool) RunOutcome {
	text := r.whereItRuns()
	if r.run.Phase.Ended() && r.run.Pod != nil {
		text = fmt.Sprintf("%s has ended (%s) and its results wait on pod %s, %s, for %s after the end; fetch them: overbrainer apply",
			r.address, r.run.Phase, r.run.Pod.ID, podHour(r.run.Pod), spanWords(r.run.Bounds.RetrieveGrace))
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
