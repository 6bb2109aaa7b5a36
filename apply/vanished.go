package apply

import (
	"fmt"
	"strings"
	"time"

	"github.com/overbrainer/overbrainer/state"
)

// mayMiss is for how many looks of its guard a pod may go unseen and its end still
// counts as seen, where it is known who ended it.
const mayMiss = 3

// byUnknown is who ended a pod of which nobody knows that.
const byUnknown = "unknown"

// goneBy is how a pod came to its end that nobody here deleted. What its guard
// said, and a bound that passed as it was last seen alive, are known; everything
// else is told as what it is: a guess.
type goneBy struct {
	by      string
	reason  state.Reason
	message string
}

// vanished ends a run whose pod is proven gone.
func (r *runner) vanished() RunOutcome {
	_, said := r.guardSaid()
	g := r.jobsPod(said)
	if r.run.Phase.Ended() { // its job had ended, its results were not fetched
		g = r.resultsPod(said)
	}
	until := r.unseenEnd()
	r.closeMachine()
	r.stopLogs()
	err := r.recordGone(g.by, until, false)
	r.finishAt(r.jobEndBefore(until), state.Failed, g.reason, g.message+r.savedWords())
	if err == nil {
		r.tidy()
	}
	return r.done(err)
}

// jobsPod tells of a pod whose job was not known to have ended.
func (r *runner) jobsPod(said string) goneBy {
	id, grace := podID(r.run), spanWords(r.run.Bounds.RetrieveGrace)
	limit, at := r.limitPassed(r.now())
	switch said {
	case "cost_cap":
		return goneBy{"watchdog", state.CostCap, r.limitMessage(state.CostCap)}
	case "deadline":
		return goneBy{"watchdog", state.TimeLimit, r.limitMessage(state.TimeLimit)}
	case "abandoned":
		return goneBy{"watchdog", state.Lost, fmt.Sprintf("pod %s ended itself: its job had ended, and the results waited longer than retrieve_grace = %s", id, grace)}
	case "":
	default:
		return goneBy{"watchdog", state.Lost, fmt.Sprintf("pod %s ended itself (%s)", id, said)}
	}
	reason := map[string]state.Reason{"cost": state.CostCap, "time": state.TimeLimit}[limit]
	// A job that was seen to run a moment ago has not waited for its grace since.
	abandoned := ""
	if r.unseenFor() >= r.t.Seconds(r.run.Bounds.RetrieveGrace) {
		abandoned = fmt.Sprintf(", or its job had ended before and its guard ended it after retrieve_grace = %s", grace)
	}
	switch {
	case reason != "" && !r.lastSeen.IsZero() && at.Sub(r.lastSeen) < mayMiss*r.t.GuardInterval:
		return goneBy{"watchdog", reason, r.limitMessage(reason)}
	case reason != "":
		// The bound counts, so that nothing more is spent unasked.
		bound := strings.TrimPrefix(r.limitMessage(reason), "ended by its ")
		return goneBy{byUnknown, reason, fmt.Sprintf("pod %s is gone and nobody here saw how it ended: when it was looked for it was past its %s%s, or somebody else deleted it", id, bound, abandoned)}
	}
	return goneBy{byUnknown, state.Lost, fmt.Sprintf("pod %s is gone and nobody here deleted it: the provider or somebody else did%s", id, abandoned)}
}

// resultsPod tells of a pod that went with the results of a job that had ended.
func (r *runner) resultsPod(said string) goneBy {
	run := r.run
	g := goneBy{by: byUnknown, reason: run.Reason, message: run.Message}
	if g.message != "" {
		g.message += "; "
	}
	limit, _ := r.limitPassed(r.now())
	switch {
	case said != "":
		g.by = "watchdog"
		g.message += "the pod ended itself (" + said + ") before the results were fetched"
	case !r.now().Before(r.graceEnd()):
		g.message += fmt.Sprintf("the pod is gone, as it is once the results have waited for retrieve_grace = %s", spanWords(run.Bounds.RetrieveGrace))
	case limit != "":
		reason := map[string]state.Reason{"cost": state.CostCap, "time": state.TimeLimit}[limit]
		g.message += "the pod is gone before the results were fetched, past its " + strings.TrimPrefix(r.limitMessage(reason), "ended by its ")
	default:
		g.message += "the pod is gone before the results were fetched, and nobody here deleted it: the provider or somebody else did"
	}
	if run.Phase == state.Succeeded {
		g.reason = state.Lost
	}
	return g
}

// unseenFor is how long the pod was not seen alive: since it was made, where
// this command never saw it.
func (r *runner) unseenFor() time.Duration {
	seen := r.lastSeen
	if seen.IsZero() && r.run.Pod != nil {
		seen = r.run.Pod.CreatedAt
	}
	return r.now().Sub(seen)
}
