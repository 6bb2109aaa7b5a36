package config

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// planOf marks what is not known of the plan, wherever it is, so that whatever
// is computed from it tells why. Amounts that are null are not known either.
func planOf(view cty.Value) cty.Value {
	if view == cty.NilVal || !view.IsKnown() || view.IsNull() || !view.Type().IsObjectType() {
		return cty.DynamicVal.Mark(planned)
	}
	attrs := view.AsValueMap()
	if attrs == nil {
		attrs = map[string]cty.Value{}
	}
	for name, v := range attrs {
		switch name {
		case "max_cost_usd", "hourly_usd", "monthly_storage_usd":
			if v.IsNull() {
				v = cty.UnknownVal(cty.Number)
			}
		}
		attrs[name] = markUnknown(v)
	}
	return cty.ObjectVal(attrs)
}

// markUnknown marks the unknown values in v.
func markUnknown(v cty.Value) cty.Value {
	if v.IsWhollyKnown() {
		return v
	}
	marked, err := cty.Transform(v, func(_ cty.Path, part cty.Value) (cty.Value, error) {
		if !part.IsKnown() {
			part = part.Mark(planned)
		}
		return part, nil
	})
	if err != nil {
		return cty.DynamicVal.Mark(planned)
	}
	return marked
}

// overRuns reports whether an expression looks at the plan's runs. A filter
// over them loses the marks of an amount by which it cannot decide, so that the
// outcome alone does not tell why it is not known.
func overRuns(expr hclsyntax.Expression) bool {
	return slices.ContainsFunc(expr.Variables(), func(t hcl.Traversal) bool {
		if t.RootName() != "plan" {
			return false
		}
		if len(t) == 1 {
			return true
		}
		step, ok := t[1].(hcl.TraverseAttr)
		return !ok || step.Name == "runs"
	})
}

// unbounded reports whether the most that one of the plan's runs may cost is
// not known.
func unbounded(plan cty.Value) bool {
	if !plan.IsKnown() || !plan.Type().HasAttribute("runs") || !plan.GetAttr("runs").CanIterateElements() {
		return false
	}
	return slices.ContainsFunc(plan.GetAttr("runs").AsValueSlice(), func(run cty.Value) bool {
		return run.IsKnown() && run.Type().IsObjectType() && run.Type().HasAttribute("max_cost_usd") && !run.GetAttr("max_cost_usd").IsKnown()
	})
}
