package apply

import (
	"errors"
	"fmt"
	"math"

	"github.com/overbrainer/overbrainer/internal/money"
	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/state"
)

// shortError is why a run does not begin yet: what others of this command have set
// aside under its cap is in the way, and most of that they will give back.
type shortError struct {
	bounds      state.Bounds
	worst, left float64  // USD that the run may cost, and that are left
	held        float64  // USD that are set aside for
	by          []string // these addresses
}

func (e *shortError) Error() string {
	b, ends := e.bounds, "its end"
	if len(e.by) > 1 {
		ends = "their ends"
	}
	return fmt.Sprintf("waiting for what others give back to %s: of max_total_usd = %g (%s) %s is left and this run may cost %s; %s is set aside for %s until %s",
		b.Cap, b.MaxTotalUSD, b.Where, money.Left(e.left), sumWords(e.worst), money.USD(e.held), plan.List(e.by, fewPartings), ends)
}

// givenBack is what would be left for a run if those that this command works on cost
// no more than they have by now, and which of them hold something. Who waits for
// money itself, keeps its pod, or is another process's gives nothing back.
func (r *runner) givenBack(st *state.State, run *state.Run) (usd, held float64, by []string) {
	b, busy, now := run.Bounds, r.s.crew.busy(r.address), r.now()
	usd = b.MaxTotalUSD - st.Spend[b.Cap].USD - run.CostUSD
	st.EachRun(func(address string, other *state.Run) {
		if other.Bounds.Cap != b.Cap || other.Settled || other.ID == run.ID {
			return
		}
		ends, works := busy[address]
		if works && other.ReservedUSD > 0 && (ends || other.Bounds.KeepPodS == 0) && !st.ClaimedElsewhere(address, r.s.Who, r.s.Now()) {
			usd -= other.SpentUSD(now)
			held += other.ReservedUSD
			by = append(by, address)
			return
		}
		usd -= other.CostUSD + other.ReservedUSD
	})
	return math.Max(0, usd), held, by
}

// funded does what takes money out of the run's cap, once enough is left. It waits
// as long as others of this command may give enough back, without a slot.
func (r *runner) funded(take func() error) error {
	err := take()
	if !isShort(err) {
		return err
	}
	c := r.s.crew
	slotted := c.slotted(r.address)
	var lost <-chan struct{}
	if r.claim != nil {
		lost = r.claim.lost
	}
	for told := false; ; told = true {
		fell, err := c.decide(r.address, take)
		if !isShort(err) {
			return err
		}
		if !told {
			r.emit(Event{Kind: EventWaiting, Phase: "waiting", Message: err.Error()})
		}
		c.giveSlot(r.address)
		select {
		case <-fell:
		case <-r.s.stop:
		case <-lost:
		}
		if slotted && !c.takeSlot(r.address, r.s.stop, lost) || r.s.interrupted() {
			return r.brokenOff()
		}
	}
}

// brokenOff is why a run waits no longer.
func (r *runner) brokenOff() error {
	if r.s.interrupted() {
		return errInterrupted
	}
	return errClaimLost
}

// decide looks for one of those that wait whether enough is left by now. It counts
// as waiting until that is so, or nobody is left to wait for.
func (c *crew) decide(address string, take func() error) (fell <-chan struct{}, err error) {
	c.turn.Lock()
	defer c.turn.Unlock()
	c.waits(address, true)
	fell = c.falls()
	if err = take(); !isShort(err) {
		c.waits(address, false)
	}
	return fell, err
}

func isShort(err error) bool {
	var short *shortError
	return errors.As(err, &short)
}

// setAside takes out of the cap of a new run what the first offer may cost that the
// money allows.
func (r *runner) setAside(st *state.State, run *state.Run, offers []plan.Offer) (err error) {
	b := run.Bounds
	if b.MaxTotalUSD <= 0 || r.spec.Target.Free {
		return nil
	}
	for _, o := range offers {
		rate := r.offerRate(o)
		if rate <= 0 {
			continue
		}
		p, why := r.purseFor(st, run, rate)
		switch {
		case why == nil:
			return st.Reserve(run, p.reserve, b.MaxTotalUSD)
		case CodeOf(why) != "budget" && !isShort(why):
			return nil // its walk says why
		case err == nil || isShort(why) && !isShort(err):
			err = why
		}
	}
	return err
}
