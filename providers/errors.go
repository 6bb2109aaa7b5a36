package providers

import (
	"errors"
	"time"
)

// Kind is what an error means for the caller. It survives the plugin
// transport.
type Kind string

// Kinds. The comment says what the core does with a create that ends so.
const (
	Unknown         Kind = "unknown"
	Capacity        Kind = "capacity"        // nothing was made; the next offer
	Forbidden       Kind = "forbidden"       // nothing was made; the next offer
	Rejected        Kind = "rejected"        // nothing was made; the next offer, and the request is suspected if all end so
	Invalid         Kind = "invalid"         // nothing was made; stop: the request itself is wrong
	Unauthenticated Kind = "unauthenticated" // nothing was made; stop
	NoCredits       Kind = "no_credits"      // nothing was made; stop
	NotFound        Kind = "not_found"       // the provider does not know the object
	Conflict        Kind = "conflict"
	RateLimited     Kind = "rate_limited" // after the provider's own retries
	Ambiguous       Kind = "ambiguous"    // the effect may have happened: look first
	Transient       Kind = "transient"    // a read that may work later
	Unimplemented   Kind = "unimplemented"
)

// Error is what every method of a Provider fails with. Its text is safe to
// show and to store: redacted, printable, bounded.
type Error struct {
	Kind Kind
	// Op is the operation: "create pod", "read pod", …
	Op string
	// Status is the HTTP status, 0 where there was none.
	Status int
	// Message is a fixed text chosen by the provider.
	Message string
	// Detail is what the other side said: redacted, at most 300 characters.
	Detail string
	// RetryAfter is how long the other side asked to wait.
	RetryAfter time.Duration
}

func (e *Error) Error() string {
	s := e.Message
	if e.Op != "" {
		s = e.Op + ": " + s
	}
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	return s
}

// KindOf returns the kind of err: Unknown for an error that is not ours.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Unknown
}

// Is reports whether err is an Error of one of the kinds.
func Is(err error, kinds ...Kind) bool {
	k := KindOf(err)
	for _, want := range kinds {
		if k == want {
			return true
		}
	}
	return false
}
