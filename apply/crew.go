package apply

import "sync"

// crew is who works in this command, how many may begin at a time, and who of them
// waits for money that others hold.
type crew struct {
	// slots are for what is begun. What is there already bills, and waits for nobody:
	// its guard ends it if nobody comes.
	slots chan struct{}
	// turn is of one of those that wait: each sees what the one before it decided, so
	// that no two wait for each other.
	turn sync.Mutex

	mu    sync.Mutex
	hands map[string]*hand // by address
	fell  chan struct{}    // closed when a reservation may have fallen
}

// hand is the work on one address.
type hand struct {
	slotted bool
	ends    bool // what it holds is destroyed, kept or not
	waits   bool // for money
}

func newCrew(parallelism int) *crew {
	return &crew{slots: make(chan struct{}, parallelism), hands: map[string]*hand{}, fell: make(chan struct{})}
}

// enter takes up the work on an address; ends: what it holds is destroyed.
func (c *crew) enter(address string, ends bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hand(address).ends = ends
}

// hand gives the work on an address. mu is held.
func (c *crew) hand(address string) *hand {
	h := c.hands[address]
	if h == nil {
		h = &hand{}
		c.hands[address] = h
	}
	return h
}

// leave ends it. Whatever it holds now it holds for good.
func (c *crew) leave(address string) {
	c.giveSlot(address)
	c.mu.Lock()
	delete(c.hands, address)
	c.mu.Unlock()
	c.fallen()
}

// giveSlot lets another one begin.
func (c *crew) giveSlot(address string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h := c.hands[address]; h != nil && h.slotted {
		h.slotted = false
		<-c.slots
	}
}

// takeSlot waits for a slot, false where stop or lost came first.
func (c *crew) takeSlot(address string, stop, lost <-chan struct{}) bool {
	select {
	case c.slots <- struct{}{}:
		c.mu.Lock()
		defer c.mu.Unlock()
		c.hand(address).slotted = true
		return true
	case <-stop:
	case <-lost:
	}
	return false
}

// slotted reports whether the work on an address holds a slot.
func (c *crew) slotted(address string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.hands[address]
	return h != nil && h.slotted
}

// waits notes that an address waits for money, or does no more.
func (c *crew) waits(address string, waits bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h := c.hands[address]; h != nil {
		h.waits = waits
	}
}

// fallen tells those that wait that a reservation may have fallen.
func (c *crew) fallen() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.fell)
	c.fell = make(chan struct{})
}

func (c *crew) falls() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fell
}

// busy gives the other addresses that are worked on and do not wait themselves, and
// whether what they hold is destroyed.
func (c *crew) busy(except string) map[string]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	ends := map[string]bool{}
	for address, h := range c.hands {
		if address != except && !h.waits {
			ends[address] = h.ends
		}
	}
	return ends
}
