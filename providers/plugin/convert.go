package plugin

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/providers/plugin/providerpb"
)

// mapped applies f to every element.
func mapped[A, B any](in []A, f func(A) B) []B {
	if in == nil {
		return nil
	}
	out := make([]B, len(in))
	for i, a := range in {
		out[i] = f(a)
	}
	return out
}

func timeTo(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

func timeFrom(t *timestamppb.Timestamp) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.AsTime()
}

func describeTo(d providers.Description) *providerpb.DescribeResponse {
	return &providerpb.DescribeResponse{
		Name:    d.Name,
		Version: d.Version,
		Attributes: mapped(d.Schema.Attributes, func(a providers.Attribute) *providerpb.Attribute {
			return &providerpb.Attribute{
				Name: a.Name, Type: string(a.Type), Description: a.Description,
				Required: a.Required, Sensitive: a.Sensitive,
			}
		}),
		Capabilities:      mapped(d.Capabilities, func(c providers.Capability) string { return string(c) }),
		Guard:             &providerpb.Guard{Functions: d.Guard.Functions, Env: d.Guard.Env},
		SecretPlaceholder: d.SecretPlaceholder,
		VolumeMount:       d.VolumeMount,
		Environment:       d.Environment,
	}
}

func describeFrom(p *providerpb.DescribeResponse) providers.Description {
	return providers.Description{
		Name:    p.GetName(),
		Version: p.GetVersion(),
		Schema: providers.Schema{Attributes: mapped(p.GetAttributes(), func(a *providerpb.Attribute) providers.Attribute {
			return providers.Attribute{
				Name: a.GetName(), Type: providers.AttributeType(a.GetType()), Description: a.GetDescription(),
				Required: a.GetRequired(), Sensitive: a.GetSensitive(),
			}
		})},
		Capabilities:      mapped(p.GetCapabilities(), func(c string) providers.Capability { return providers.Capability(c) }),
		Guard:             providers.Guard{Functions: p.GetGuard().GetFunctions(), Env: p.GetGuard().GetEnv()},
		SecretPlaceholder: p.GetSecretPlaceholder(),
		VolumeMount:       p.GetVolumeMount(),
		Environment:       p.GetEnvironment(),
	}
}

func configureTo(r providers.ConfigureRequest) (*providerpb.ConfigureRequest, error) {
	p := &providerpb.ConfigureRequest{Project: r.Project, Environment: r.Environment}
	if len(r.Values) > 0 {
		p.Values = make(map[string]*providerpb.Value, len(r.Values))
	}
	for k, v := range r.Values {
		switch v := v.(type) {
		case string:
			p.Values[k] = &providerpb.Value{Value: &providerpb.Value_Text{Text: v}}
		case bool:
			p.Values[k] = &providerpb.Value{Value: &providerpb.Value_Flag{Flag: v}}
		case float64:
			p.Values[k] = &providerpb.Value{Value: &providerpb.Value_Number{Number: v}}
		default:
			return nil, &providers.Error{Kind: providers.Invalid, Op: "configure",
				Message: fmt.Sprintf("attribute %s is a %T, which no provider takes", k, v)}
		}
	}
	return p, nil
}

func configureFrom(p *providerpb.ConfigureRequest) providers.ConfigureRequest {
	r := providers.ConfigureRequest{Project: p.GetProject(), Environment: p.GetEnvironment()}
	if len(p.GetValues()) > 0 {
		r.Values = make(map[string]any, len(p.GetValues()))
	}
	for k, v := range p.GetValues() {
		switch v := v.GetValue().(type) {
		case *providerpb.Value_Text:
			r.Values[k] = v.Text
		case *providerpb.Value_Flag:
			r.Values[k] = v.Flag
		case *providerpb.Value_Number:
			r.Values[k] = v.Number
		}
	}
	return r
}

func configuredTo(c providers.Configured) *providerpb.ConfigureResponse {
	return &providerpb.ConfigureResponse{
		Problems: mapped(c.Problems, func(p providers.Problem) *providerpb.Problem {
			return &providerpb.Problem{Attribute: p.Attribute, Summary: valid(p.Summary), Detail: valid(p.Detail), Warning: p.Warning}
		}),
		Simulated: c.Simulated,
		Speed:     c.Speed,
	}
}

func configuredFrom(p *providerpb.ConfigureResponse) providers.Configured {
	return providers.Configured{
		Problems: mapped(p.GetProblems(), func(q *providerpb.Problem) providers.Problem {
			return providers.Problem{Attribute: q.GetAttribute(), Summary: q.GetSummary(), Detail: q.GetDetail(), Warning: q.GetWarning()}
		}),
		Simulated: p.GetSimulated(),
		Speed:     p.GetSpeed(),
	}
}
