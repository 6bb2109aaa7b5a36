package apply

import (
	"errors"
	"fmt"
)

// Class is what an error or an outcome means for the command's exit status.
type Class int

// Classes, as exit codes. Where several apply the first of Failed, Held,
// NothingRentable, JobFailed wins; an interrupt stands before all of them.
const (
	OK              Class = 0
	Failure         Class = 1
	JobFailed       Class = 10 // everything worked but a job failed
	Held            Class = 11 // another process holds what this needs
	NothingRentable Class = 12 // nothing could be rented, nothing was created
	Interrupt       Class = 130
)

// Error is a failure with what a person or a program needs to go on. Its text
// is safe to show and holds no text of a server that was not redacted.
type Error struct {
	// Code is a short fixed word: no_capacity, held, not_deleted, …
	Code    string
	Message string
	Address string
	// ID of what was left behind: a pod, a volume.
	ID string
	// Hint is the command or the change that goes on from here.
	Hint  string
	Class Class
	Err   error
}

func (e *Error) Error() string {
	s := e.Message
	if e.Address != "" {
		s = e.Address + ": " + s
	}
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// ClassOf gives the class of err: Failure for one that is not ours.
func ClassOf(err error) Class {
	if err == nil {
		return OK
	}
	var e *Error
	if errors.As(err, &e) && e.Class != OK {
		return e.Class
	}
	return Failure
}

// CodeOf gives the code of err, "error" for one that is not ours.
func CodeOf(err error) string {
	var e *Error
	if errors.As(err, &e) && e.Code != "" {
		return e.Code
	}
	return "error"
}

func failf(code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), Class: Failure}
}

func (e *Error) at(address string) *Error { e.Address = address; return e }
func (e *Error) id(id string) *Error      { e.ID = id; return e }
func (e *Error) class(c Class) *Error     { e.Class = c; return e }
func (e *Error) because(err error) *Error { e.Err = err; return e }
func (e *Error) hint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// Errors that steer the engine itself.
var (
	// errInterrupted: the user asked to stop before the work was done.
	errInterrupted = &Error{Code: "interrupted", Message: "interrupted", Class: Interrupt}
	// errClaimLost: somebody else works on the address now.
	errClaimLost = &Error{Code: "claim_lost", Message: "another process took over the work on this address", Class: Held}
)

// addressed names the address in an error that names none. One of those that all
// addresses share stays as it is.
func addressed(err error, address string) error {
	var e *Error
	switch {
	case !errors.As(err, &e) || e.Address != "":
		return err
	case e == errInterrupted || e == errClaimLost:
		own := *e
		return own.at(address).because(err)
	}
	e.Address = address
	return err
}
