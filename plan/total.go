package plan

import (
	"fmt"
	"sort"
	"strings"

	"github.com/overbrainer/overbrainer/internal/money"
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
		c.SpentUSD[addr] = *usd(b.st.SpentUSD(addr, b.in.Now))
	}
	for addr := range b.st.Spend {
		c.SpentUSD[addr] = *usd(b.st.SpentUSD(addr, b.in.Now))
	}

	hourly, expected, storage := 0.0, 0.0, 0.0
	c.HourlyUSD, c.ExpectedUSD, c.MonthlyStorageUSD = &hourly, &expected, &storage
	byCap := map[string][]*Step{}
	var unbounded []string
	for _, s := range b.p.Steps {
		if s.Type == "volume" {
			if b.staysBilled(s) {
				c.MonthlyStorageUSD = sum(c.MonthlyStorageUSD, s.Cost.MonthlyUSD)
			}
			continue
		}
		if !s.spends() {
			continue
		}
		c.HourlyUSD = sum(c.HourlyUSD, s.hourly())
		c.ExpectedUSD = sum(c.ExpectedUSD, s.Cost.ExpectedUSD)
		if s.Cost.Unbounded != "" {
			unbounded = append(unbounded, s.Address+": "+s.Cost.Unbounded)
		}
		addr := b.capOf(s)
		byCap[addr] = append(byCap[addr], s)
	}
	c.MaxUSD = usd(0)
	for _, addr := range sortedKeys(byCap) {
		c.MaxUSD = sum(c.MaxUSD, b.mostUnder(addr, byCap[addr]))
	}
	for _, p := range []**float64{&c.MaxUSD, &c.HourlyUSD, &c.ExpectedUSD, &c.MonthlyStorageUSD} {
		if *p != nil {
			*p = usd(**p)
		}
	}
	if len(unbounded) > 0 {
		c.MaxUSD, c.Unbounded = nil, strings.Join(unbounded, "; ")
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
	left := total - b.st.Spending(addr, "").SpentUSD
	for _, s := range steps {
		if s.Action == Attach || s.Action == Collect {
			if _, run := b.st.FindRun(s.RunID); run != nil {
				left += run.CostUSD // their most is what they cost in all
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
	starts := 0
	for _, s := range steps {
		if s.Begins() {
			starts++
		}
	}
	if starts == 0 {
		return
	}
	sums := b.st.Spending(addr, "")
	left := b.st.BudgetLeft(addr, total, "")
	may := "an unknown sum"
	if most != nil {
		may = money.USD(*most)
	}
	summary := fmt.Sprintf("%s allows less than its runs may cost", addr)
	detail := fmt.Sprintf("max_total_usd is %s, of which %s is spent and %s reserved by runs that may still bill. The runs of this plan may cost %s; each is bounded to what is left when it starts, and one for which too little is left does not start.", money.USD(total), money.USD(sums.SpentUSD), money.USD(sums.ReservedUSD), may)
	rng := b.capRange(addr, "max_total_usd")
	if left <= 0 {
		b.errorAt(rng, fmt.Sprintf("nothing is left under %s", addr), detail+" Raise max_total_usd to go on.")
		return
	}
	b.warnAt(rng, summary, detail)
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
