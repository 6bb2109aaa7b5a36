package plan

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/overbrainer/overbrainer/internal/money"
	"github.com/overbrainer/overbrainer/state"
)

// spends reports whether a step may cost money from now on.
func (s *Step) spends() bool {
	switch s.Action {
	case Run, Rerun, Resume, Attach, Collect:
		return s.Type == "run"
	}
	return false
}

// Begins reports whether a step makes a new run.
func (s *Step) Begins() bool {
	return s.Action == Run || s.Action == Rerun || s.Action == Resume
}

// total adds up the steps. Nil anywhere makes the sum nil.
func (b *builder) total() {
	c := &b.p.Cost
	c.SpentUSD = map[string]float64{}
	for addr := range b.in.Config.Caps {
		c.SpentUSD[addr] = *usd(b.spending(addr).SpentUSD)
	}
	for addr := range b.st.Spend {
		c.SpentUSD[addr] = *usd(b.spending(addr).SpentUSD)
	}

	hourly, expected, storage := 0.0, 0.0, 0.0
	c.HourlyUSD, c.ExpectedUSD, c.MonthlyStorageUSD = &hourly, &expected, &storage
	byCap := map[string][]*Step{}
	unbounded := map[string][]string{} // addresses by the reason, which many may share
	for _, s := range b.p.Steps {
		if s.Type == "volume" {
			if b.staysBilled(s) {
				c.MonthlyStorageUSD = sum(c.MonthlyStorageUSD, s.Cost.MonthlyUSD)
			}
			continue
		}
		if !s.spends() {
			if s.Action != Destroy { // which may wait for what it collects
				s.Cost = RunCost{MaxUSD: usd(0), ExpectedUSD: usd(0), HourlyUSD: usd(0)}
			}
			continue
		}
		c.HourlyUSD = sum(c.HourlyUSD, s.hourly())
		c.ExpectedUSD = sum(c.ExpectedUSD, s.Cost.ExpectedUSD)
		if s.Cost.Unbounded != "" {
			unbounded[s.Cost.Unbounded] = append(unbounded[s.Cost.Unbounded], s.Address)
		}
		addr := b.capOf(s)
		byCap[addr] = append(byCap[addr], s)
	}
	c.MaxUSD = usd(0)
	for _, addr := range sortedKeys(byCap) {
		c.MaxUSD = sum(c.MaxUSD, b.mostUnder(addr, byCap[addr]))
	}
	b.saysEmpty()
	for _, p := range []**float64{&c.MaxUSD, &c.HourlyUSD, &c.ExpectedUSD, &c.MonthlyStorageUSD} {
		if *p != nil {
			*p = usd(**p)
		}
	}
	if len(unbounded) > 0 {
		var texts []string
		for _, reason := range sortedKeys(unbounded) {
			texts = append(texts, List(unbounded[reason], maxNamed)+": "+reason)
		}
		c.MaxUSD, c.Unbounded = nil, strings.Join(texts, "; ")
	}
	c.Basis = "every boot attempt, max_hours, overrun_hours and the time after the end at the dearest offer, container disk and volume included; at most max_cost_usd for a run and max_total_usd for a cap"
}

// hourly is the rate of a step; a run whose pod is gone costs nothing.
func (s *Step) hourly() *float64 {
	if s.Cost.HourlyUSD == nil && s.Action == Collect && s.Cost.MaxUSD != nil {
		return usd(0)
	}
	return s.Cost.HourlyUSD
}

// staysBilled reports whether the volume of a step costs something after it.
func (b *builder) staysBilled(s *Step) bool { return s.Action != Destroy }

func (b *builder) capOf(s *Step) string {
	if s.Run != nil {
		return s.Run.Cap.Address
	}
	if _, run := b.st.FindRun(s.RunID); run != nil {
		return run.Bounds.Cap
	}
	return ""
}

// mostUnder adds up the steps of one cap, bounded by what its total leaves.
func (b *builder) mostUnder(addr string, steps []*Step) *float64 {
	most := usd(0)
	volumes := 0.0
	for _, s := range steps {
		most = sum(most, s.Cost.MaxUSD)
		if s.Cost.VolumeUSD != nil {
			volumes += *s.Cost.VolumeUSD
		}
	}
	total := 0.0
	for _, s := range steps {
		if s.Run != nil {
			total = s.Run.Cap.MaxTotalUSD
		}
	}
	if total <= 0 {
		return most
	}
	left := total - b.spending(addr).SpentUSD
	for _, s := range steps {
		if s.Action == Attach || s.Action == Collect {
			if at, run := b.st.FindRun(s.RunID); run != nil {
				left += b.spentBy(b.st.Resources[at].Provider, run) // their most is what they cost in all
			}
		}
	}
	left = max(left, 0) + volumes
	if most == nil || *most > left {
		b.saysTotal(addr, steps, total, most)
		return usd(left)
	}
	return most
}

