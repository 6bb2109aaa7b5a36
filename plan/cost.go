package plan

import (
	"fmt"
	"math"
	"time"

	"github.com/overbrainer/overbrainer/internal/money"
	"github.com/overbrainer/overbrainer/state"
)

// Storage prices in USD, as Runpod publishes them.
const (
	hoursPerMonth    = 720
	diskGBMonth      = 0.10
	volumeGBMonth    = 0.07 // up to volumeTierGB
	volumeGBBeyond   = 0.05
	volumeTierGB     = 1000
	highPerformance  = "high_performance"
	gpuHoursRounding = 1e4
)

// What an attempt to get a pod may take beyond the target's ready_timeout: the
// guard's own proof on the pod, and answers and deletions that stay unclear.
const (
	proofTime   = 3 * time.Minute
	unclearTime = 2 * time.Minute
)

// DiskHourly is what a pod's container disk costs an hour in USD besides the
// pod; 0 for a size that is not known.
func (t TargetSpec) DiskHourly() float64 {
	if disk := t.diskHourly(); disk != nil {
		return *disk
	}
	return 0
}

// diskHourly is the same; nil for a size that is not known.
func (t TargetSpec) diskHourly() *float64 {
	usd := float64(t.DiskGB) * diskGBMonth / hoursPerMonth
	switch {
	case t.Free || t.DiskIncluded:
		usd = 0
	case t.DiskGB <= 0:
		return nil
	}
	return &usd
}

// VolumeMonthly is what a network volume costs a month; nil where the price is
// not published (high performance) or the size not known.
func VolumeMonthly(sizeGB int, kind string) *float64 {
	if sizeGB <= 0 || kind == highPerformance {
		return nil
	}
	usd := volumeGBMonth*float64(min(sizeGB, volumeTierGB)) + volumeGBBeyond*float64(max(0, sizeGB-volumeTierGB))
	return &usd
}

// attemptHours is how long one pod may bill that never gets ready.
func attemptHours(t TargetSpec) float64 {
	return (time.Duration(t.ReadyTimeoutS)*time.Second + proofTime + unclearTime).Hours()
}

// lifeHours is how long a pod may live from its creation on: nothing outlives
// it. keepS is how long it stays after the job's end.
func lifeHours(c CapSpec, keepS int) float64 {
	return c.MaxHours + c.OverrunHours + float64(max(c.RetrieveGraceS, keepS))/3600
}

// runCost is the most that a run can cost which is yet to be placed: every
// offer tried and never ready, and then the dearest one for its whole life.
// spent is what the run has cost so far.
func runCost(offers []Offer, spec *RunSpec, volume *VolumeSpec, spent float64) RunCost {
	var c RunCost
	t, bounds := spec.Target, spec.Cap
	disk := t.diskHourly()
	attempt, life := attemptHours(t), lifeHours(bounds, spec.KeepPodS)

	var dearest, all float64
	known := len(offers) > 0 && disk != nil
	for _, o := range offers {
		if o.PriceUSD == nil {
			known = false
			continue
		}
		dearest, all = max(dearest, *o.PriceUSD), all+*o.PriceUSD
		if o.Chosen && disk != nil {
			c.HourlyUSD = usd(*o.PriceUSD + *disk)
		}
	}
	hours := float64(len(offers))*attempt + life
	var most *float64
	if known {
		c.GPUUSD, c.DiskUSD = usd(all*attempt+dearest*life), usd(*disk*hours)
		most = usd(spent + *c.GPUUSD + *c.DiskUSD)
	}
	if bounds.MaxCostUSD > 0 && (most == nil || *most > bounds.MaxCostUSD) {
		most, c.GPUUSD, c.DiskUSD = usd(bounds.MaxCostUSD), nil, nil
	}
	if spec.KeepPodS < 0 {
		c.Unbounded = keptForEver(c.HourlyUSD, bounds.MaxCostUSD)
		return c
	}
	c.MaxUSD = c.withVolume(most, volume, bounds, hours)
	return c
}

// keptForEver says why the cost of a pod has no end but its cap of capUSD (0 =
// none).
func keptForEver(hourly *float64, capUSD float64) string {
	text := "the pod is kept for ever"
	if hourly != nil {
		text += ", at " + money.Price(*hourly) + " an hour until it is destroyed"
	}
	if capUSD > 0 {
		text += fmt.Sprintf(" or max_cost_usd = %g is spent", capUSD)
	}
	return text
}

