package plan

import (
	"encoding/json"
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/overbrainer/overbrainer/config"
	"github.com/overbrainer/overbrainer/internal/money"
	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/state"
)

// planVolumes makes the steps of the configured volumes.
func (b *builder) planVolumes() {
	for _, addr := range sortedKeys(b.in.Config.Volumes) {
		v := b.in.Config.Volumes[addr]
		step := b.planVolume(v)
		step.Cost.MonthlyUSD = monthlyOf(step.Volume, b.live(v.Provider, step.Volume.ID))
		b.take(step)
		b.volumes[addr] = *step.Volume
	}
}

func (b *builder) planVolume(v *config.Volume) *Step {
	want := &VolumeSpec{
		ID: v.ID, Name: v.Name, SizeGB: v.SizeGB, DataCenter: v.DataCenter, Type: v.Type, Retain: v.Retain,
		Managed: v.Managed(), Provider: v.Provider,
	}
	step := &Step{Address: v.Address, Type: "volume", Name: v.Block, Index: v.Key, Volume: want, Before: json.RawMessage("null"), ChangedInputs: []string{}}
	have := b.stateVolume(v.Address)
	if have != nil {
		step.Before = raw(have)
		if want.Managed && have.Managed {
			want.ID = have.ID
		}
	}
	live := b.live(v.Provider, want.ID)
	switch {
	case !want.Managed && (have == nil || have.ID != want.ID):
		b.adopt(step, v, live)
	case have == nil:
		step.Action, step.Reason, step.AfterUnknown = Create, "not in the state", []string{"id"}
	case have.ID == "":
		step.Action, step.AfterUnknown = Create, []string{"id"}
		step.Reason = "an earlier create was not answered: it is looked for by its name first"
	case live == nil && b.account(v.Provider).hasVolumes:
		b.vanished(step, v)
	default:
		b.compare(step, v, have, live)
	}
	if step.Action == NoOp && have != nil && want.Managed && have.Retain != want.Retain {
		step.Action, step.Reason = Refresh, fmt.Sprintf("retain is %t now", want.Retain)
	}
	step.After = raw(want)
	return step
}

// adopt takes a volume that exists into the state.
func (b *builder) adopt(step *Step, v *config.Volume, live *providers.Volume) {
	step.Action, step.Reason = Adopt, "exists, named by its ID"
	if live == nil {
		if b.account(v.Provider).hasVolumes {
			b.volumeError(v, "id", fmt.Sprintf("there is no network volume %q", v.ID), "overbrainer pod volumes lists those that the account has.")
		}
		return
	}
	b.differs(step, v, live.SizeGB, live.DataCenter, live.Type)
	step.Volume.Name = live.Name
}

// vanished is for a volume of the state that the account has no more.
func (b *builder) vanished(step *Step, v *config.Volume) {
	if !v.Managed() {
		step.Action, step.Reason = NoOp, "is not in the account any more"
		b.volumeError(v, "id", fmt.Sprintf("there is no network volume %q any more", v.ID), "It was deleted elsewhere. Remove the block, or name another volume.")
		return
	}
	step.Action, step.Reason, step.AfterUnknown = Create, fmt.Sprintf("volume %s was deleted elsewhere, with what was on it", step.Volume.ID), []string{"id"}
	step.Volume.ID = ""
	b.warnAt(v.Range, v.Address+" was deleted elsewhere", "A new, empty one is created in its place.")
}

// compare is for a volume that the state and, where it was looked at, the
// account have.
func (b *builder) compare(step *Step, v *config.Volume, have *state.Volume, live *providers.Volume) {
	step.Action, step.Reason = NoOp, "nothing changed"
	size, place, kind := have.SizeGB, have.DataCenter, have.Type
	if live != nil {
		size, place, kind = live.SizeGB, live.DataCenter, live.Type
	}
	b.differs(step, v, size, place, kind)
}

