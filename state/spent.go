package state

import "time"

// HourUSD is what the pod costs an hour, its disk with it; 0 where the provider
// did not tell.
func (p *Pod) HourUSD() float64 {
	if p == nil {
		return 0
	}
	return p.RateUSD + p.DiskUSD
}

// CostUSD is what the pod has cost until then.
func (p *Pod) CostUSD(until time.Time) float64 {
	return p.HourUSD() * max(0, p.Nominal(until.Sub(p.CreatedAt)).Hours())
}

// Nominal turns a real duration on the pod into the one that is shown and
// billed.
func (p *Pod) Nominal(real time.Duration) time.Duration {
	if p == nil || p.Speed <= 0 {
		return real
	}
	return time.Duration(float64(real) * p.Speed)
}

// SpentUSD is what the run has cost until now: what ended attempts cost, and
// what its pod and its strays have cost so far. An estimate from rate and time.
func (r *Run) SpentUSD(now time.Time) float64 {
	usd := r.CostUSD
	if p := r.Pod; p != nil && !p.Gone() {
		usd += p.CostUSD(now)
	}
	for _, stray := range r.Strays {
		usd += stray.RateUSD * max(0, r.Pod.Nominal(now.Sub(stray.Since)).Hours())
	}
	return usd
}

// CostOpen reports whether the run may have cost more than CostUSD and go on costing:
// something of it exists, or may.
func (r *Run) CostOpen() bool {
	return r.Pod != nil && !r.Pod.Gone() || len(r.Strays) > 0 || r.Unanswered()
}

// Waits reports whether the run has ended and its results are still on its pod.
func (r *Run) Waits() bool {
	return r.Phase.Ended() && !r.Retrieved && r.Pod != nil && !r.Pod.Gone()
}