// withVolume adds what the run's network volume costs meanwhile, at the size
// that it may be grown to.
func (c *RunCost) withVolume(most *float64, volume *VolumeSpec, bounds CapSpec, hours float64) *float64 {
	if most == nil || volume == nil {
		return most
	}
	monthly := VolumeMonthly(max(volume.SizeGB, bounds.MaxVolumeGB), volume.Type)
	if monthly == nil {
		return nil
	}
	c.VolumeUSD = usd(*monthly / hoursPerMonth * hours)
	return usd(*most + *c.VolumeUSD)
}

// liveCost is the most that a run can cost in all whose pod exists.
func liveCost(run *state.Run) RunCost {
	var c RunCost
	pod := run.Pod
	if pod == nil || pod.Gone() {
		c.MaxUSD = usd(run.CostUSD)
		return c
	}
	if run.Bounds.KeepPodS < 0 {
		c.Unbounded = keptForEver(nil, run.Bounds.MaxCostUSD)
	}
	if pod.RateUSD <= 0 && !pod.Free {
		if run.Bounds.MaxCostUSD > 0 && c.Unbounded == "" {
			c.MaxUSD = usd(run.Bounds.MaxCostUSD)
		}
		return c
	}
	c.HourlyUSD = usd(pod.RateUSD + pod.DiskUSD)
	if c.Unbounded != "" {
		c.Unbounded = keptForEver(c.HourlyUSD, run.Bounds.MaxCostUSD)
		return c
	}
	life := lifeHours(CapSpec{MaxHours: run.Bounds.MaxHours, OverrunHours: run.Bounds.OverrunHours, RetrieveGraceS: run.Bounds.RetrieveGrace}, run.Bounds.KeepPodS)
	most := run.CostUSD + (pod.RateUSD+pod.DiskUSD)*life
	if run.Bounds.MaxCostUSD > 0 {
		most = min(most, run.Bounds.MaxCostUSD)
	}
	c.MaxUSD = usd(most)
	return c
}

// expectedCost says what a run will probably cost, and by what that is known:
// the last comparable run, else expected_hours. Never more than the most.
func (b *builder) expectedCost(step *Step) (*float64, string) {
	spec, c := step.Run, step.Cost
	var cost float64
	var by string
	last := b.comparable(step.Address)
	switch {
	case c.MaxUSD != nil && *c.MaxUSD == 0:
		return usd(0), ""
	case last != nil:
		cost, by = last.CostUSD, "run "+last.ID
		if last.Pod != nil && last.Pod.RateUSD > 0 && c.HourlyUSD != nil {
			cost *= *c.HourlyUSD / (last.Pod.RateUSD + last.Pod.DiskUSD)
		}
	case spec.Cap.ExpectedHours > 0 && c.HourlyUSD != nil:
		cost, by = spec.Cap.ExpectedHours**c.HourlyUSD, "expected_hours"
	default:
		return nil, ""
	}
	if c.MaxUSD != nil {
		cost = min(cost, *c.MaxUSD)
	}
	return usd(cost), by
}

// comparable gives the newest run that succeeded: of the address, else of
// another instance of its block; nil if there is none.
func (b *builder) comparable(address string) *state.Run {
	if r := b.st.Resources[address]; r != nil && r.Run != nil {
		var own *state.Run
		for _, run := range r.Run.Runs {
			own = newer(own, run)
		}
		if own != nil {
			return own
		}
	}
	if b.ended == nil {
		b.ended = map[string]*state.Run{}
		b.st.EachRun(func(addr string, run *state.Run) { b.ended[blockOf(addr)] = newer(b.ended[blockOf(addr)], run) })
	}
	return b.ended[blockOf(address)]
}

// newer gives run where it succeeded, cost something and ended after last.
func newer(last, run *state.Run) *state.Run {
	if run.Phase != state.Succeeded || run.CostUSD <= 0 || run.EndedAt == nil || last != nil && !run.EndedAt.After(*last.EndedAt) {
		return last
	}
	return run
}

// usd gives a sum of money, rounded up to a hundredth of a cent, so that a
// ceiling stays one and the same sum always looks the same.
func usd(v float64) *float64 {
	v = math.Ceil(v*gpuHoursRounding-1e-6) / gpuHoursRounding
	if v == 0 {
		v = 0 // never -0
	}
	return &v
}