// differs compares what is asked with what is there. Only growing is possible.
func (b *builder) differs(step *Step, v *config.Volume, size int, place, kind string) {
	want := step.Volume
	was := *want
	if place != "" {
		want.DataCenter = place
	}
	if kind != "" {
		want.Type = kind
	}
	if was.DataCenter != "" && place != "" && was.DataCenter != place {
		b.volumeError(v, "data_center", v.Address+" cannot be moved",
			fmt.Sprintf("It is in %s, and a network volume stays in its data center. Make a second volume block in %s and copy the data, or set data_center back.", place, was.DataCenter))
	}
	if was.Type != "" && kind != "" && was.Type != kind {
		b.volumeError(v, "type", v.Address+" cannot change its type",
			fmt.Sprintf("It is %s. Make a second volume block of type %s and copy the data, or set type back.", kind, was.Type))
	}
	switch {
	case was.SizeGB == 0 || size == 0 || was.SizeGB == size:
		want.SizeGB = max(size, was.SizeGB)
	case was.SizeGB > size:
		step.Action, step.Reason = growing(step.Action), fmt.Sprintf("from %d to %d GB", size, was.SizeGB)
	case b.grownByRuns(v, size):
		want.SizeGB = size
		b.warnAt(b.attrRange(v.AttrRanges, "size_gb", v.Range), v.Address+" has grown",
			fmt.Sprintf("A run's cap let it grow to %d GB, and it cannot shrink. Set size_gb = %d to say so.", size, size))
	default:
		want.SizeGB = size
		b.volumeError(v, "size_gb", v.Address+" cannot shrink",
			fmt.Sprintf("It has %d GB, and a network volume only grows: %d GB would need a second volume and a copy of the data. Set size_gb back to %d.", size, was.SizeGB, size))
	}
}

func growing(a Action) Action {
	if a == Adopt {
		return Adopt // and grown by the same step
	}
	return Grow
}

// grownByRuns reports whether a cap of the configuration allows runs to grow
// the volume to the size.
func (b *builder) grownByRuns(v *config.Volume, size int) bool {
	for _, run := range b.in.Config.Runs {
		if run.Target.Volume != nil && run.Target.Volume.Address == v.Address && run.Cap.MaxVolumeGB >= size {
			return true
		}
	}
	return false
}

func (b *builder) volumeError(v *config.Volume, attr, summary, detail string) {
	b.errorAt(b.attrRange(v.AttrRanges, attr, v.Range), summary, detail)
}

func (b *builder) stateVolume(addr string) *state.Volume {
	if r := b.st.Resources[addr]; r != nil {
		return r.Volume
	}
	return nil
}

// live finds a volume in the account, nil if it was not looked at or is not
// there.
func (b *builder) live(provider, id string) *providers.Volume {
	if id == "" {
		return nil
	}
	return b.account(provider).volume(id)
}

// monthlyOf is what a volume costs a month: what the provider says, where the
// size stays, else by the published prices; nil = unknown.
func monthlyOf(v *VolumeSpec, live *providers.Volume) *float64 {
	if live != nil && live.MonthlyUSD > 0 && live.SizeGB == v.SizeGB {
		return usd(live.MonthlyUSD)
	}
	if m := VolumeMonthly(v.SizeGB, v.Type); m != nil {
		return usd(*m)
	}
	return nil
}

// volumeStep is a step about a volume of the state that is to go; what is done
// is for the caller to say.
func (b *builder) volumeStep(addr string, r *state.Resource) *Step {
	v := r.Volume
	spec := &VolumeSpec{ID: v.ID, Name: v.Name, SizeGB: v.SizeGB, DataCenter: v.DataCenter, Type: v.Type, Retain: v.Retain, Managed: v.Managed, Provider: r.Provider}
	step := &Step{Address: addr, Type: "volume", Name: nameOf(addr), Index: keyOf(addr), Volume: spec, Before: raw(v), After: json.RawMessage("null"), ChangedInputs: []string{}}
	step.Cost.MonthlyUSD = monthlyOf(spec, b.live(r.Provider, v.ID))
	return step
}

// goneVolume makes the step of a volume that left the configuration.
func (b *builder) goneVolume(addr string, r *state.Resource) *Step {
	v, step := r.Volume, b.volumeStep(addr, r)
	cost := "an unknown sum"
	if step.Cost.MonthlyUSD != nil {
		cost = money.USD(*step.Cost.MonthlyUSD)
	}
	removal := b.removal(addr)
	switch {
	case !v.Managed || v.Retain || removal != nil && !removal.Destroy:
		step.Action, step.Reason = Forget, fmt.Sprintf("left the configuration; the volume stays and costs %s a month", cost)
	case b.in.DestroyVolumes:
		step.Action, step.Reason = Destroy, "left the configuration, retain = false"
	default:
		step.Action, step.Reason = NoOp, fmt.Sprintf("left the configuration; retain = false: overbrainer destroy -volumes -target=%s deletes it, until then it costs %s a month", ShellWord(addr), cost)
		b.warnAt(hcl.Range{}, addr+" is not in the configuration any more", upper(step.Reason)+".")
	}
	return step
}
