package plan

import (
	"fmt"
	"strings"

	"github.com/overbrainer/overbrainer/state"
)

// Values of lifecycle.rerun.
const (
	rerunOnChange = "on_change"
	rerunManual   = "manual"
)

// situation is what decides about a run.
type situation struct {
	cur *state.Run // the address's current run, nil if there is none
	// fingerprint now; "" while it hangs on runs that have not ended.
	fingerprint string
	waitsFor    []string // those runs and volumes
	changed     []string // named inputs that differ from those of cur
	rerun       string   // lifecycle
	replaced    bool     // asked for by -replace
	lost        bool     // its pod is not in the account any more
	stopped     bool     // its pod is there and will not run again
	// limit is the bound that its pod's guard has met by now; "" if none has.
	limit state.Reason
	// volumeGB is how large the run's network volume may be; 0: it has none.
	volumeGB int
}

// decision is what to do and why.
type decision struct {
	action Action
	reason string
	try    int
	// resume is the run whose snapshot is used, nil if none is.
	resume *state.Run
	// refused says that -replace cannot be done.
	refused bool
}

// decide is the table of when a run runs again.
func decide(s situation) decision {
	cur := s.cur
	switch {
	case cur == nil:
		return decision{action: Run, reason: "not in the state", try: 1}
	case !cur.Phase.Ended():
		return s.alive()
	case s.replaced:
		return s.replace()
	case !cur.Retrieved && cur.Pod != nil && !cur.Pod.Gone() && cur.Pod.State != state.PodDeleting && !s.lost:
		reason := "ended (" + outcome(cur) + "), its results are still on pod " + cur.Pod.ID
		if s.differs() {
			reason += "; runs again after that: " + s.why()
		}
		return decision{action: Collect, reason: reason, try: cur.Try}
	}
	return s.ended()
}

// alive is for a run that is being prepared or runs.
func (s situation) alive() decision {
	cur := s.cur
	d := decision{action: Attach, try: cur.Try, refused: s.replaced}
	switch {
	case s.lost:
		return s.podLost()
	case s.stopped && cur.Phase == state.Running:
		d.reason = "its pod " + cur.Pod.ID + " is stopped: apply deletes it and writes down how the run ended"
		return d
	case cur.Phase == state.Preparing:
		d.reason = "a pod is being made ready for run " + cur.ID
	default:
		d.reason = "run " + cur.ID + " goes on"
	}
	if s.differs() {
		d.reason += "; runs again after it ended: " + s.why()
	}
	return d
}

// podLost is for a run that was alive when it was last seen and whose pod is not
// in the account any more: first it is written down how it ended, and then it is
// treated as any run that ended so.
func (s situation) podLost() decision {
	cur := s.cur
	what := "its pod " + cur.Pod.ID + " is not in the account any more"
	if cur.Phase == state.Preparing { // its job never ran: it gets another pod
		return decision{action: Rerun, try: s.nextTry(), reason: fmt.Sprintf("%s; try %d", what, s.nextTry())}
	}
	over := *cur
	over.Phase, over.Reason = state.Failed, state.Lost
	if s.limit != "" {
		over.Reason = s.limit
		over.CostUSD++ // its pod has cost something
	}
	after := s
	after.cur = &over
	d := after.ended()
	switch {
	case d.action == Hold:
		return decision{action: Attach, try: cur.Try, reason: what + ": apply writes down how it ended and what it cost; after that it is held: " + d.reason}
	case s.replaced:
		return decision{action: Rerun, try: s.nextTry(), reason: what + "; asked for by -replace"}
	}
	if d.resume != nil {
		d.resume = cur
	}
	d.reason = what + "; " + strings.TrimPrefix(d.reason, outcome(&over)+"; ")
	return d
}

// replace is for an ended run that is to run again by the user's wish. What
// ended by a limit and left a snapshot goes on from there: nothing else starts
// it again.
func (s situation) replace() decision {
	if (limited(s.cur) || s.stillFull()) && s.cur.Snapshot != nil && s.fingerprint == s.cur.Fingerprint {
		return decision{action: Resume, try: s.nextTry(), resume: s.cur,
			reason: "asked for by -replace; goes on from " + snapshot(s.cur)}
	}
	return decision{action: Rerun, try: s.nextTry(), reason: "asked for by -replace"}
}

