package job

import (
	"strconv"
	"strings"
)

// State is how a job stands.
type State string

// States of a job.
const (
	// StateNone: no job was started in the run's directory.
	StateNone      State = "none"
	StateRunning   State = "running"
	StateExited    State = "exited"
	StateCancelled State = "cancelled"
	// StateLost: the job is gone and left no exit code, or the whole directory
	// is gone. A restarted container or a kill from outside does that.
	StateLost State = "lost"
)

// Status is how a job stands or ended.
type Status struct {
	State State
	// Exit is the exit code of an exited job, 0 to 255.
	Exit int
	// Signal is the signal, without SIG, that an exit code above 128 stands for
	// by the shell's rule; empty otherwise. A program may also exit so by itself.
	Signal string
}

// Ended reports whether the job will not run any more.
func (s Status) Ended() bool {
	return s.State == StateExited || s.State == StateCancelled || s.State == StateLost
}

// String says it in a few words.
func (s Status) String() string {
	switch {
	case s.State == StateExited && s.Signal != "":
		return "exited " + strconv.Itoa(s.Exit) + " (signal " + s.Signal + ")"
	case s.State == StateExited:
		return "exited " + strconv.Itoa(s.Exit)
	}
	return string(s.State)
}

// linuxSignals are the names of signals 1 to 15, those a job ends by.
var linuxSignals = [...]string{
	"", "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL",
	"USR1", "SEGV", "USR2", "PIPE", "ALRM", "TERM",
}

// parseStatus reads "running", "exited 3" and the like.
func parseStatus(text string) (Status, bool) {
	word, rest, found := strings.Cut(text, " ")
	state := State(word)
	switch state {
	case StateNone, StateRunning, StateCancelled, StateLost:
		return Status{State: state}, !found
	case StateExited:
		code, err := strconv.ParseUint(rest, 10, 8)
		if err != nil {
			return Status{}, false
		}
		s := Status{State: state, Exit: int(code)}
		if n := s.Exit - 128; n > 0 && n < len(linuxSignals) {
			s.Signal = linuxSignals[n]
		}
		return s, true
	}
	return Status{}, false
}
