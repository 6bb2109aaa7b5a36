package apply

import "time"

// Event is something that happened while a plan was executed. Events are what
// a view shows; nothing is decided from them. All text is safe to show.
type Event struct {
	Time    time.Time
	Since   time.Time // when the run that goes on began; zero where none does
	Kind    EventKind
	Address string
	RunID   string
	PodID   string
	// Message says it in words, for people.
	Message string

	// Phase of the run, where it changed: waiting, placing, booting,
	// uploading, starting, training, evaluating, finalizing, retrieving,
	// ending, done.
	Phase string
	// Progress of the job (EventProgress).
	Step, MaxSteps int64
	Metrics        map[string]float64
	// SpentUSD so far of CapUSD (0 = no cap); RateUSD an hour, of which Speed pass in
	// one by the clock (0 = 1).
	SpentUSD, CapUSD, RateUSD, Speed float64
	// Done of Total bytes of files, of which Rate a second arrive, compressed or not
	// (EventTransfer).
	Done, Total int64
	Rate        float64
	// GPUType, DataCenter and Price of a create.
	GPUType, DataCenter string
	// Line of the job's log (EventLog).
	Line string
	// State and Reason of an ended run, ExitCode of its job (EventEnded); State also of
	// one whose results wait (EventDetached), or StateNotBegun (EventFailed,
	// EventSkipped).
	State, Reason string
	ExitCode      *int
	Dir           string
	Seconds       float64
	Unseen        bool // the job's end, see RunOutcome
}

// StateNotBegun says that no run came of a step.
const StateNotBegun = "not begun"

// EventKind is the sort of an Event.
type EventKind string

// Kinds of events.
const (
	EventPhase       EventKind = "phase"
	EventCreating    EventKind = "creating"    // a create call is about to leave
	EventUnavailable EventKind = "unavailable" // it was refused
	EventCreated     EventKind = "created"
	EventReady       EventKind = "ready"
	EventWaiting     EventKind = "waiting" // heartbeat with the reason
	EventStarted     EventKind = "started" // the job runs
	EventProgress    EventKind = "progress"
	EventTransfer    EventKind = "transfer"
	EventLog         EventKind = "log"
	EventWarning     EventKind = "warning"
	EventSnapshot    EventKind = "snapshot"
	EventRetrieved   EventKind = "retrieved"
	EventDeleting    EventKind = "deleting"
	EventDeleted     EventKind = "deleted"
	EventKept        EventKind = "kept"
	EventDetached    EventKind = "detached"
	EventEnded       EventKind = "ended"
	EventSkipped     EventKind = "skipped"
	EventFailed      EventKind = "failed"  // a step could not be done
	EventRemoved     EventKind = "removed" // a secret, a volume; with the phase done an entry
)