// ended is for an ended run of which nothing is left to collect.
func (s situation) ended() decision {
	cur := s.cur
	hold := func(reason string) decision { return decision{action: Hold, reason: reason, try: cur.Try} }
	const again = "; to run it again use -replace"
	switch {
	case s.differs() && s.rerun == rerunManual:
		return hold("changed (" + s.why() + "), and lifecycle.rerun is manual" + again)
	case cur.Phase == state.Succeeded && s.differs():
		return decision{action: Rerun, reason: s.why(), try: 1}
	case cur.Phase == state.Succeeded && !cur.Retrieved:
		return decision{action: Rerun, try: s.nextTry(), reason: "succeeded, but its results were never brought home and its pod is gone"}
	case cur.Phase == state.Succeeded:
		return decision{action: NoOp, reason: "succeeded, nothing changed", try: cur.Try}
	case s.differs():
		return decision{action: Rerun, reason: outcome(cur) + " before, and changed: " + s.why(), try: 1}
	case limited(cur):
		if cur.Snapshot != nil {
			return hold(fmt.Sprintf("ended by a limit (%s); -replace goes on from %s", outcome(cur), snapshot(cur)))
		}
		return hold(fmt.Sprintf("ended by a limit (%s)%s, or change it", outcome(cur), again))
	case s.rerun == rerunManual:
		return hold(outcome(cur) + ", and lifecycle.rerun is manual" + again)
	case cur.Phase == state.Cancelled && cur.Reason != state.Interrupted && cur.Reason != state.Destroyed:
		return hold("was cancelled" + again + ", or change it")
	case s.stillFull():
		return hold(fmt.Sprintf("its volume of %d GB was full, and is no larger; raise size_gb or max_volume_gb, or remove files from it and go on with -replace", cur.FullVolumeGB))
	case s.resumable():
		return decision{action: Resume, reason: outcome(cur) + "; goes on from " + snapshot(cur), try: s.nextTry(), resume: cur}
	case cur.Phase == state.Stopped:
		return hold("was stopped without a snapshot" + again + ", or change it")
	case s.rerun == rerunOnChange:
		return hold(outcome(cur) + ", and lifecycle.rerun is on_change" + again + ", or change it")
	}
	return decision{action: Rerun, reason: fmt.Sprintf("%s%s; try %d", outcome(cur), anew(cur), s.nextTry()), try: s.nextTry()}
}

// anew says what is lost of a job whose pod went away: all of it where no
// snapshot of it is here.
func anew(cur *state.Run) string {
	if cur.StartedAt == nil || cur.Reason != state.TakenAway && cur.Reason != state.Lost {
		return ""
	}
	return "; no snapshot of it is here, so the job begins anew"
}

// resumable reports whether an ended run goes on from its snapshot: one that
// stopped with it, or one whose pod was taken away while a copy was here.
func (s situation) resumable() bool {
	cur := s.cur
	if cur.Snapshot == nil || !cur.Snapshot.Local && !cur.Retrieved {
		return false
	}
	return cur.Phase == state.Stopped || cur.Reason == state.TakenAway || cur.Reason == state.Lost || cur.Reason == state.DiskFull
}

// stillFull reports whether a run ended because its volume was full, and would
// find one that is no larger.
func (s situation) stillFull() bool {
	return s.cur.FullVolumeGB > 0 && s.volumeGB > 0 && s.volumeGB <= s.cur.FullVolumeGB
}

// limited reports whether a run ended because what was allowed was used up. One
// that never began for want of money used up nothing.
func limited(cur *state.Run) bool {
	if cur.StartedAt == nil && cur.CostUSD == 0 {
		return false
	}
	return cur.Reason == state.TimeLimit || cur.Reason == state.CostCap || cur.Reason == state.StalledOut
}

// differs reports whether the run's inputs are not those of the current run,
// as far as it is known.
func (s situation) differs() bool {
	return s.fingerprint == "" || s.fingerprint != s.cur.Fingerprint
}

func (s situation) why() string {
	switch {
	case len(s.changed) > 0:
		return strings.Join(s.changed, ", ") + " changed"
	case s.fingerprint == "":
		return "it depends on " + strings.Join(s.waitsFor, ", ") + ", so its inputs are not known yet"
	}
	return "its inputs changed"
}

func (s situation) nextTry() int {
	if s.differs() {
		return 1
	}
	return s.cur.Try + 1
}

// outcome says in words how a run ended.
func outcome(run *state.Run) string {
	s := string(run.Phase)
	switch {
	case run.ExitCode != nil && run.Reason == state.ExitCode:
		return fmt.Sprintf("%s with exit code %d", s, *run.ExitCode)
	case run.Reason != state.NoReason && string(run.Reason) != s:
		s += " (" + string(run.Reason) + ")"
	}
	return s
}

func snapshot(run *state.Run) string {
	s := fmt.Sprintf("the snapshot of step %d of run %s", run.Snapshot.Step, run.ID)
	if !run.Snapshot.At.IsZero() {
		s += ", taken " + run.Snapshot.At.UTC().Format("2006-01-02 15:04:05") + " UTC"
		if run.EndedAt != nil && run.EndedAt.After(run.Snapshot.At) {
			s += fmt.Sprintf(" (%s before the end, which is lost)", run.EndedAt.Sub(run.Snapshot.At).Round(1e9))
		}
	}
	return s
}
