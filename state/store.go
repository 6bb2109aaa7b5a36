package state

import (
	"context"
	"errors"
)

// Store keeps one State. Implementations pass the suite in
// state/statetest.
type Store interface {
	// Read gives the state as it is now; a project without one gives an empty
	// State with serial 0 and no lineage, and changes nothing.
	Read(ctx context.Context) (*State, error)
	// Update runs change on the newest state and writes the outcome durably,
	// as one short transaction: nobody else's write comes between. It gives
	// the state that was written, which is only to be read: who wrote at the
	// same time has the same. A new state is given its lineage before
	// change sees it. When change fails nothing is written and its error
	// comes back as it is; ErrNoChange from change means success without a
	// write. change may run more than once and must only touch the state.
	Update(ctx context.Context, change func(*State) error) (*State, error)
	// Where names the place for messages: a path or a URL without secrets.
	Where() string
}

// ErrNoChange is what a change returns when there is nothing to write.
var ErrNoChange = errors.New("no change")
