package config

import (
	"math"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// runValue is what expressions see of a run block.
func (s *session) runValue(d *decl) cty.Value {
	instances := s.p.runs[d]
	values := make([]cty.Value, len(instances))
	keys := make([]any, len(instances))
	for i, ri := range instances {
		keys[i] = ri.run.Key
		if result, ended := s.result(ri); ended {
			values[i] = endedValue(ri.run.Address, result)
			continue
		}
		if ri.unknown == cty.NilVal {
			ri.unknown = comingValue(ri.run.Address)
		}
		values[i] = ri.unknown
	}
	return blockValue(d, keys, values)
}

// result is what is known of an instance's end.
func (s *session) result(ri *runInstance) (RunResult, bool) {
	if s.base != nil && s.results != nil {
		if r, ok := s.results(ri.run.Address); ok {
			return r, true
		}
	}
	if ri.result != nil {
		return *ri.result, true
	}
	return RunResult{}, false
}

// resultOf is result by address.
func (s *session) resultOf(addr string) (RunResult, bool) {
	if s.base != nil && s.results != nil {
		if r, ok := s.results(addr); ok {
			return r, true
		}
	}
	if s.p.byAddr == nil || len(s.p.byAddr) != s.p.instances {
		s.p.byAddr = map[string]*runInstance{}
		for _, instances := range s.p.runs {
			for _, ri := range instances {
				s.p.byAddr[ri.run.Address] = ri
			}
		}
	}
	if ri := s.p.byAddr[addr]; ri != nil {
		return s.result(ri)
	}
	return RunResult{}, false
}

func endedValue(addr string, r RunResult) cty.Value {
	m := source{addr}
	return cty.ObjectVal(map[string]cty.Value{
		"address": cty.StringVal(addr),
		"id":      cty.StringVal(r.ID).Mark(m), "state": cty.StringVal(r.State).Mark(m),
		"dir": cty.StringVal(r.Dir).Mark(m), "output_dir": outputDirValue(r).Mark(m),
		"cost_usd": costValue(r).Mark(m), "seconds": number(r.Seconds).Mark(m),
		"gpu_type": cty.StringVal(r.GPUType).Mark(m), "metrics": metricsValue(r).Mark(m),
	})
}

// costValue is what a run has cost; not known while a pod of it bills.
func costValue(r RunResult) cty.Value {
	if r.CostOpen {
		return cty.UnknownVal(cty.Number)
	}
	return number(r.CostUSD)
}

// outputDirValue is where a run's results are; not known where none came home.
func outputDirValue(r RunResult) cty.Value {
	if r.OutputDir == "" {
		return cty.UnknownVal(cty.String)
	}
	return cty.StringVal(r.OutputDir)
}

// metricsValue is what a run measured last. One that did not succeed may never
// have come to write a value that others name: all of them stay unknown.
func metricsValue(r RunResult) cty.Value {
	if r.State != "" && r.State != "succeeded" {
		return cty.DynamicVal
	}
	metrics := map[string]cty.Value{}
	for name, v := range r.Metrics {
		metrics[name] = number(v)
	}
	return cty.ObjectVal(metrics)
}

// number turns a float into a value; what is no number is null.
func number(v float64) cty.Value {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return cty.NullVal(cty.Number)
	}
	return cty.NumberFloatVal(v)
}

// comingValue is a run that has not ended: every attribute but its address is
// known later.
func comingValue(addr string) cty.Value {
	m := source{addr}
	text, num := cty.UnknownVal(cty.String).Mark(m), cty.UnknownVal(cty.Number).Mark(m)
	return cty.ObjectVal(map[string]cty.Value{
		"address": cty.StringVal(addr), "id": text, "state": text, "dir": text, "output_dir": text,
		"cost_usd": num, "seconds": num, "gpu_type": text, "metrics": cty.DynamicVal.Mark(m),
	})
}

// Late gives a run whose dependencies have ended, with the values that hung on
// them, its inputs and its fingerprint. Results are by address; under the
// address of a volume its ID counts.
func (c *Config) Late(address string, results map[string]RunResult) (*Run, hcl.Diagnostics) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ri, d := c.prog.find(address)
	if ri == nil {
		return nil, hcl.Diagnostics{plain("no such run", address+" is not in the configuration")}
	}
	out := *ri.run
	s := c.prog.later(results)
	diags := s.bounds(func() { s.readLate(d, ri, &out) })
	diags = tidy(append(diags, s.diags...))
	if diags.HasErrors() {
		return nil, diags
	}
	return &out, diags
}

// readLate reads the parts of a run again that may hang on others.
func (s *session) readLate(d *decl, ri *runInstance, out *Run) {
	inst := s.again(d, ri.inst)
	if inst == nil {
		return
	}
	out.Late, out.Sensitive, out.Command, out.Setup, out.ResumeFrom = nil, nil, nil, "", ""
	out.DependsOn = slices.Clone(out.DependsOn)
	r := s.reader(d, inst)
	s.readJob(r, out)
	slices.Sort(out.DependsOn)
	out.DependsOn = slices.Compact(out.DependsOn)
	if r.failed {
		return
	}
	if len(out.Late) > 0 {
		out.Fingerprint = ""
		return
	}
	own := s.ownInputs(out)
	out.Inputs = inputs(own, ri.set, len(s.p.runs[d]))
	out.Fingerprint = fingerprint(own, ri.set)
}

// again gives an instance whose each.value is the one given.
func (s *session) again(d *decl, inst *instance) *instance {
	each := d.block.Body.Attributes["for_each"]
	if each == nil || inst.key == nil {
		return inst
	}
	late := false
	for _, ref := range s.p.info[each.Expr].refs {
		late = late || ref.late
	}
	if !late {
		return inst
	}
	if s.expanded == nil {
		s.expanded = map[*decl]map[any]*instance{}
	}
	if s.expanded[d] == nil {
		s.expanded[d] = map[any]*instance{}
		instances, _ := s.expand(d)
		for _, i := range instances {
			s.expanded[d][i.key] = i
		}
	}
	return s.expanded[d][inst.key]
}

func (p *program) find(address string) (*runInstance, *decl) {
	for d, instances := range p.runs {
		if !d.repeated && d.addr() != address {
			continue
		}
		for _, ri := range instances {
			if ri.run.Address == address {
				return ri, d
			}
		}
	}
	return nil, nil
}

// later starts a session that knows more results.
func (p *program) later(results map[string]RunResult) *session {
	return p.newSession(p.base, func(addr string) (RunResult, bool) {
		r, ok := results[addr]
		return r, ok
	})
}
