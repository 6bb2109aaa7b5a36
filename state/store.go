package state

import (
	"context"
	"errors"
)

// Store keeps one State. Implementations pass the suite in
// state/statetest.
type Store interface {
	// Read gives the state as it is now; a project without one gives an empty
	// State with serial 0 and no lineage, and changes nothing. Its maps are the
	// reader's; what they point to is only to be read: others have the same.
	Read(ctx context.Context) (*State, error)
	// Update runs change on the newest state and writes the outcome durably,
	// as one short transaction: nobody else's write comes between. It gives
	// the state that was written, which is only to be read: who wrote at the
	// same time has the same. A new state is given its lineage before
	// change sees it. When change fails nothing is written and its error
	// comes back as it is; ErrNoChange from change means success without a
	// write. What could not be written although change went well is kept, and
	// written with the next Update that can. change may run more than once and must only touch the state. See
	// Touching for a change that alters little of a large state.
	Update(ctx context.Context, change func(*State) error) (*State, error)
	// Where names the place for messages: a path or a URL without secrets.
	Where() string
}

// ErrNoChange is what a change returns when there is nothing to write.
var ErrNoChange = errors.New("no change")

type (
	touchingKey struct{}
	lastKey     struct{}
)

// Overall is the name under which Touching has the catalogs and the outputs,
// which are replaced and not altered in place. No address looks like it.
const Overall = "<overall>"

// Touching promises for an Update with the context that, of resources, its
// change alters, makes and removes only those at the addresses, and that besides
// them it alters nothing but claims and spend. A store may then copy, check and
// write these alone. It alters them in place: what it read of others is shared.
// Overall among the addresses adds the catalogs and outputs.
func Touching(ctx context.Context, addresses ...string) context.Context {
	return context.WithValue(ctx, touchingKey{}, addresses)
}

// Touched gives what Touching promised; ok is false where a change may alter
// anything.
func Touched(ctx context.Context) (addresses []string, ok bool) {
	addresses, ok = ctx.Value(touchingKey{}).([]string)
	return addresses, ok
}

// Last says of an Update with the context that its session probably writes
// nothing after it, so that what lies in several files is put together at once.
func Last(ctx context.Context) context.Context {
	return context.WithValue(ctx, lastKey{}, true)
}

func isLast(ctx context.Context) bool { return ctx.Value(lastKey{}) != nil }

// Sessions is a Store that writes less when it knows that many changes will
// follow: until end its state may lie in more than one file, which whoever uses
// a Store does not notice. A process that dies before end loses nothing.
type Sessions interface {
	Session() (end func(context.Context) error)
}
