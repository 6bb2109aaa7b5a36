package apply

import (
	"math"
	"time"

	"github.com/overbrainer/overbrainer/internal/money"
	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/state"
)

// Shares and limits of money.
const (
	// snapshotShare of the money is spent when a job is asked to save itself.
	snapshotShare = 0.95
	// aCent is how far a price may be off the one shown without being dearer.
	aCent = 0.01
	// hair is how little less of a sum still counts as all of it: sums are added up
	// in floating point.
	hair = 1e-9
	// leastBoot is the nominal time that a further attempt must be able to pay.
	leastBoot = 5 * time.Minute
)

// rateOf is what an hour of a pod that still bills costs, 0 for one that is gone.
func rateOf(p *state.Pod) float64 {
	if p == nil || p.Gone() {
		return 0
	}
	return p.HourUSD()
}

// seconds is how long the job took, in nominal time.
func (r *runner) seconds() float64 {
	run := r.run
	if run.StartedAt == nil {
		return 0
	}
	if run.EndedAt != nil {
		return r.took(run)
	}
	return r.nominal(r.now().Sub(*run.StartedAt))
}

// took is how long the job of a run that has ended took, in nominal seconds.
func (r *runner) took(run *state.Run) float64 {
	if run.StartedAt == nil || run.EndedAt == nil {
		return 0
	}
	return r.nominal(run.EndedAt.Sub(*run.StartedAt))
}

func (r *runner) nominal(d time.Duration) float64 {
	return math.Round(r.t.Nominal(d).Seconds()*10) / 10
}

// limitUSD is the most that the run may cost in all; 0 = no cap. It is
// max_cost_usd unless less was left under max_total_usd.
func (r *runner) limitUSD() float64 {
	if share, held := r.shareUSD(); share > 0 && (held || r.run.Bounds.MaxCostUSD <= 0) {
		return share
	}
	return r.run.Bounds.MaxCostUSD
}

// shareUSD is what the run may cost in all by what was set aside for it under
// max_total_usd, 0 without one; held reports that this is less than its own
// bounds allow, because of other runs.
func (r *runner) shareUSD() (usd float64, held bool) {
	run, b := r.run, r.run.Bounds
	if b.MaxTotalUSD <= 0 || run.Pod == nil {
		return 0, false
	}
	before, reserved, rate := run.CostUSD, run.ReservedUSD, run.Pod.HourUSD()
	if run.Pod.Gone() {
		before, reserved = before-run.Pod.SpendUSD, reserved+run.Pod.SpendUSD
	}
	if a := findAttempt(run, run.Pod.Attempt); a != nil && a.RateUSD > 0 {
		rate = a.RateUSD // what it was reserved at
	}
	worst := worstUSD(b, rate)
	if b.MaxCostUSD > 0 {
		worst = math.Min(worst, b.MaxCostUSD-before)
	}
	return before + reserved, reserved < worst-aCent/100
}

// worstUSD is the most that one more pod of the run can cost at the rate: its
// hours, the overrun, the grace and the time that it is kept.
func worstUSD(b state.Bounds, rate float64) float64 {
	if b.KeepPodS < 0 {
		return math.Inf(1)
	}
	after := float64(max(b.RetrieveGrace, b.KeepPodS)) / 3600
	return rate * (b.MaxHours + b.OverrunHours + after)
}

// purse is what one more pod may cost.
type purse struct {
	rate    float64
	usd     float64 // +Inf = no cap
	reserve float64 // to set aside under max_total_usd
}

// purseFor says what a pod at the rate may cost, or why the money does not
// allow one. It looks at everything else that is spent and reserved. A run takes less
// than it may cost only where waiting for others would not bring all of it.
func (r *runner) purseFor(st *state.State, run *state.Run, rate float64) (purse, error) {
	b := run.Bounds
	p := purse{rate: rate, usd: math.Inf(1)}
	if b.MaxCostUSD > 0 {
		p.usd = b.MaxCostUSD - run.CostUSD
	}
	worst := math.Min(worstUSD(b, rate), p.usd)
	if b.MaxTotalUSD > 0 {
		left := st.BudgetLeft(b.Cap, b.MaxTotalUSD, run.ID)
		if err := r.fits(st, run, worst, left, rate); err != nil {
			return p, err
		}
		p.usd = math.Min(p.usd, left)
		p.reserve = math.Min(worst, left)
		if !math.IsInf(worst, 1) {
			p.usd = math.Min(p.usd, p.reserve)
		}
	}
	if math.IsInf(p.usd, 1) {
		return p, nil
	}
	if rate <= 0 {
		return p, failf("cap_unset", "a cost cap needs a known price, and this type has none")
	}
	if p.usd < rate*leastBoot.Hours() {
		return p, failf("cost_cap", "%s is left for this run, which does not pay the boot of a pod at %s an hour: max_cost_usd = %g, max_total_usd = %g (%s; 0 is none), %s is spent on it",
			money.USD(math.Max(0, p.usd)), money.Price(rate), b.MaxCostUSD, b.MaxTotalUSD, b.Where, money.USD(run.CostUSD))
	}
	return p, nil
}

