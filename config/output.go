package config

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// Output is the value of an output block. Value has no marks; it may be
// unknown, in whole or in part.
type Output struct {
	Value     cty.Value
	Sensitive bool
}

// outputBlock reads an output block, its value apart.
func (s *session) outputBlock(d *decl) {
	out := &OutputBlock{Name: d.name, Range: d.rng}
	body := d.block.Body
	if v, diag := constant(body, "description", cty.String); diag != nil {
		s.report(diag)
	} else if v != nil && !v.IsNull() {
		out.Description = v.AsString()
	}
	if v, diag := constant(body, "sensitive", cty.Bool); diag != nil {
		s.report(diag)
	} else if v != nil && !v.IsNull() {
		out.Sensitive = v.True()
	}
	s.p.cfg.Outputs[d.name] = out
	s.outputValue(d, out)
}

// outputValue evaluates an output. One that is made of a sensitive value is
// sensitive itself.
func (s *session) outputValue(d *decl, out *OutputBlock) Output {
	attr := d.block.Body.Attributes["value"]
	if attr == nil || d.bad {
		return Output{Value: cty.DynamicVal, Sensitive: out.Sensitive}
	}
	raw, ok := s.eval(attr.Expr, nil)
	if !ok {
		return Output{Value: cty.DynamicVal, Sensitive: out.Sensitive}
	}
	v, t := unmark(raw)
	if t.broken {
		v = cty.DynamicVal
	}
	return Output{Value: v, Sensitive: out.Sensitive || t.sensitive}
}

// EvalOutputs gives the values of all outputs with the results that are known.
func (c *Config) EvalOutputs(results map[string]RunResult) (map[string]Output, hcl.Diagnostics) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.prog.later(results)
	out := map[string]Output{}
	diags := s.bounds(func() {
		for _, d := range c.prog.ofKind("output") {
			out[d.name] = s.outputValue(d, c.Outputs[d.name])
		}
	})
	return out, tidy(append(diags, s.diags...))
}
