package apply

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/overbrainer/overbrainer/internal/money"
	"github.com/overbrainer/overbrainer/state"
)

// watchEnd is why following stopped. Following itself deletes nothing.
type watchEnd int

const (
	jobEnded   watchEnd = iota
	timeUp              // max_hours has passed and nobody ended the pod
	moneyUp             // the cost cap has passed and nobody ended the pod
	podGone             // proven absent
	podDead             // the provider ended it
	leftAlone           // the user interrupted: the job goes on
	takenOver           // another process works on the address now
	holderGone          // no process works on the address that is only looked at
	cannotGoOn          // an error that waiting does not mend
)

// watched is the result of following.
type watched struct {
	end     watchEnd
	last    Poll
	asked   state.Reason  // why we ended the job, "" if it ended by itself
	ignored time.Duration // the grace after which we ended a job that did not save itself; 0: we did not
	wiped   bool          // the job is lost with the container's disk
	err     error
}

// follower watches one job.
type follower struct {
	r    *runner
	ctx  context.Context
	tail *tail

	started     time.Time // of this watch
	progressAt  time.Time // the last growth of log or metrics
	lost        time.Time // since when there is no connection; zero: there is
	backoff     time.Duration
	refused     streak    // refusals of our key
	lookedAt    time.Time // at the pod through the provider
	heldAt      time.Time // the last look for who holds the run, while looking on
	turnAt      time.Time // the last turn of the watch
	deadLooks   int
	guard       guard
	snapshots   snapshotWatch
	disk        diskWatch
	checkpoints checkpointWatch
	last        lastFetch
	pace        pace
	observing   bool
}

// follow watches the job until it ends, a bound passes, the pod is gone or the
// user wants to leave.
func (r *runner) follow() watched {
	ctx, cancel := r.s.breakable()
	defer cancel()
	t, err := openTail(r.dir(), r.run.Pod.ID, r.run.Job.Metrics, r.s.Redactor, r.unclaimed)
	if err != nil {
		return watched{end: cannotGoOn, err: failf("local_files", "%v", err).at(r.address).because(err)}
	}
	defer t.close()
	t.shown = r.shown
	now := r.now()
	f := &follower{r: r, ctx: ctx, tail: t, started: now, progressAt: now, lookedAt: now, heldAt: now, backoff: r.t.Reconnect, observing: r.unclaimed}
	r.captureLogs(r.run.Pod.ID)
	w := f.watch()
	cancel()
	f.checkpoints.end(f, w.end != leftAlone)
	f.last.end(f, w.end != leftAlone)
	r.shown = t.next.Log - int64(len(t.pending))
	r.keepMetrics(t)
	return w
}

func (f *follower) watch() watched {
	r := f.r
	for {
		if r.s.interrupted() {
			return watched{end: leftAlone}
		}
		if r.claim != nil {
			f.renewLate()
			select {
			case <-r.claim.lost:
				return watched{end: takenOver}
			default:
			}
		}
		if f.holderLeft() {
			return watched{end: holderGone}
		}
		if w, done := f.look(); done {
			return w
		}
		if w, done := f.bounds(); done {
			return w
		}
		if err := f.rest(); err != nil {
			return watched{end: leftAlone}
		}
	}
}

// renewLate renews the claim at once where the last turn was so long ago that it
// may have passed to somebody else: nothing is written beside them.
func (f *follower) renewLate() {
	now := f.r.s.Now()
	if !f.turnAt.IsZero() && now.Sub(f.turnAt) >= f.r.s.Timing.ClaimTTL {
		f.r.s.claims.renew()
	}
	f.turnAt = now
}

