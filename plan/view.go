package plan

import "github.com/zclconf/go-cty/cty"

// View is the plan as check blocks see it under the name plan.
func (p *Plan) View() cty.Value { return (&builder{p: p}).view() }
