package ui

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/overbrainer/overbrainer/internal/money"
	"github.com/overbrainer/overbrainer/plan"
)

// run shows where a run would be placed, its bounds and what it may cost.
// What is the same as in the step before is told by that step's address, and
// reported, so that a sweep of a hundred runs stays readable.
func (v planView) run(s, before *plan.Step) (alike bool) {
	later := slices.DeleteFunc(slices.Clone(s.Run.Late), func(part string) bool { return slices.Contains(s.Run.Sensitive, part) })
	if len(later) > 0 {
		v.field("later", "known when other runs have ended: "+clean(plan.List(later, 8)))
	}
	v.field("sensitive", clean(plan.List(s.Run.Sensitive, 8)))
	if len(s.DependsOn) > 0 {
		v.field("after", clean(plan.List(s.DependsOn, 4)))
	}
	offers := v.plan.Offers[s.Address]
	if before != nil && before.Run != nil && len(offers) > 0 &&
		reflect.DeepEqual(offers, v.plan.Offers[before.Address]) &&
		before.Run.Target.WaitForStockS == s.Run.Target.WaitForStockS && disk(before.Run.Target) == disk(s.Run.Target) &&
		uploads(before.Run) == uploads(s.Run) && bounds(before.Run) == bounds(s.Run) && reflect.DeepEqual(most(before), most(s)) {
		text := "like " + clean(before.Address) + ", at most " + usd(s.Cost.MaxUSD)
		if s.Cost.ExpectedUSD != nil {
			text += ", expected " + money.USD(*s.Cost.ExpectedUSD)
		}
		v.field("placed", text)
		return true
	}
	v.placing(s, offers)
	if starts(s.Action) {
		if e := s.Run.Target.Estimate; e != nil {
			v.field("vram", fmt.Sprintf("at least %d GB, estimated: %s", s.Run.Target.VRAMFloorGB, clean(e.String())))
		}
		if wait := s.Run.Target.WaitForStockS; wait > 0 {
			v.field("waits", "up to "+hours(float64(wait)/3600)+" where nothing can be rented; nothing bills meanwhile")
		}
	}
	if starts(s.Action) {
		v.field("uploads", uploads(s.Run))
	}
	v.field("bounds", bounds(s.Run))
	v.field("cost", runCost(s))
	return false
}

// most is what a run costs at most: what it is expected to cost hangs on what it
// cost before, and is another sum for each run of a sweep.
func most(s *plan.Step) plan.RunCost {
	cost := s.Cost
	cost.ExpectedUSD, cost.ExpectedBy = nil, ""
	return cost
}

// uploads says how much goes to the pod; "" where nothing does.
func uploads(run *plan.RunSpec) string {
	var bytes int64
	for _, u := range run.Uploads {
		bytes += u.Size
	}
	switch n := len(run.Uploads); n {
	case 0:
		return ""
	case 1:
		return "1 file, " + Bytes(bytes)
	default:
		return fmt.Sprintf("%d files, %s", n, Bytes(bytes))
	}
}

func (v planView) placing(s *plan.Step, offers []plan.Offer) {
	if len(offers) == 0 {
		return
	}
	first := 0
	for i, o := range offers {
		if o.Chosen {
			first = i
			break
		}
	}
	o := offers[first]
	gpu := clean(o.GPUType)
	if o.GPUCount > 1 {
		gpu = fmt.Sprintf("%d × %s", o.GPUCount, gpu)
	}
	if o.VRAMGB > 0 {
		gpu += fmt.Sprintf(" (%d GB)", o.VRAMGB)
	}
	v.field("gpu", fmt.Sprintf("%s, %s, %s, %s cloud", gpu, stockWords(o.Stock), where(o), clean(o.Cloud)))
	rate := price(o.PriceUSD) + " an hour"
	if h := s.Cost.HourlyUSD; h != nil && o.Chosen && o.PriceUSD != nil && money.Price(*h) != money.Price(*o.PriceUSD) {
		rate += fmt.Sprintf(", with its disk %s", money.Price(*s.Cost.HourlyUSD))
	}
	v.field("price", rate)
	v.field("disk", disk(s.Run.Target))
	var next []string
	for i, o := range offers {
		if i == first || o.Reserve {
			continue
		}
		next = append(next, clean(o.GPUType)+" "+price(o.PriceUSD))
	}
	if len(next) > 0 {
		v.field("else", plan.List(next, 3))
	} else {
		v.field("else", "nothing: "+nothingElse(s.Run.Target))
	}
}