// saysTotal tells when a cap's total is what holds the runs of a plan back.
func (b *builder) saysTotal(addr string, steps []*Step, total float64, most *float64) {
	steps = slices.DeleteFunc(slices.Clone(steps), func(s *Step) bool { return !s.Begins() })
	if len(steps) == 0 {
		return
	}
	sums := b.spending(addr)
	may := "an unknown sum"
	if most != nil {
		may = money.USD(*most)
	}
	detail := fmt.Sprintf("max_total_usd is %s, of which %s is spent and %s reserved by runs that may still bill.", money.USD(total), money.USD(sums.SpentUSD), money.USD(sums.ReservedUSD))
	left := total - sums.Total()
	if !slices.ContainsFunc(steps, func(s *Step) bool { return b.mayBegin(s, left) }) {
		if left > 0 {
			detail += fmt.Sprintf(" A run that may cost more than the %s that are left has to get half an hour of its pod for them, and gets less.", money.Left(left))
		}
		b.empty = append(b.empty, emptyCap{addr, detail, steps})
		return
	}
	b.warnAt(b.capRange(addr, "max_total_usd"), addr+" allows less than its runs may cost",
		fmt.Sprintf("%s The runs of this plan may cost %s. One for which too little is left beside others waits for what they give back at their end. What is left then bounds it: where that is less than its own limits allow it has to buy half an hour of its pod, or the run does not start.", detail, may))
}

// hair is how little less of a sum still counts as all of it: sums are added up in
// floating point.
const hair = 1e-9

// mayBegin reports whether what is left of a cap's total lets a step begin on any
// of its offers, as apply decides it.
func (b *builder) mayBegin(s *Step, left float64) bool {
	t, c, offers := s.Run.Target, s.Run.Cap, b.p.Offers[s.Address]
	if t.Free || len(offers) == 0 {
		return t.Free || left > 0
	}
	return slices.ContainsFunc(offers, func(o Offer) bool {
		if o.PriceUSD == nil {
			return left > 0
		}
		rate := *o.PriceUSD + t.DiskHourly()
		least := rate * leastCapTime.Hours()
		if s.Run.KeepPodS >= 0 {
			least = min(least, rate*lifeHours(c, s.Run.KeepPodS))
		}
		if c.MaxCostUSD > 0 {
			least = min(least, c.MaxCostUSD)
		}
		return left > 0 && left+hair >= least
	})
}

// emptyCap is a cap of which too little is left for the steps that would begin
// under it.
type emptyCap struct {
	addr, detail string
	steps        []*Step
}

// saysEmpty tells which runs do not begin because too little is left for them. That
// is an error only where the plan would do nothing else: what goes on and what
// has ended must not wait for it.
func (b *builder) saysEmpty() {
	without := map[*Step]bool{}
	for _, e := range b.empty {
		for _, s := range e.steps {
			without[s] = true
		}
	}
	more := slices.ContainsFunc(b.p.Steps, func(s *Step) bool { return (s.Action.Changes() || s.Action == Attach) && !without[s] })
	for _, e := range b.empty {
		at := b.capRange(e.addr, "max_total_usd")
		if !more {
			b.errorAt(at, "too little is left under "+e.addr, e.detail+" Raise max_total_usd to go on.")
			continue
		}
		var names []string
		for _, s := range e.steps {
			names = append(names, s.Address)
			s.Reason += "; begins only if enough is left under " + e.addr + " by then"
		}
		b.warnAt(at, "too little is left under "+e.addr,
			fmt.Sprintf("%s What goes on is followed and what has ended is collected; nothing is rented for %s, unless one of those ends and leaves enough, which is waited for. Raise max_total_usd to go on.", e.detail, List(names, maxNamed)))
	}
}

// spending is what is used of a cap's total as far as the account tells: a pod
// that is gone bills no more, and what it had reserved is free, as is what apply ends
// before it begins anything.
func (b *builder) spending(addr string) state.Spending {
	sums := state.Spending{SpentUSD: b.st.Spend[addr].USD}
	b.st.EachRun(func(at string, run *state.Run) {
		if run.Bounds.Cap != addr || run.Settled {
			return
		}
		spent := b.spentBy(b.st.Resources[at].Provider, run)
		sums.SpentUSD += spent
		if !b.lost[run.ID] && !endsFirst(run) {
			sums.ReservedUSD += max(0, run.ReservedUSD-(spent-run.CostUSD))
		}
	})
	return sums
}

// endsFirst reports whether apply deletes a run's pod before it begins anything: what
// was reserved for it is free then.
func endsFirst(run *state.Run) bool {
	pod := run.Pod
	switch {
	case pod == nil || pod.Gone() || len(run.Strays) > 0 || run.Unanswered():
		return false
	case pod.State == state.PodAwaiting:
		return run.Retrieved
	}
	return run.BeingDeleted() || run.Phase.Ended() && pod.State != state.PodKept
}

// spentBy is what a run has cost until now, or until its pod that is gone was.
func (b *builder) spentBy(provider string, run *state.Run) float64 {
	until := b.in.Now
	if b.in.UnseenEnd != nil && b.isLost(provider, run) {
		if end, bounded := b.in.UnseenEnd(provider, run); bounded && end.Before(until) {
			until = end
		}
	}
	return run.SpentUSD(until)
}

// sum adds two amounts; unknown stays unknown.
func sum(a, b *float64) *float64 {
	if a == nil || b == nil {
		return nil
	}
	v := *a + *b
	return &v
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
