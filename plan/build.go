package plan

import (
	"context"
	"errors"
	"maps"

	"github.com/overbrainer/overbrainer/state"
)

// Build makes the plan. Everything that is wrong with the configuration, the
// catalog or the state is in the plan's Diagnostics, beside what could be
// planned all the same; the error is for a context that ended or an Input that
// is not complete.
func Build(ctx context.Context, in Input) (*Plan, error) {
	if in.Config == nil || in.State == nil {
		return nil, errors.New("a plan needs a configuration and a state")
	}
	basis, err := Basis(in.State)
	if err != nil {
		return nil, err
	}
	b := &builder{
		ctx: ctx, in: in, st: movable(in.State),
		scopes: map[string]*scope{}, accounts: map[string]*account{}, targets: map[string]*resolved{},
		volumes: map[string]VolumeSpec{}, steps: map[string]*Step{},
		p: &Plan{
			FormatVersion: FormatVersion, OverbrainerVersion: in.Version, Timestamp: in.Now.UTC(), Destroying: in.Destroy, RefreshOnly: in.RefreshOnly,
			Project: Project{
				Name: in.Config.Project, Lineage: in.State.Lineage, Serial: in.State.Serial, StateDigest: basis,
				ConfigDigest: in.Config.Digest, Simulated: in.Simulated,
			},
			Steps: []*Step{}, Offers: map[string][]Offer{}, CatalogDiff: []CatalogChange{}, Checks: []CheckResult{},
			Outputs: map[string]OutputPlan{}, Leftovers: []Leftover{}, Diagnostics: []Diagnostic{},
		},
	}
	b.build()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return b.p, nil
}

// builder is a plan in the making.
type builder struct {
	ctx      context.Context
	in       Input
	st       *state.State // with the moves done; its entries are the input's, and only read
	p        *Plan
	scopes   map[string]*scope
	accounts map[string]*account
	targets  map[string]*resolved
	volumes  map[string]VolumeSpec // by address, as they will be
	resolved []*resolved           // in the order they were met
	steps    map[string]*Step      // by address
	ended    map[string]*state.Run // the newest run that succeeded, by block; nil until it is asked for
	lost     map[string]bool       // by run: its pod is not in the account any more
	said     map[saying]bool       // the plan's diagnostics
	buffer   []byte                // for reading files
	// checkpoints are those that were looked at, and why each cannot be used.
	checkpoints map[state.Checkpoint]string
	empty       []emptyCap // of which too little is left
	missing     []missing
}

// movable is a state whose entries can get other addresses; they themselves are
// st's, and only to be read.
func movable(st *state.State) *state.State {
	next := *st
	next.Resources = make(map[string]*state.Resource, len(st.Resources))
	maps.Copy(next.Resources, st.Resources)
	return &next
}

// take appends a step.
func (b *builder) take(s *Step) {
	b.p.Steps = append(b.p.Steps, s)
	b.steps[s.Address] = s
}

func (b *builder) build() {
	b.moves()
	switch {
	case b.in.Destroy:
		b.planDestroy()
	case b.in.RefreshOnly:
		b.planRefresh()
	default:
		b.planVolumes()
		b.planRuns()
		b.planGone()
	}
	b.selectTargets()
	if !b.in.Destroy && !b.in.RefreshOnly {
		b.checkResumes()
		b.diffCatalogs()
	}
	b.findLeftovers()
	b.total()
	if !b.in.Destroy && !b.in.RefreshOnly {
		b.conclude()
	}
	for _, s := range b.p.Steps {
		s.Actions = []Action{s.Action}
		if s.AfterUnknown == nil {
			s.AfterUnknown = []string{}
		}
	}
	b.p.Applyable = !b.failed()
}

// failed reports whether anything forbids executing the plan.
func (b *builder) failed() bool {
	for _, d := range b.p.Diagnostics {
		if d.Severity == "error" {
			return true
		}
	}
	for _, c := range b.p.Checks {
		if c.Status == "fail" || c.Status == "error" {
			return true
		}
	}
	return false
}

// HasChanges reports whether executing the plan would change anything, for
// -detailed-exitcode. Following a run that goes on is no change.
func (p *Plan) HasChanges() bool {
	for _, s := range p.Steps {
		if s.Action.Changes() {
			return true
		}
	}
	for _, o := range p.Outputs {
		if o.Changed {
			return true
		}
	}
	return len(p.Moves) > 0
}

// Failed reports whether the plan must not be executed: an error, or a check
// that did not pass.
func (p *Plan) Failed() bool { return !p.Applyable }
