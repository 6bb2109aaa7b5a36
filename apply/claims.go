package apply

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/overbrainer/overbrainer/state"
)

// claimSet is what this command holds. A claim covers the long work on an
// address, where a lock of the whole state would keep everybody else out.
type claimSet struct {
	s  *session
	mu sync.Mutex
	// held by address.
	held map[string]*claim
}

// claim is the hold of one address.
type claim struct {
	id      string
	address string
	lost    chan struct{} // closed when somebody else took it
	once    sync.Once
}

func (c *claim) lose() { c.once.Do(func() { close(c.lost) }) }

func newClaimSet(s *session) *claimSet { return &claimSet{s: s, held: map[string]*claim{}} }

// take claims an address, waiting for another holder as long as the command
// allows.
func (c *claimSet) take(address string) (*claim, error) {
	deadline := c.s.Now().Add(c.s.lockTimeout)
	said := false
	for {
		got, err := c.try(address)
		var held *state.ClaimedError
		if err == nil || !errors.As(err, &held) {
			return got, err
		}
		if !c.s.Now().Before(deadline) {
			return nil, heldError(held)
		}
		if !said {
			said = true
			c.s.emit(Event{Kind: EventWaiting, Address: address, Message: "waiting: " + held.Error()})
		}
		if err := c.s.sleep(c.s.Timing.ClaimPoll); err != nil {
			return nil, err
		}
	}
}

// try claims an address now.
func (c *claimSet) try(address string) (*claim, error) {
	if have := c.have(address); have != nil {
		return have, nil
	}
	var id string
	var over []state.TakenOver
	_, err := c.s.updateOnly(func(st *state.State) error {
		var err error
		id, over, err = st.Claim([]string{address}, c.s.operation, c.s.Who, c.s.Now())
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, o := range over {
		c.s.warn(address, "", fmt.Sprintf("took over the claim of %s by %s@%s (pid %d), %s", o.Claim.Operation, o.Claim.Who, o.Claim.Host, o.Claim.PID, o.Why(c.s.Who, c.s.Now())))
	}
	got := &claim{id: id, address: address, lost: make(chan struct{})}
	c.mu.Lock()
	c.held[address] = got
	c.mu.Unlock()
	return got, nil
}

// have gives the claim that this command holds on an address, nil if none.
func (c *claimSet) have(address string) *claim {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.held[address]
}

// seize ends another holder's claim and takes the address.
func (c *claimSet) seize(address string) (*claim, error) {
	_, err := c.s.updateOnly(func(st *state.State) error {
		delete(st.Claims, address)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return c.try(address)
}

// release gives an address back.
func (c *claimSet) release(address string) {
	c.mu.Lock()
	have := c.held[address]
	delete(c.held, address)
	c.mu.Unlock()
	if have == nil {
		return
	}
	_, _ = c.s.updateOnly(func(st *state.State) error {
		if !st.Holds(have.id, address) {
			return state.ErrNoChange
		}
		st.Release(have.id, address)
		return nil
	})
}

// releaseAll gives everything back, and removes what dead processes left.
func (c *claimSet) releaseAll() {
	c.mu.Lock()
	held := c.held
	c.held = map[string]*claim{}
	c.mu.Unlock()
	_, _ = c.s.updateOnly(func(st *state.State) error {
		before := len(st.Claims)
		for address, have := range held {
			st.Release(have.id, address)
		}
		st.DropStaleClaims(c.s.Who, c.s.Now())
		if len(st.Claims) == before {
			return state.ErrNoChange
		}
		return nil
	})
}

// renewing extends what is held until the command ends.
func (c *claimSet) renewing() {
	tick := time.NewTicker(c.s.Timing.ClaimRenew)
	defer tick.Stop()
	for {
		select {
		case <-c.s.ended:
			return
		case <-tick.C:
			c.renew()
		}
	}
}

func (c *claimSet) renew() {
	c.mu.Lock()
	held := make([]*claim, 0, len(c.held))
	for _, have := range c.held {
		held = append(held, have)
	}
	c.mu.Unlock()
	if len(held) == 0 {
		return
	}
	var lost []*claim
	_, err := c.s.updateOnly(func(st *state.State) error {
		lost = lost[:0]
		for _, have := range held {
			if err := st.Renew(have.id, c.s.Who, c.s.Now()); err != nil {
				lost = append(lost, have)
			}
		}
		if len(lost) == len(held) {
			return state.ErrNoChange
		}
		return nil
	})
	if err != nil {
		return // said once; the claim is renewed as soon as a write works again
	}
	for _, have := range lost {
		c.mu.Lock()
		current := c.held[have.address] == have
		if current {
			delete(c.held, have.address)
		}
		c.mu.Unlock()
		if current { // not merely released meanwhile
			have.lose()
		}
	}
}

func heldError(held *state.ClaimedError) *Error {
	return failf("held", "%s", held.Holder()).at(held.Address).id(held.Claim.ID).class(Held).because(held).
		hint("-lock-timeout=DURATION waits for it; %s ends a claim whose holder is gone", held.UnlockCommand())
}
