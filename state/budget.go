package state

import (
	"fmt"
	"sort"
	"time"

	"github.com/overbrainer/overbrainer/internal/money"
)

// Spending is how much of a cap's total is used, in USD.
type Spending struct {
	// SpentUSD is what has been spent: by runs that are settled, and by ended
	// attempts of those that are not.
	SpentUSD float64
	// ReservedUSD is the most that runs which may still bill can cost yet.
	ReservedUSD float64
}

// Total is what may have been spent in the worst case.
func (s Spending) Total() float64 { return s.SpentUSD + s.ReservedUSD }

// Spending adds up what is spent and reserved under a cap, the run with the
// ID except left out ("" = none).
func (s *State) Spending(cap, except string) Spending {
	sum := Spending{SpentUSD: s.Spend[cap].USD}
	s.EachRun(func(_ string, run *Run) {
		if run.Bounds.Cap != cap || run.Settled || run.ID == except {
			return
		}
		sum.SpentUSD += run.CostUSD
		sum.ReservedUSD += run.ReservedUSD
	})
	return sum
}

// SpentUSD is what has been spent under a cap until now, by pods that still bill
// as well.
func (s *State) SpentUSD(cap string, now time.Time) float64 {
	usd := s.Spend[cap].USD
	s.EachRun(func(_ string, run *Run) {
		if run.Bounds.Cap == cap && !run.Settled {
			usd += run.SpentUSD(now)
		}
	})
	return usd
}

// BudgetLeft is what a run may still use of a cap's maxTotalUSD when every
// other run costs all it reserved. Never below 0. except is the run that asks:
// its own reservation does not count against it, what it has spent does.
func (s *State) BudgetLeft(cap string, maxTotalUSD float64, except string) float64 {
	sum := s.Spending(cap, except)
	left := maxTotalUSD - sum.Total()
	if _, run := s.FindRun(except); run != nil && run.Bounds.Cap == cap && !run.Settled {
		left -= run.CostUSD
	}
	return max(left, 0)
}

// BudgetError says that a cap's total does not allow what a run may cost.
type BudgetError struct {
	Cap         string
	MaxTotalUSD float64
	SpentUSD    float64
	ReservedUSD float64 // by other runs
	AskedUSD    float64
}

func (e *BudgetError) Error() string {
	return fmt.Sprintf("%s allows %s in all: %s is spent, %s reserved for runs that may still bill, and this run may cost %s",
		e.Cap, money.USD(e.MaxTotalUSD), money.USD(e.SpentUSD), money.USD(e.ReservedUSD), money.USD(e.AskedUSD))
}

// Reserve sets aside usd, the most that the run may cost from now on, under
// its cap. maxTotalUSD 0 means that the cap has no total, and everything fits.
// The error is *BudgetError, and then nothing has changed.
func (s *State) Reserve(run *Run, usd, maxTotalUSD float64) error {
	if maxTotalUSD > 0 {
		// A hair of rounding must not refuse what exactly fits.
		if left := s.BudgetLeft(run.Bounds.Cap, maxTotalUSD, run.ID); usd > left+1e-9 {
			sum := s.Spending(run.Bounds.Cap, run.ID)
			return &BudgetError{
				Cap: run.Bounds.Cap, MaxTotalUSD: maxTotalUSD, AskedUSD: usd,
				SpentUSD: sum.SpentUSD + run.CostUSD, ReservedUSD: sum.ReservedUSD,
			}
		}
	}
	run.ReservedUSD = usd
	return nil
}

// Settle ends a run's account when it holds nothing any more: its reservation
// is released and what it cost is added to the cap's spend, once. It reports
// whether the run is settled.
func (s *State) Settle(run *Run) bool {
	if run.Settled {
		return true
	}
	if run.Holds() {
		return false
	}
	run.ReservedUSD, run.Settled = 0, true
	if run.Bounds.Cap != "" {
		spend := s.Spend[run.Bounds.Cap]
		spend.USD += run.CostUSD
		spend.Runs++
		s.Spend[run.Bounds.Cap] = spend
	}
	return true
}

// Prune settles the runs of an address that hold nothing, and forgets those of
// them that are not its current run. It gives the IDs forgotten.
func (s *State) Prune(address string) []string {
	r := s.Resources[address]
	if r == nil || r.Run == nil {
		return nil
	}
	var kept []*Run
	var gone []string
	for _, run := range r.Run.Runs {
		if s.Settle(run) && run.ID != r.Run.Current {
			gone = append(gone, run.ID)
			continue
		}
		kept = append(kept, run)
	}
	r.Run.Runs = kept
	return gone
}

// EachRun calls f for every run, by address and age.
func (s *State) EachRun(f func(address string, run *Run)) {
	for _, addr := range s.Addresses() {
		if r := s.Resources[addr]; r.Run != nil {
			for _, run := range r.Run.Runs {
				f(addr, run)
			}
		}
	}
}

// FindRun gives the run with the ID and its address, "" and nil if there is
// none.
func (s *State) FindRun(id string) (address string, found *Run) {
	if id == "" {
		return "", nil
	}
	for addr, r := range s.Resources {
		if r.Run != nil {
			if run := r.Run.Find(id); run != nil {
				return addr, run
			}
		}
	}
	return "", nil
}

// Addresses gives all addresses in order.
func (s *State) Addresses() []string {
	list := make([]string, 0, len(s.Resources))
	for addr := range s.Resources {
		list = append(list, addr)
	}
	sort.Strings(list)
	return list
}
