package config

import (
	"time"

	"github.com/zclconf/go-cty/cty"
)

// maxHours is the longest that a run may be allowed.
const maxHours = 720

// capBlock reads a cap block.
func (s *session) capBlock(d *decl) {
	r := s.reader(d, nil)
	c := &Cap{Address: d.addr(), Block: d.name, Range: d.rng, AttrRanges: attrRanges(d.block.Body)}
	c.MaxHours, _ = r.number("max_hours", 0, limits{above: true, atMost: maxHours, unit: "hours"})
	money := limits{above: true, atMost: 1e9, unit: "USD"}
	c.MaxCostUSD, _ = r.number("max_cost_usd", 0, money)
	total, f := r.number("max_total_usd", 0, money)
	c.MaxTotalUSD = total
	c.BootGrace = r.duration("boot_grace", 30*time.Minute, 5*time.Minute, 24*time.Hour)
	c.RetrieveGrace = r.duration("retrieve_grace", time.Hour, time.Minute, maxDuration)
	c.OverrunHours, _ = r.number("overrun_hours", 0, limits{atMost: maxHours, unit: "hours"})
	c.StallAfter = r.duration("stall_after", 0, time.Minute, maxDuration)
	c.MaxVolumeGB, _ = r.integer("max_volume_gb", 0, limits{atLeast: minVolumeGB, atMost: maxVolumeGB, unit: "GB"})
	c.ExpectedHours, _ = r.number("expected_hours", 0, limits{above: true, atMost: maxHours, unit: "hours"})
	if f.usable() && c.MaxCostUSD > 0 && c.MaxTotalUSD < c.MaxCostUSD {
		s.report(warnAt(f.rng, "one limit below the other", "max_total_usd is for all runs of the cap together, and is below max_cost_usd, which is for one"))
	}
	if f := r.get("expected_hours"); f.usable() && c.MaxHours > 0 && c.ExpectedHours > c.MaxHours+c.OverrunHours {
		s.report(warnAt(f.rng, "expected longer than allowed", "expected_hours is more than max_hours: a run that takes as long as expected is ended before it is done"))
	}
	d.failed = r.failed
	s.p.caps[d] = c
	s.p.cfg.Caps[c.Address] = c
}

// capValue is what expressions see of a cap block.
func (p *program) capValue(d *decl) cty.Value {
	c := p.caps[d]
	if c == nil {
		return brokenVal
	}
	return cty.ObjectVal(map[string]cty.Value{
		"address": cty.StringVal(c.Address), "max_hours": numberOrNull(c.MaxHours),
		"max_cost_usd": numberOrNull(c.MaxCostUSD), "max_total_usd": numberOrNull(c.MaxTotalUSD),
		"boot_grace": durationOrNull(c.BootGrace), "retrieve_grace": durationOrNull(c.RetrieveGrace),
		"overrun_hours": cty.NumberFloatVal(c.OverrunHours), "stall_after": durationOrNull(c.StallAfter),
		"max_volume_gb": numberOrNull(float64(c.MaxVolumeGB)), "expected_hours": numberOrNull(c.ExpectedHours),
	})
}
