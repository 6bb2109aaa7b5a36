package plan

import (
	"encoding/json"
	"reflect"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/overbrainer/overbrainer/config"
	"github.com/overbrainer/overbrainer/state"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

func (b *builder) outputs(results map[string]config.RunResult) {
	values, diags := b.in.Config.EvalOutputs(results)
	b.hcl(diags)
	for name, out := range values {
		p := OutputPlan{Sensitive: out.Sensitive}
		have, known := b.st.Outputs[name]
		if !out.Value.IsWhollyKnown() {
			// Following a run that goes on is no change, nor is what it will give.
			p.Unknown = true
			p.Changed = !known && slices.ContainsFunc(b.p.Steps, func(s *Step) bool { return s.Action.Changes() })
		} else {
			value, kind := jsonOf(out.Value)
			same := have.Withheld || sameJSON(have.Value, value)
			p.Changed = !known || !same || have.Sensitive != out.Sensitive
			if !out.Sensitive {
				p.Value, p.Type = value, kind
			}
		}
		b.p.Outputs[name] = p
	}
	for name, have := range b.st.Outputs {
		if _, there := values[name]; !there && len(b.in.Targets) == 0 && !diags.HasErrors() {
			b.p.Outputs[name] = OutputPlan{Sensitive: have.Sensitive, Changed: true}
		}
	}
}

func (b *builder) hcl(diags hcl.Diagnostics) {
	b.say(FromHCL(diags, b.in.Config.Files())...)
}

// OutputOf gives an output's value in the form of the state.
func OutputOf(value cty.Value, sensitive bool) state.Output {
	v, kind := jsonOf(value)
	return state.Output{Value: v, Type: kind, Sensitive: sensitive}
}

// jsonOf gives a value and its type as JSON values.
func jsonOf(v cty.Value) (value, kind any) {
	v, _ = v.UnmarkDeep()
	data, err := ctyjson.SimpleJSONValue{Value: v}.MarshalJSON()
	if err != nil || json.Unmarshal(data, &value) != nil {
		return nil, nil
	}
	if data, err = ctyjson.MarshalType(v.Type()); err == nil {
		_ = json.Unmarshal(data, &kind)
	}
	return value, kind
}

func sameJSON(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	if errX != nil || errY != nil {
		return false
	}
	var m, n any
	if json.Unmarshal(x, &m) != nil || json.Unmarshal(y, &n) != nil {
		return false
	}
	return reflect.DeepEqual(m, n)
}
