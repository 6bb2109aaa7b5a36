package apply

import (
	"maps"
	"slices"
	"time"

	"github.com/overbrainer/overbrainer/state"
)

// Outcome is what executing a plan came to.
type Outcome struct {
	Runs []RunOutcome
	// Skipped are the addresses that were not begun because of another one
	// that failed; Waiting those that wait for a run that was detached from.
	Skipped []Skipped
	Waiting []Skipped
	// Errors are the steps that could not be done.
	Errors []error
	// Left is what exists still although it should not.
	Left []Left
	// GoesOn are the pods that bill on without this command, as the messages tell.
	GoesOn []Left
	// Checks decided after the runs have ended.
	Checks  []Check
	Outputs map[string]state.Output
	// Messages for people at the end: what goes on without us, what it costs
	// and how to come back to it.
	Messages []string
	// Interrupted says that the user asked to stop.
	Interrupted bool
	// Detached says that the caller asked to leave the jobs running.
	Detached bool
	Class    Class
}

// RunOutcome is how one run ended, or that it goes on.
type RunOutcome struct {
	Address  string
	RunID    string
	PodID    string
	State    string // a phase
	Reason   string
	Message  string
	ExitCode *int
	Dir      string // relative to the project
	GPUType  string
	CostUSD  float64
	Unknown  bool // what it has cost besides: a create call has no clear answer
	Seconds  float64
	// Unseen: nobody saw the end of the job. Seconds is the most that it can have
	// taken, and CostUSD counts until the latest end that is likely.
	Unseen bool
	// Forgotten: it has left the state, and nothing of its end is known here. State
	// is "removed" then; Seconds and CostUSD say nothing.
	Forgotten bool
	// Tail is the last lines of a failed job's log.
	Tail []string
	// Detached: the job goes on.
	Detached  bool
	Retrieved bool
	Elsewhere string // who has the results, where they are not here
	Removed   bool   // they were fetched on this machine, and are not here any more
	Waits     bool   // it has ended and its results are still on the pod
	// Err is why the step could not be done, nil where only the job failed.
	Err   error
	Class Class
}

// Skipped is a step that was not begun.
type Skipped struct {
	Address string
	Because string // an address, or TheInterrupt
}

// TheInterrupt is why a step was not begun that came after it.
const TheInterrupt = "the interrupt"

// Left is something that still exists and may bill.
type Left struct {
	Kind    string // pod, stray, secret, volume, unanswered
	Address string
	RunID   string
	ID      string
	RateUSD float64 // an hour; 0 = not known
	Free    bool    // it costs nothing
	Monthly float64 // USD a month, for a volume
	// Until is when it has ended itself at the latest; zero: not known, or never.
	Until time.Time
	Fix   string // the command that ends it
	Note  string
	// Held: another process works on it. That is why it is still there, and no
	// failure of its own.
	Held bool
}

func (o Outcome) clone() Outcome {
	o.Runs = slices.Clone(o.Runs)
	o.Skipped = slices.Clone(o.Skipped)
	o.Waiting = slices.Clone(o.Waiting)
	o.Errors = slices.Clone(o.Errors)
	o.Left = slices.Clone(o.Left)
	o.GoesOn = slices.Clone(o.GoesOn)
	o.Messages = slices.Clone(o.Messages)
	o.Outputs = maps.Clone(o.Outputs)
	return o
}

// settled decides the class and the order. An interrupt may look at the outcome
// meanwhile, so that what it shares stays as it is.
func (o Outcome) settled() Outcome {
	o = o.clone()
	seen := map[Class]bool{}
	for _, r := range o.Runs {
		seen[r.Class] = true
	}
	for _, err := range o.Errors {
		seen[ClassOf(err)] = true
	}
	for _, c := range o.Checks {
		if c.Status == "fail" || c.Status == "error" {
			seen[Failure] = true
		}
	}
	for _, l := range o.Left {
		if !l.Held {
			seen[Failure] = true
		}
	}
	if o.Interrupted {
		seen[Interrupt] = true
	}
	o.Class = OK
	for _, c := range []Class{Interrupt, Failure, Held, NothingRentable, JobFailed} {
		if seen[c] {
			o.Class = c
			break
		}
	}
	slices.SortFunc(o.Runs, func(a, b RunOutcome) int {
		if a.Address != b.Address {
			if a.Address < b.Address {
				return -1
			}
			return 1
		}
		if a.RunID < b.RunID {
			return -1
		}
		return 1
	})
	return o
}

// classes says what the reason of an ended run means for the exit status. A
// reason that is not here counts as a failure.
var classes = map[state.Reason]Class{
	state.NoReason:        OK,
	state.ExitCode:        JobFailed,
	state.NoOutputs:       JobFailed,
	state.NoMetrics:       JobFailed,
	state.InvalidSnapshot: JobFailed,
	state.UserCancelled:   JobFailed,
	state.UserStopped:     JobFailed,
	state.NoCapacity:      NothingRentable,
	state.Interrupted:     Interrupt,
}

func classOfRun(run *state.Run) Class {
	if run.Phase == state.Succeeded {
		return OK
	}
	if c, ok := classes[run.Reason]; ok && c != OK {
		return c
	}
	return Failure
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