// rest waits until the next look at the job, which comes sooner while it is young:
// its end is then seen late by a fortieth of the time it took.
func (f *follower) rest() error {
	if !f.lost.IsZero() {
		wait := f.backoff
		f.backoff = min(2*f.backoff, f.r.t.ReconnectMax)
		return f.r.s.sleep(min(wait, f.r.t.GuardTick))
	}
	wait := f.r.t.JobPoll
	if began := f.r.run.StartedAt; began != nil {
		wait = min(wait, max(wait/3, f.r.now().Sub(*began)/40))
	}
	return f.r.s.sleep(wait)
}

// look polls the job, over a new connection where the old one is gone.
func (f *follower) look() (watched, bool) {
	r := f.r
	if r.machine == nil {
		if w, done := f.reconnect(); done || r.machine == nil {
			return w, done
		}
	}
	for {
		p, err := f.hear()
		switch {
		case err != nil:
			if f.ctx.Err() == nil {
				f.cut(err)
			}
			return watched{}, false
		case p.State == JobNone && r.run.StartedAt != nil:
			// Its disk is a new one: what it had is gone, what is here stays.
			return watched{end: jobEnded, last: Poll{State: JobLost}, wiped: true}, true
		case p.State == JobNone:
			return watched{end: cannotGoOn, err: failf("no_job", "pod %s has no job of this run", r.run.Pod.ID).at(r.address).id(r.run.Pod.ID)}, true
		case p.More:
			if r.s.interrupted() {
				return watched{end: leftAlone}, true
			}
			// A log that comes faster than it is read holds up nothing else.
			if p.State != JobRunning {
				f.renew(r.now())
				continue
			}
			if w, done := f.between(p); done {
				return w, true
			}
			if r.machine == nil {
				return watched{}, false
			}
			continue
		case p.State != JobRunning:
			f.tail.flush(f.line)
			return watched{end: jobEnded, last: p, asked: f.whyEnded(p), ignored: f.snapshots.ignored}, true
		}
		f.disk.poll(f, p)
		return f.snapshots.poll(f, p)
	}
}

// hear looks at the job, and keeps and tells what is new of its log and metrics.
func (f *follower) hear() (Poll, error) {
	r := f.r
	most := r.s.logs.enter()
	defer r.s.logs.leave()
	ctx, cancel := context.WithTimeout(f.ctx, r.t.Call)
	p, err := r.machine.Poll(ctx, f.tail.next, most)
	cancel()
	if err != nil {
		return p, err
	}
	r.lastSeen = r.now()
	if p.State == JobNone && r.run.StartedAt != nil {
		return p, nil
	}
	if f.tail.take(p, f.line, f.progress) {
		f.progressAt = r.lastSeen
	}
	p.Log, p.Metrics = nil, nil
	return p, nil
}

// between does what a look at a running job and the bounds ask for, while there is
// more of its log to read.
func (f *follower) between(p Poll) (watched, bool) {
	f.disk.poll(f, p)
	if w, done := f.snapshots.poll(f, p); done {
		return w, true
	}
	return f.bounds()
}

// whyEnded is why the job was ended, "" where it ended by itself.
func (f *follower) whyEnded(p Poll) state.Reason {
	switch {
	case f.snapshots.because != "":
		return f.snapshots.because
	case p.EndedBy == "deadline":
		return state.TimeLimit
	case p.Snapshot != "":
		return snapshotReason(p.Snapshot)
	}
	return ""
}

// cut takes in that the connection failed.
func (f *follower) cut(err error) {
	r := f.r
	r.closeMachine()
	if f.lost.IsZero() {
		f.lost = r.now()
		f.backoff = r.t.Reconnect
		r.emit(Event{Kind: EventWaiting, Message: "the connection to the pod is lost, reconnecting: " + err.Error()})
	}
}

func (f *follower) line(text string) {
	f.r.emit(Event{Kind: EventLog, Line: text})
}

func (f *follower) progress() {
	t := f.tail
	f.r.emit(Event{Kind: EventProgress, Phase: t.phase, Step: max(0, t.step), MaxSteps: max(0, t.maxSteps), Metrics: copyValues(t.values)})
}

