package apply

import (
	"errors"
	"fmt"
	"time"

	"github.com/overbrainer/overbrainer/state"
)

// observe looks on while another process works on the run, until the run's end
// is written down. Where that process ends before, it takes the run over.
func (r *runner) observe() RunOutcome {
	said, followed := "", false
	for {
		st, err := r.s.read()
		if err != nil {
			return r.failed(err)
		}
		run := findRun(st, r.address, r.run.ID)
		if run == nil {
			return r.removed()
		}
		r.load(run)
		if run.Phase.Ended() && (run.Retrieved || run.Pod == nil || run.Pod.Gone()) {
			out := r.outcome()
			r.ended(out)
			return out
		}
		if !st.ClaimedElsewhere(r.address, r.s.Who, r.s.Now()) {
			if out, taken := r.takeOver(); taken {
				return out
			}
			continue
		}
		holder := st.Claims[r.address]
		follow := !followed && !ends(holder) && !r.beforeStart() && run.Pod != nil && !run.Pod.Gone()
		if phase, now := holding(holder, follow, followed); now != said {
			said = now
			r.phase(phase, "%s", now)
		}
		if follow {
			if err := r.takeKey(); err != nil { // it is made with the run
				return r.failed(r.notOurKey(err))
			}
			w := r.follow()
			r.closeMachine()
			switch w.end {
			case leftAlone:
				return r.detached(true)
			case cannotGoOn:
				return r.failed(w.err)
			case holderGone:
				continue
			default:
				followed = true
			}
		}
		if err := r.s.sleep(r.t.JobPoll + time.Second/4); err != nil {
			return r.detached(true)
		}
	}
}

// orLookOn is the outcome of work on a run, or of looking on where another process
// took the work over: to end it, or because this one was stopped, or its machine
// slept, for longer than a claim holds. What it knew of the run may be long past.
func (r *runner) orLookOn(out RunOutcome) RunOutcome {
	if r == nil || !errors.Is(out.Err, errClaimLost) {
		return out
	}
	r.s.claims.release(r.address) // forgets it
	r.s.forgetRunning(r.address)
	st, err := r.s.read()
	if err != nil {
		return out
	}
	r.claim, r.unclaimed = nil, true
	run := findRun(st, r.address, out.RunID)
	switch {
	case run == nil && r.run != nil && r.run.ID == out.RunID:
		return r.removed()
	case run == nil:
		return out
	case r.run == nil || r.run.ID != run.ID:
		r.shown = 0
	}
	r.load(run)
	r.stateLooks = 0
	if st.ClaimedElsewhere(r.address, r.s.Who, r.s.Now()) && !ends(st.Claims[r.address]) {
		r.phase("training", "another process took over the work on this run while this one stood still")
	}
	if r.s.detach && !r.beforeStart() && !run.Phase.Ended() {
		return r.detached(false)
	}
	return r.observe()
}

// holding says what the process does that holds a run, and the phase that it is in
// by that.
func holding(holder state.Claim, follow, followed bool) (phase, words string) {
	who := heldBy(holder)
	switch {
	case ends(holder):
		return "ending", who + " ends the run"
	case follow:
		return "training", "another process follows the run; looking on (" + who + ")"
	case followed:
		return "ending", "the job has ended; " + who + " ends the run"
	}
	return "training", "the job has not started yet; " + who + " works on that"
}

func heldBy(c state.Claim) string {
	return fmt.Sprintf("%s of %s@%s, pid %d", c.Operation, c.Who, c.Host, c.PID)
}

// takeOver claims a run that nobody works on any more and goes on with it.
// taken is false where somebody else was faster.
func (r *runner) takeOver() (out RunOutcome, taken bool) {
	c, err := r.s.claims.try(r.address)
	var held *state.ClaimedError
	if errors.As(err, &held) {
		return RunOutcome{}, false
	}
	if err != nil {
		return r.failed(err), true
	}
	r.claim, r.unclaimed = c, false
	st, err := r.s.read()
	if err != nil {
		return r.failed(err), true
	}
	run := findRun(st, r.address, r.run.ID)
	if run == nil {
		return r.removed(), true
	}
	r.load(run)
	r.phase("training", "nobody else works on the run any more; this command goes on with it")
	return r.attach(), true
}

// holderLeft reports, now and then, whether the process that holds the run of
// somebody who only looks on has ended.
func (f *follower) holderLeft() bool {
	r := f.r
	now := r.now()
	if !f.observing || now.Sub(f.heldAt) < r.t.Poll {
		return false
	}
	f.heldAt = now
	st, err := r.s.read()
	return err == nil && !st.ClaimedElsewhere(r.address, r.s.Who, r.s.Now())
}