// nothingElse says why there is one offer and no other.
func nothingElse(t plan.TargetSpec) string {
	switch {
	case t.Auto:
		return "no other type passes the limits and is in stock"
	case len(t.GPUTypes) == 1:
		return "gpu_types lists this type only"
	}
	return "no other type of gpu_types can be used"
}

// disk says how large the pod's own disk is where the target does not leave it
// to the default.
func disk(t plan.TargetSpec) string {
	switch {
	case t.DiskGB <= 0 || t.DiskFrom == "default":
		return ""
	case t.DiskFrom == "template":
		return fmt.Sprintf("%d GB, from template %s", t.DiskGB, clean(t.Template))
	}
	return fmt.Sprintf("%d GB, from the configuration", t.DiskGB)
}

// where names the places that an offer is bound to.
func where(o plan.Offer) string {
	if len(o.DataCenters) > 0 {
		return clean(plan.List(o.DataCenters, 3))
	}
	var in []string
	for _, p := range o.Places {
		if p.Stock == "low" || p.Stock == "medium" || p.Stock == "high" {
			in = append(in, p.DataCenter)
		}
	}
	if len(in) > 0 {
		return "any data center (in stock in " + clean(plan.List(in, 3)) + ")"
	}
	return "any data center"
}

func bounds(r *plan.RunSpec) string {
	b := []string{hours(r.Cap.MaxHours)}
	if r.Cap.OverrunHours > 0 {
		b[0] += " and " + hours(r.Cap.OverrunHours) + " more while followed"
	}
	if r.Cap.MaxCostUSD > 0 {
		b = append(b, money.USD(r.Cap.MaxCostUSD))
	}
	if r.Cap.MaxTotalUSD > 0 {
		b = append(b, money.USD(r.Cap.MaxTotalUSD)+" over all its runs")
	}
	text := strings.Join(b, ", ") + " (" + clean(r.Cap.Address)
	if r.Cap.Where != "" {
		text += ", " + clean(r.Cap.Where)
	}
	text += ")"
	switch {
	case r.KeepPodS < 0:
		text += "; the pod is KEPT until it is removed"
	case r.KeepPodS > 0:
		text += "; the pod stays " + hours(float64(r.KeepPodS)/3600) + " after the end"
	}
	return text
}

func runCost(s *plan.Step) string {
	if s.Action == plan.Hold {
		return "nothing while it is held"
	}
	text := "at most " + usd(s.Cost.MaxUSD)
	if s.Cost.Unbounded != "" {
		text = "unbounded: " + clean(s.Cost.Unbounded)
	}
	if s.Cost.ExpectedUSD != nil {
		text += ", expected " + money.USD(*s.Cost.ExpectedUSD)
		if s.Cost.ExpectedBy != "" {
			text += " (by " + clean(s.Cost.ExpectedBy) + ")"
		}
	}
	return text
}

func (v planView) volume(s *plan.Step) {
	vol := s.Volume
	text := fmt.Sprintf("%d GB in %s", vol.SizeGB, clean(vol.DataCenter))
	if vol.Type != "" {
		text += ", " + clean(vol.Type)
	}
	if vol.ID != "" {
		text += ", " + clean(vol.ID)
	}
	v.field("volume", text)
	cost := usd(s.Cost.MonthlyUSD) + " a month"
	if s.Action == plan.Forget {
		cost = "goes on costing " + cost
	}
	v.field("cost", cost)
	if vol.Managed && vol.Retain {
		v.field("retain", "overbrainer never deletes it")
	}
}

func starts(a plan.Action) bool { return a == plan.Run || a == plan.Rerun || a == plan.Resume }

// stockWords says a stock band in words.
func stockWords(stock string) string {
	switch stock {
	case "none":
		return "not in stock"
	case "unknown", "":
		return "stock unknown"
	}
	return clean(stock) + " stock"
}
