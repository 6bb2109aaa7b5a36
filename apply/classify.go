package apply

import (
	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/state"
)

// next is what follows an answer to a create call.
type next int

const (
	nextReady     next = iota // wait until the pod is ready
	nextOffer                 // nothing was made: the next offer
	nextReconcile             // it may exist: look before anything else
	nextStop                  // nothing was made, and nothing else would be
)

// verdict of one answer to a create call.
type verdict struct {
	result state.AttemptResult
	then   next
	reason state.Reason // how the run ends, where it stops
}

// answers tells what each kind of answer to a create call means. A kind that
// is not here may have made something: only a clear refusal leads on.
var answers = map[providers.Kind]verdict{
	providers.Capacity:        {state.AttemptUnavailable, nextOffer, state.NoCapacity},
	providers.Forbidden:       {state.AttemptForbidden, nextOffer, state.NoCapacity},
	providers.Rejected:        {state.AttemptRejected, nextOffer, state.RequestRefused},
	providers.Invalid:         {state.AttemptRejected, nextStop, state.RequestRefused},
	providers.Unauthenticated: {state.AttemptRejected, nextStop, state.RequestRefused},
	providers.NoCredits:       {state.AttemptRejected, nextStop, state.NoCredits},
	providers.RateLimited:     {state.AttemptRejected, nextStop, state.RequestRefused},
	providers.NotFound:        {state.AttemptRejected, nextStop, state.RequestRefused},
	providers.Conflict:        {state.AttemptRejected, nextStop, state.RequestRefused},
	providers.Unimplemented:   {state.AttemptRejected, nextStop, state.RequestRefused},
}

// classify reads the answer to a create call.
func classify(err error) verdict {
	if err == nil {
		return verdict{state.AttemptCreated, nextReady, state.NoReason}
	}
	if v, ok := answers[providers.KindOf(err)]; ok {
		return v
	}
	return verdict{state.AttemptAmbiguous, nextReconcile, state.Unanswered}
}

// transient reports whether a failed read may work later.
func transient(err error) bool {
	switch providers.KindOf(err) {
	case providers.Unauthenticated, providers.Forbidden, providers.Invalid, providers.Rejected, providers.Unimplemented:
		return false
	}
	return true
}