// fits says why a run that may cost so much does not begin with what is left under
// max_total_usd: it waits for what others give back, or that would not be enough.
func (r *runner) fits(st *state.State, run *state.Run, worst, left, rate float64) error {
	if worst <= left+hair {
		return nil
	}
	b, span := run.Bounds, r.t.Nominal(r.t.MinCapTime)
	least := rate * span.Hours()
	later, held, by := r.givenBack(st, run)
	if len(by) > 0 && (worst <= later+hair || left < least && least <= later) {
		return &shortError{bounds: b, worst: worst, left: left, held: held, by: by}
	}
	if least <= left {
		return nil
	}
	spending := st.Spending(b.Cap, run.ID)
	return failf("budget", "%s allows %s in all (%s): %s is spent and %s reserved for other runs, which leaves %s. That buys %s of a pod at %s an hour; a run that may cost more than is left, here %s, does not start for less than %s",
		b.Cap, money.USD(b.MaxTotalUSD), b.Where, money.USD(spending.SpentUSD+run.CostUSD), money.USD(spending.ReservedUSD), money.Left(left), plan.Minutes(left/rate), money.Price(rate), sumWords(worst), plan.Minutes(span.Hours()))
}

// capTimes gives when the purse asks for a snapshot and when it is empty, both
// zero without a cap. Seconds are cut off, which is on the safe side.
func (p purse) capTimes(from time.Time, t Timing) (snapshotAt, capAt time.Time) {
	if math.IsInf(p.usd, 1) || p.rate <= 0 {
		return time.Time{}, time.Time{}
	}
	return capTimes(p.usd, p.rate, from, t)
}

func capTimes(usd, rate float64, from time.Time, t Timing) (snapshotAt, capAt time.Time) {
	capAt = from.Add(t.Hours(usd / rate)).Truncate(time.Second)
	return costSnapshot(from, capAt, t), capAt
}

// costSnapshot is when the money of a pod asks for a snapshot.
func costSnapshot(created, capAt time.Time, t Timing) time.Time {
	span := capAt.Sub(created)
	early := created.Add(time.Duration(float64(span) * snapshotShare))
	if lead := capAt.Add(-t.lead(span)); lead.Before(early) {
		early = lead
	}
	return early.Truncate(time.Second)
}

// shortCap warns of a cap that buys little.
func (r *runner) shortCap(p purse) {
	if math.IsInf(p.usd, 1) || p.rate <= 0 {
		return
	}
	hours := r.t.Nominal(r.t.MinCapTime).Hours()
	if least := p.rate * hours; p.usd < least {
		r.warnf("the money buys only %s of this pod; %s would buy %s", plan.Minutes(p.usd/p.rate), money.USD(least), plan.Minutes(hours))
	}
}

// offerRate is what an hour on the offer costs at most; 0 = unknown.
func (r *runner) offerRate(o plan.Offer) float64 {
	if o.PriceUSD == nil || *o.PriceUSD <= 0 {
		return 0
	}
	return *o.PriceUSD + r.diskUSD
}

// sumWords writes a sum that may have no bound.
func sumWords(usd float64) string {
	if math.IsInf(usd, 1) {
		return "any sum"
	}
	return money.USD(usd)
}

func round4(usd float64) float64 { return math.Round(usd*10000) / 10000 }

// offerHour and podHour say for people what an hour costs.
func (r *runner) offerHour(o plan.Offer) string {
	if r.spec.Target.Free {
		return atNoCost
	}
	return anHour(r.offerRate(o))
}

func podHour(p *state.Pod) string {
	if p != nil && p.Free {
		return atNoCost
	}
	return anHour(p.HourUSD())
}

const atNoCost = "at no cost"

// anHour says a rate for people.
func anHour(rate float64) string {
	if rate <= 0 {
		return "at a rate that the provider did not tell"
	}
	return "at " + money.Price(rate) + " an hour"
}
