package apply

import (
	"errors"
	"fmt"
	"time"

	"github.com/overbrainer/overbrainer/internal/money"
	"github.com/overbrainer/overbrainer/state"
)

// ErrBadProof says that a job left a snapshot's proof that is not valid. What
// wraps it says why, in words for people.
var ErrBadProof = errors.New("the snapshot's proof is not valid")

// ending is how a job ended.
type ending struct {
	phase    state.Phase
	reason   state.Reason
	message  string
	exit     *int
	snapshot *state.Snapshot
	// proof is what the job said it had saved, whatever became of it.
	proof *state.Snapshot
	// doubt: it counts as a success, and may not be one.
	doubt bool
}

// without is the ending of a job whose results are gone: what it made of
// itself, a success or a snapshot, is lost.
func (e ending) without(why string) ending {
	if e.phase == state.Succeeded || e.phase == state.Stopped {
		e.phase, e.reason = state.Failed, state.Lost
	}
	e.message += "; " + why
	return e
}

// facts are what an ending is told from.
type facts struct {
	state   JobState
	exit    int
	metrics int // lines seen
	proof   *state.Snapshot
	bad     error // what is wrong with a proof that is not valid
	// asked is why the job was asked to end by us or by its guard; "" if not.
	asked state.Reason
	// ignored is the grace after which we ended a job that had not saved itself
	// as it was asked to; 0 if it was not that.
	ignored time.Duration
}

// succeededWords is the message of a run whose success nothing puts in doubt.
const succeededWords = "the job succeeded"

// judge tells how a job ended. An exit code of 0 alone is a success only where
// nothing that was required is missing.
func judge(f facts, job state.Job) ending {
	code := f.exit
	e := ending{phase: state.Failed, proof: f.proof}
	if f.state == JobExited {
		e.exit = &code
	}
	switch {
	case f.proof != nil && (f.state == JobCancelled || f.state == JobExited && f.exit == 0):
		e.phase, e.reason, e.snapshot = state.Stopped, f.asked, f.proof
		if e.reason == "" {
			e.reason = snapshotReason(f.proof.Reason)
		}
		e.message = fmt.Sprintf("stopped at step %d", f.proof.Step)
	case f.state == JobExited && f.exit == 0 && f.bad != nil:
		e.reason, e.message = state.InvalidSnapshot, "the job exited with 0, but "+f.bad.Error()
	case f.state == JobExited && f.exit == 0 && f.asked == state.StalledOut:
		e.reason, e.message = state.StalledOut, "the job made no progress and ended when it was asked to"
	case f.state == JobExited && f.exit == 0 && job.MetricsRequired && f.metrics == 0:
		e.reason, e.message = state.NoMetrics, fmt.Sprintf("the job exited with 0 and wrote no line to %s", job.Metrics)
	case f.state == JobExited && f.exit == 0 && f.asked != "":
		e.phase, e.doubt = state.Succeeded, true
		e.message = "the job exited with 0 after it was asked to save itself and stop, and left no snapshot: it may not have finished"
	case f.state == JobExited && f.exit == 0:
		e.phase, e.message = state.Succeeded, succeededWords
	case f.state == JobExited && (f.asked == state.StalledOut || f.asked == state.CostCap || f.asked == state.TimeLimit || f.asked == state.DiskFull):
		e.reason, e.message = f.asked, fmt.Sprintf("the job was asked to save itself and exited with %d", f.exit)
	case f.state == JobExited:
		e.reason, e.message = state.ExitCode, exitWords(f.exit)
	case f.state == JobCancelled && f.asked != "" && f.asked != state.UserCancelled && f.asked != state.UserStopped:
		e.reason, e.message = f.asked, "the job was ended because of "+limitWords(f.asked)
	case f.state == JobCancelled && f.asked == state.UserStopped && f.ignored > 0:
		e.phase, e.reason = state.Stopped, state.UserStopped
		e.message = fmt.Sprintf("the job was asked to save itself and stop, did not within %s and was ended without", spanWords(int(f.ignored.Seconds())))
		if f.bad != nil {
			e.message += " (" + f.bad.Error() + ")"
		}
	case f.state == JobCancelled:
		e.phase, e.reason, e.message = state.Cancelled, state.UserCancelled, "the job was cancelled"
	default:
		e.reason, e.message = state.Lost, "the job's process is gone and left no exit code"
	}
	return e
}

func exitWords(code int) string {
	switch {
	case code == 127:
		return "the job exited with 127: its program was not found"
	case code == 126:
		return "the job exited with 126: its program could not be run"
	case code > 128 && code < 160:
		return fmt.Sprintf("the job was ended by signal %d (exit code %d)", code-128, code)
	}
	return fmt.Sprintf("the job exited with %d", code)
}

func limitWords(r state.Reason) string {
	switch r {
	case state.StalledOut:
		return "no progress"
	case state.CostCap:
		return "its cost cap"
	case state.TimeLimit:
		return "its time limit"
	case state.DiskFull:
		return "a full disk"
	}
	return string(r)
}

// snapshotReason is the reason of a run that ended by the snapshot asked for
// with this word.
func snapshotReason(word string) state.Reason {
	switch word {
	case "deadline":
		return state.TimeLimit
	case "cost":
		return state.CostCap
	case "disk":
		return state.DiskFull
	case "stalled":
		return state.StalledOut
	}
	return state.UserStopped
}

// limitMessage says which bound ended a run, where it is set and from when it
// counts.
func (r *runner) limitMessage(reason state.Reason) string {
	b := r.run.Bounds
	switch reason {
	case state.TimeLimit:
		return fmt.Sprintf("ended by its time limit: max_hours = %g (%s), counted from the pod's creation", b.MaxHours, b.Where)
	case state.CostCap:
		if share, held := r.shareUSD(); held || b.MaxCostUSD <= 0 {
			return fmt.Sprintf("ended by its cost cap: the %s that were set aside for it under max_total_usd = %g (%s), other runs counted", money.USD(share), b.MaxTotalUSD, b.Where)
		}
		return fmt.Sprintf("ended by its cost cap: max_cost_usd = %g (%s), boot attempts counted", b.MaxCostUSD, b.Where)
	case state.StalledOut:
		return fmt.Sprintf("ended because it made no progress for stall_after = %q (%s)", spanWords(b.StallAfterS), b.Where)
	case state.DiskFull:
		return r.diskWords()
	}
	return ""
}
