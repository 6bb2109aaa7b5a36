package apply

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/overbrainer/overbrainer/plan"
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

// wiped ends a run whose job, or its results, went with the disk of its pod's
// container. Nothing on the pod is worth waiting for.
func (r *runner) wiped(e ending) RunOutcome {
	r.copyPodLogs()
	r.closeMachine()
	err := r.remove("container made anew", "client")
	r.finish(e.phase, e.reason, e.message+r.savedWords())
	if err == nil {
		r.tidy()
	}
	return r.done(err)
}

// anewWords says that the pod has a new container, and what came of that.
func (r *runner) anewWords(what string) string {
	return fmt.Sprintf("the container of pod %s was made anew with an empty disk%s", podID(r.run), what)
}

// takenAway ends a run whose pod the provider has ended; what is left of it
// still costs something and is deleted.
func (r *runner) takenAway(why error) RunOutcome {
	cause := why.Error()
	if e := (*Error)(nil); errors.As(why, &e) {
		cause = e.Message // the address stands before all of it, and the pod is deleted now
	}
	message := fmt.Sprintf("the provider ended pod %s: %s", podID(r.run), cause)
	reason := state.TakenAway
	if r.run.Phase.Ended() && r.run.Reason != "" {
		reason = r.run.Reason
		message = r.run.Message + "; " + message + " before the results were fetched"
	} else if limit, _ := r.limitPassed(r.now()); limit == "cost" {
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

// savedWords says what of the run is here. Its cost and its directory stand beside it
// wherever its end is told: what many runs say alike differs in nothing.
func (r *runner) savedWords() string {
	text := "; nothing of its log is here"
	if log, err := os.Stat(filepath.Join(r.dir(), jobLog)); err == nil && log.Size() > 0 {
		text = "; its log and metrics until then are in its directory"
	}
	if s := r.run.Snapshot; s != nil && s.Local {
		text += fmt.Sprintf(", and the checkpoint of step %d", s.Step)
	}
	if c := r.run.Doubtful(); c != nil {
		text += fmt.Sprintf(", and that of step %d, which is not known to be whole", c.Step)
	}
	if r.fetchedEarly {
		text += ", with what it had written until shortly before"
	}
	if r.unseen != "" {
		text += "; nobody saw the end of its pod, " + r.unseen
	}
	return text
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
	r.noteLateSeen()
	r.saveResult(nil)
	out := r.outcome()
	if out.Err = why; why != nil {
		out.Message = why.Error()
	}
	if out.Class == OK {
		out.Class = Failure
	}
	r.stays("pod", resultsOnIt, "overbrainer apply -target="+plan.ShellWord(r.address))
	grace := r.t.Seconds(r.run.Bounds.RetrieveGrace)
	if e := r.run.EndedAt; e != nil {
		r.s.say(fmt.Sprintf("pod %s waits until %s for the results of %s, %s; overbrainer apply goes on with them", r.run.Pod.ID, e.Add(grace).Local().Format(clock), r.address, podHour(r.run.Pod)))
	}
	r.ended(out)
	r.closeMachine()
	r.stopLogs()
	return out
}

// noteLateSeen writes down when the pod was last heard of, where that is later than
// whoever finds it gone would reckon by its bounds.
func (r *runner) noteLateSeen() {
	r.noteHeard()
	if end, bounded := UnseenEnd(r.run, r.t); !bounded || !r.lastSeen.After(end) {
		return
	}
	at := r.lastSeen
	_ = r.save(func(_ *state.State, run *state.Run) {
		if run.Pod != nil {
			run.Pod.SeenAt = &at
		}
	})
}

// detached leaves a job that goes on.
func (r *runner) detached(interrupted bool) RunOutcome {
	text := r.leave()
	r.closeMachine()
	r.stopLogs()
	out := r.outcome()
	out.Detached, out.Class, out.PodID = true, OK, podID(r.run)
	out.Message = ""
	if interrupted {
		out.Class = Interrupt
	}
	e := Event{Kind: EventDetached, Message: text}
	if out.Waits {
		e.State = out.State
	}
	r.emit(e)
	return out
}
