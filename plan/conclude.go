package plan

import (
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"
)

// conclude evaluates outputs and checks, which may look at everything else.
func (b *builder) conclude() {
	results := b.results()
	b.outputs(results)
	if len(b.in.Config.Checks) == 0 {
		return // a view of a large plan is large
	}
	for _, c := range b.in.Config.EvalChecks(b.p.View(), results) {
		b.p.Checks = append(b.p.Checks, CheckResult{Name: c.Name, Status: string(c.Status), Message: c.Message, Where: where(c.Range)})
	}
	// By name, so that the names of files do not matter.
	slices.SortStableFunc(b.p.Checks, func(x, y CheckResult) int { return strings.Compare(x.Name, y.Name) })
}

// View is the plan as check blocks see it. An amount that is not known is an
// unknown value, with which no condition passes. A step that spends nothing
// costs nothing.
func (p *Plan) View() cty.Value {
	adds, changes, destroys := 0, 0, 0
	runs := []cty.Value{}
	for _, s := range p.Steps {
		switch s.Action {
		case Run, Create, Adopt:
			adds++
		case Rerun, Resume, Grow, Collect, Refresh:
			changes++
		case Destroy, Forget:
			destroys++
		}
		if s.Type == "run" && s.Run != nil {
			runs = append(runs, p.runView(s))
		}
	}
	list := cty.EmptyTupleVal
	if len(runs) > 0 {
		list = cty.TupleVal(runs)
	}
	c := p.Cost
	return cty.ObjectVal(map[string]cty.Value{
		"max_cost_usd": number(c.MaxUSD), "expected_cost_usd": number(c.ExpectedUSD), "hourly_usd": number(c.HourlyUSD),
		"monthly_storage_usd": number(c.MonthlyStorageUSD),
		"adds":                cty.NumberIntVal(int64(adds)), "changes": cty.NumberIntVal(int64(changes)),
		"destroys": cty.NumberIntVal(int64(destroys)), "runs": list,
	})
}

func (p *Plan) runView(s *Step) cty.Value {
	cost := s.Cost
	if cost.HourlyUSD = s.hourly(); !s.spends() {
		cost.MaxUSD, cost.ExpectedUSD, cost.HourlyUSD = usd(0), usd(0), usd(0)
	}
	v := map[string]cty.Value{
		"address": cty.StringVal(s.Address), "action": cty.StringVal(string(s.Action)),
		"max_hours": cty.NumberFloatVal(s.Run.Cap.MaxHours), "gpu_count": cty.NumberIntVal(int64(s.Run.Target.GPUCount)),
		"cloud":        cty.StringVal(s.Run.Target.Cloud),
		"max_cost_usd": number(cost.MaxUSD), "expected_cost_usd": number(cost.ExpectedUSD), "price_per_hour": number(cost.HourlyUSD),
		"gpu_type": cty.NullVal(cty.String), "stock": cty.NullVal(cty.String), "data_center": cty.NullVal(cty.String),
		"data_centers": cty.ListValEmpty(cty.String),
	}
	for _, o := range p.Offers[s.Address] {
		if !o.Chosen {
			continue
		}
		v["gpu_type"], v["stock"] = cty.StringVal(o.GPUType), cty.StringVal(o.Stock)
		v["price_per_hour"] = number(o.PriceUSD)
		if len(o.DataCenters) > 0 {
			v["data_center"] = cty.StringVal(o.DataCenters[0])
			var places []cty.Value
			for _, place := range o.DataCenters {
				places = append(places, cty.StringVal(place))
			}
			v["data_centers"] = cty.ListVal(places)
		}
	}
	return cty.ObjectVal(v)
}

func number(p *float64) cty.Value {
	if p == nil {
		return cty.UnknownVal(cty.Number)
	}
	return cty.NumberFloatVal(*p)
}
