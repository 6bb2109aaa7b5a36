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
	// broken says why a checkpoint cannot be used, "" where it can; nil: not
	// looked at.
	broken func(*state.Checkpoint) string
}

// decision is what to do and why.
type decision struct {
	action Action
	reason string
	try    int
	// resume is the checkpoint that is used, nil if none is.
	resume *state.Checkpoint
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
	case !cur.Retrieved && cur.Pod != nil && !cur.Pod.Gone() && !cur.BeingDeleted() && !s.lost:
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
		return s.podLost("is not in the account any more")
	case cur.BeingDeleted():
		return s.podLost("is being deleted")
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

// podLost is for a run that was alive when it was last seen and whose pod is lost to
// it: first it is written down how it ended, and then it is treated as any run that
// ended so.
func (s situation) podLost(how string) decision {
	cur := s.cur
	what := "its pod " + cur.Pod.ID + " " + how
	over := *cur
	over.Phase, over.Reason = cur.DeletedEnd()
	if s.limit != "" && cur.Phase != state.Preparing && over.Reason == state.Lost {
		over.Reason = s.limit
		over.CostUSD++ // its pod has cost something
	}
	after := s
	after.cur = &over
	if cur.Phase == state.Preparing { // its job never ran: it gets another pod
		after.rerun = ""
	}
	d := after.ended()
	switch {
	case d.action == Hold:
		return decision{action: Attach, try: cur.Try, reason: what + ": apply writes down how it ended and what it cost; after that it is held: " + d.reason}
	case s.replaced:
		d = after.replace()
	}
	d.reason = what + "; " + strings.TrimPrefix(d.reason, outcome(&over)+"; ")
	return d
}

// replace is for an ended run that is to run again by the user's wish. One that
// is held goes on from its checkpoint: nothing else starts it again. One that
// would go on by itself begins without.
func (s situation) replace() decision {
	d := decision{action: Rerun, try: s.nextTry(), reason: "asked for by -replace"}
	point, problem := s.point()
	switch {
	case point == nil || problem != "":
		d.reason += s.unused()
	case s.stuck() && !s.done():
		d.reason += fmt.Sprintf("; begins without %s: %s", s.pointWords(point), s.vainWords())
	case s.ended().action == Hold:
		d.action, d.resume = Resume, point
		d.reason += "; goes on from " + s.pointWords(point)
	case !s.done():
		d.reason += "; begins without " + s.pointWords(point) + ", which apply goes on from without -replace"
	}
	return d
}

// ended is for an ended run of which nothing is left to collect.
func (s situation) ended() decision {
	cur := s.cur
	hold := func(reason string) decision { return decision{action: Hold, reason: reason, try: cur.Try} }
	if s.differs() {
		switch {
		case s.rerun == rerunManual:
			return hold("changed (" + s.why() + "), and lifecycle.rerun is manual; to run it again use -replace")
		case cur.Phase == state.Succeeded:
			return decision{action: Rerun, reason: s.why(), try: 1}
		}
		return decision{action: Rerun, reason: outcome(cur) + " before, and changed: " + s.why() + s.unused(), try: 1}
	}
	point, problem := s.point()
	switch {
	case s.done():
		return decision{action: NoOp, reason: "succeeded, nothing changed", try: cur.Try}
	case limited(cur):
		return hold(fmt.Sprintf("ended by a limit (%s)%s, or change it", outcome(cur), s.again()))
	case cur.Phase != state.Succeeded && s.rerun == rerunManual:
		return hold(outcome(cur) + ", and lifecycle.rerun is manual" + s.again())
	case cur.Phase == state.Cancelled && cur.Reason != state.Interrupted && cur.Reason != state.Destroyed:
		return hold("was cancelled" + s.again() + ", or change it")
	case s.stillFull():
		return hold(fmt.Sprintf("its volume of %d GB was full, and is no larger; raise size_gb or max_volume_gb, or remove files from it and go on with -replace", cur.FullVolumeGB))
	case cur.Phase == state.Stopped && point == nil:
		return hold("was stopped without a snapshot" + s.again() + ", or change it")
	case cur.Phase != state.Succeeded && s.rerun == rerunOnChange && (point == nil || !wentAway(cur)):
		return hold(outcome(cur) + ", and lifecycle.rerun is on_change" + s.again() + ", or change it")
	case point != nil && problem != "":
		return hold(fmt.Sprintf("%s; would go on from %s, and cannot: %s; put it back, or begin without it by -replace", outcome(cur), s.pointWords(point), problem))
	}
	what, try := outcome(cur), fmt.Sprintf("; try %d", s.nextTry())
	if cur.Phase == state.Succeeded {
		what, try = "succeeded, but its results were never brought home and its pod is gone", ""
	}
	if point == nil {
		return decision{action: Rerun, reason: what + anew(cur) + s.doubtWords() + try, try: s.nextTry()}
	}
	if cur.Phase == state.Stopped {
		try = ""
	}
	return decision{action: Resume, reason: what + "; goes on from " + s.pointWords(point) + s.afterVain() + s.doubtWords() + try, try: s.nextTry(), resume: point}
}

// anew says what is lost of a job whose pod went away: all of it where no
// snapshot of it is here.
func anew(cur *state.Run) string {
	if cur.Phase == state.Succeeded || cur.StartedAt == nil || cur.Reason != state.TakenAway && cur.Reason != state.Lost {
		return ""
	}
	return "; no snapshot of it is here, so the job begins anew"
}

// again says how a run that is held runs again.
func (s situation) again() string {
	point, problem := s.point()
	if problem == "" && s.stuck() {
		problem = s.vainWords()
	}
	switch {
	case point == nil:
		return s.doubtWords() + "; to run it again use -replace"
	case problem != "":
		return s.doubtWords() + fmt.Sprintf("; to run it again use -replace, which begins without %s: %s", s.pointWords(point), problem)
	}
	return s.doubtWords() + "; -replace goes on from " + s.pointWords(point) + s.afterVain()
}

// stuck reports whether the run went on from a checkpoint in vain, and there is
// no other one.
func (s situation) stuck() bool { return s.cur.InVain() && s.cur.Previous == nil }

func (s situation) vainWords() string {
	return fmt.Sprintf("run %s started from it and failed before it came any further", s.cur.ID)
}

// afterVain says of a run that went on from a checkpoint in vain what that means
// for the next one.
func (s situation) afterVain() string {
	switch {
	case s.stuck():
		return fmt.Sprintf(" once more, although %s: no earlier one is kept to go back to; -replace begins anew", s.vainWords())
	case s.cur.InVain():
		return fmt.Sprintf(", as that of step %d of run %s was tried: %s", s.cur.From.Step, s.cur.From.RunID, s.vainWords())
	}
	return ""
}

// doubtWords names a checkpoint that is here, newer than what is gone on from, and
// not known to be whole.
func (s situation) doubtWords() string {
	c := s.cur.Doubtful()
	if c == nil || s.done() || s.differs() || s.broken != nil && s.broken(c) != "" {
		return ""
	}
	return fmt.Sprintf("; the newest checkpoint, of step %d, in %s, is not known to be whole and is not used: overbrainer run accept says that it is", c.Step, c.Dir)
}

// point is the checkpoint that the run goes on from, nil where there is none or
// its inputs are others now; problem says why it cannot be used.
func (s situation) point() (point *state.Checkpoint, problem string) {
	if s.differs() {
		return nil, ""
	}
	if point = s.cur.Checkpoint(); point != nil && s.broken != nil {
		problem = s.broken(point)
	}
	return point, problem
}

// unused says of a checkpoint that a new run begins without, and why.
func (s situation) unused() string {
	point := s.cur.Checkpoint()
	if point == nil || s.done() {
		return ""
	}
	if s.differs() {
		return fmt.Sprintf("; %s is not used, as it is from before that; overbrainer run accept says that it still fits", s.pointWords(point))
	}
	_, problem := s.point()
	return fmt.Sprintf("; begins without %s: %s", s.pointWords(point), problem)
}

// done reports whether the run succeeded and its results came home.
func (s situation) done() bool { return s.cur.Phase == state.Succeeded && s.cur.Retrieved }

// wentAway reports whether a run ended through no fault of its job.
func wentAway(cur *state.Run) bool {
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
		return "it depends on " + List(s.waitsFor, maxNamed) + ", so its inputs are not known yet"
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

// pointWords names a checkpoint, and what is lost where it is the run's own.
func (s situation) pointWords(point *state.Checkpoint) string {
	text := fmt.Sprintf("the snapshot of step %d of run %s", point.Step, point.RunID)
	if point.At.IsZero() {
		return text
	}
	text += ", taken " + point.At.UTC().Format("2006-01-02 15:04:05") + " UTC"
	if end := s.cur.EndedAt; end != nil && end.After(point.At) && point.RunID == s.cur.ID {
		text += fmt.Sprintf(" (%s before the end, which is lost)", s.cur.Pod.Nominal(end.Sub(point.At)).Round(1e9))
	}
	return text
}
