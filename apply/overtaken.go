package apply

import (
	"context"
	"time"

	"github.com/overbrainer/overbrainer/state"
)

// stateLooks is how often the state is looked at for one loss of a connection, each
// time for stateLook at most: a state that is away keeps nobody from its pod. After
// them the renewal of the claim finds out, or the look for who holds it.
const (
	stateLooks = 8
	stateLook  = 5 * time.Second
)

// overtaken reports whether the state says that the run is not this command's to
// follow any more: its address was taken over, or it has left the state. A pod that
// does not answer may be gone because somebody else has ended it, and the state tells
// that long before the provider does. What cannot be read says nothing.
func (r *runner) overtaken(ctx context.Context) bool {
	if r.claim != nil {
		select {
		case <-r.claim.lost:
			return true
		default:
		}
	}
	if r.stateLooks >= stateLooks {
		return false
	}
	r.stateLooks++
	ctx, cancel := context.WithTimeout(ctx, stateLook)
	defer cancel()
	st, err := r.s.sharedState(ctx)
	if err != nil {
		return false
	}
	run := findRun(st, r.address, r.run.ID)
	switch {
	case run == nil:
		return true
	case r.unclaimed:
		return run.Phase.Ended() || ends(st.Claims[r.address])
	}
	return r.claim != nil && !st.Holds(r.claim.id, r.address)
}

// sharedState reads the state, once for all runs that ask at about the same time:
// who loses one connection often loses a hundred.
func (s *session) sharedState(ctx context.Context) (*state.State, error) {
	return shareOf(s, s.states, "", s.read).get(ctx)
}

// ends reports whether a claim's holder ends the run, and follows nothing.
func ends(c state.Claim) bool { return c.Operation == "destroy" || c.Operation == "pod rm" }

// whileOurs waits d, and looks now and then whether the run is still this command's:
// it fails with errClaimLost as soon as it is not.
func (r *runner) whileOurs(ctx context.Context, d time.Duration) error {
	var lost <-chan struct{}
	if r.claim != nil {
		lost = r.claim.lost
	}
	for d > 0 {
		if r.overtaken(ctx) {
			return errClaimLost
		}
		step := min(d, r.t.Poll)
		if err := r.s.sleepUntil(step, lost); err != nil {
			return err
		}
		d -= step
	}
	return nil
}