func copyValues(m map[string]float64) map[string]float64 {
	c := make(map[string]float64, len(m))
	for k, v := range m {
		c[k] = v
	}
	return c
}

// keepMetrics writes the last values into the state when following ends.
func (r *runner) keepMetrics(t *tail) {
	if len(t.values) == 0 || r.unclaimed {
		return
	}
	values := copyValues(t.values)
	if equalValues(values, r.run.Metrics) {
		return
	}
	_ = r.save(func(_ *state.State, run *state.Run) { run.Metrics = values })
}

func equalValues(a, b map[string]float64) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if w, ok := b[k]; !ok || v != w {
			return false
		}
	}
	return true
}

// seenLately is for how long a job still runs that was seen running.
const seenLately = 5 * time.Second

// whereItRuns says for people what goes on without us, what bounds it and how
// to come back. Of a pod that does not answer it is not known that it goes on.
func (r *runner) whereItRuns() string {
	p := r.run.Pod
	if p == nil {
		return ""
	}
	r.noteHeard()
	runs := "still runs"
	if ago := r.now().Sub(r.lastSeen); !r.lastSeen.IsZero() && (r.machine == nil || ago >= seenLately) {
		runs = fmt.Sprintf("was running when last seen, %s ago,", spanWords(int(ago.Seconds())))
	}
	text := fmt.Sprintf("%s (run %s) %s on pod %s, %s, %s so far", r.address, r.run.ID, runs, p.ID, podHour(p), money.USD(r.run.SpentUSD(r.now())))
	text += "\n" + r.boundWords()
	text += fmt.Sprintf("\ncome back: %s; end it: %s", r.command("attach"), r.command("cancel"))
	return text
}

// clock is how a moment is told to people.
const clock = "2006-01-02 15:04:05 MST"

// boundWords says when the job and its pod end by themselves. A deadline ends
// the job of a pod that is kept, and not the pod.
func (r *runner) boundWords() string {
	p, b := r.run.Pod, r.run.Bounds
	var first, spent string
	end := time.Time{}
	if p.Deadline != nil {
		end = p.Deadline.Add(r.t.Hours(b.OverrunHours))
		first = fmt.Sprintf("by %s (max_hours = %g, %s)", end.Local().Format(clock), b.MaxHours, b.Where)
	}
	if at := p.CostCapAt; at != nil {
		spent = fmt.Sprintf("by %s (%s)", at.Local().Format(clock), strings.TrimPrefix(r.limitMessage(state.CostCap), "ended by its "))
		if end.IsZero() || at.Before(end) {
			first = spent
		}
	}
	switch {
	case b.KeepPodS < 0 && spent == "":
		return "the job is ended " + first + `; the pod does not end by itself (keep_pod = "forever"), only when it is destroyed`
	case b.KeepPodS < 0:
		return "the job is ended " + first + `; the pod stays (keep_pod = "forever") until it is destroyed or ends itself ` + spent
	case b.KeepPodS > 0:
		text := fmt.Sprintf("the job is ended %s; after the job's end the pod stays for keep_pod = %q", first, spanWords(b.KeepPodS))
		if last, bounded := LastEnd(r.run, r.t); bounded {
			text += ", until " + last.Local().Format(clock) + " at the latest"
		}
		return text
	}
	return fmt.Sprintf("the pod ends by itself %s; after the job's end it waits %s for its results to be fetched", first, spanWords(b.RetrieveGrace))
}

// keptWords says until when a pod is kept for ever.
func (r *runner) keptWords() string {
	if at := r.run.Pod.CostCapAt; at != nil {
		return "until it is destroyed or its money is spent, by " + at.Local().Format(clock)
	}
	return "until it is destroyed"
}

// spanWords writes seconds as people would: 90 min are 1h30m.
func spanWords(seconds int) string {
	text := (time.Duration(seconds) * time.Second).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
