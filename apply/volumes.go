package apply

import (
	"fmt"

	"github.com/overbrainer/overbrainer/internal/money"
	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/state"
)

// volumeStep executes a step on a network volume.
func (s *session) volumeStep(step *plan.Step) error {
	if step.Action == plan.Forget {
		return s.forgetAddress(step.Address)
	}
	provider := ""
	if step.Volume != nil {
		provider = step.Volume.Provider
	}
	if provider == "" {
		st, err := s.read()
		if err != nil {
			return err
		}
		if res := st.Resources[step.Address]; res != nil {
			provider = res.Provider
		}
	}
	if step.Action == plan.Destroy {
		return s.deleteVolume(step.Address, provider, step.Volume == nil || step.Volume.Retain)
	}
	rented, err := s.provider(provider)
	if err != nil {
		return err
	}
	if _, err := s.claims.take(step.Address); err != nil {
		return err
	}
	defer s.claims.release(step.Address)
	v := &volumeWork{s: s, address: step.Address, provider: provider, service: rented.Provider, spec: step.Volume, monthly: step.Cost.MonthlyUSD}
	switch step.Action {
	case plan.Create:
		return v.create()
	case plan.Grow:
		return v.grow()
	case plan.Adopt:
		return v.adopt()
	default:
		return failf("plan", "a volume has no action %q", step.Action).at(step.Address)
	}
}

// volumeWork is the work on one volume.
type volumeWork struct {
	s        *session
	address  string
	provider string
	service  providers.VolumeService
	spec     *plan.VolumeSpec
	monthly  *float64
}

// save writes changes of the volume's record, made where there is none.
func (v *volumeWork) save(change func(*state.Volume)) error {
	_, err := v.s.updateOnly(func(st *state.State) error {
		res := st.Resources[v.address]
		if res == nil || res.Volume == nil {
			res = &state.Resource{Type: "volume", Provider: v.provider, Volume: &state.Volume{
				Name: v.spec.Name, SizeGB: v.spec.SizeGB, DataCenter: v.spec.DataCenter, Type: v.spec.Type,
			}}
			st.Resources[v.address] = res
		}
		res.Volume.Managed, res.Volume.Retain = v.spec.Managed, v.spec.Retain
		change(res.Volume)
		return nil
	}, v.address)
	return err
}

// take writes down a volume that exists.
func (v *volumeWork) take(got providers.Volume) error {
	err := v.save(func(have *state.Volume) {
		have.ID, have.Pending = got.ID, ""
		if got.SizeGB > 0 {
			have.SizeGB = got.SizeGB
		}
		if got.DataCenter != "" {
			have.DataCenter = got.DataCenter
		}
		if got.Type != "" {
			have.Type = got.Type
		}
		have.MonthlyUSD = got.MonthlyUSD
		if got.MonthlyUSD == 0 && v.monthly != nil {
			have.MonthlyUSD = *v.monthly
		}
	})
	if err == nil {
		v.s.emit(Event{Kind: EventPhase, Address: v.address, Message: fmt.Sprintf("volume %s, %d GB in %s", got.ID, got.SizeGB, got.DataCenter)})
	}
	return err
}

// create makes the volume. One that a call without an answer may have made is
// looked for by its name and place before another is asked for.
func (v *volumeWork) create() error {
	st, err := v.s.read()
	if err != nil {
		return err
	}
	if res := st.Resources[v.address]; res != nil && res.Volume != nil {
		switch {
		case res.Volume.ID != "":
			return nil // made since the plan
		case res.Volume.Pending != "":
			found, err := v.find()
			if err != nil {
				return err
			}
			if found != nil {
				return v.take(*found)
			}
		}
	}
	if err := v.s.mayBegin(); err != nil {
		return err
	}
	if err := v.save(func(have *state.Volume) { have.Pending = "create" }); err != nil {
		return err
	}
	t := v.s.timing(v.provider)
	ctx, cancel := v.s.effect(t.CreateLimit)
	defer cancel()
	got, err := v.service.CreateVolume(ctx, providers.CreateVolume{Name: v.spec.Name, SizeGB: v.spec.SizeGB, DataCenter: v.spec.DataCenter, Type: v.spec.Type})
	if err == nil {
		return v.take(got)
	}
	if classify(err).then == nextReconcile {
		for _, wait := range t.Reconcile {
			stopped := v.s.sleep(wait) != nil
			if found, ferr := v.find(); ferr == nil && found != nil {
				return v.take(*found)
			}
			if stopped {
				break
			}
		}
		return failf("volume", "the call that creates the volume was not answered clearly: %s", reasonOf(err)).at(v.address).because(err).hint("apply again: it looks for the volume before it makes one")
	}
	if derr := v.drop(); derr != nil {
		return derr
	}
	return failf("volume", "the volume was not created: %s", reasonOf(err)).at(v.address).because(err)
}

// find looks for a volume with our name in our place.
func (v *volumeWork) find() (*providers.Volume, error) {
	list, err := v.service.ListVolumes(v.s.steady())
	if err != nil {
		return nil, failf("volume", "volumes cannot be listed: %s", reasonOf(err)).at(v.address).because(err)
	}
	for _, have := range list {
		if have.Name == v.spec.Name && have.DataCenter == v.spec.DataCenter {
			return &have, nil
		}
	}
	return nil, nil
}

func (v *volumeWork) drop() error {
	_, err := v.s.updateOnly(func(st *state.State) error { delete(st.Resources, v.address); return nil }, v.address)
	return err
}

func (v *volumeWork) grow() error {
	st, err := v.s.read()
	if err != nil {
		return err
	}
	res := st.Resources[v.address]
	if res == nil || res.Volume == nil || res.Volume.ID == "" {
		return failf("volume", "there is no volume to grow").at(v.address)
	}
	if err := v.s.mayBegin(); err != nil {
		return err
	}
	if err := v.save(func(have *state.Volume) { have.Pending = "grow" }); err != nil {
		return err
	}
	t := v.s.timing(v.provider)
	ctx, cancel := v.s.effect(t.CreateLimit)
	defer cancel()
	got, err := v.service.ResizeVolume(ctx, res.Volume.ID, v.spec.SizeGB)
	if err != nil {
		now, gerr := v.service.GetVolume(ctx, res.Volume.ID)
		if gerr == nil && now.SizeGB >= v.spec.SizeGB {
			return v.take(now)
		}
		if gerr == nil {
			_ = v.save(func(have *state.Volume) { have.Pending = "" })
		}
		return failf("volume", "the volume was not grown: %s", reasonOf(err)).at(v.address).id(res.Volume.ID).because(err)
	}
	if got.SizeGB < v.spec.SizeGB {
		got.SizeGB = v.spec.SizeGB
	}
	return v.take(got)
}

// adopt takes an existing volume into the state; it is read and may be grown,
// never deleted.
func (v *volumeWork) adopt() error {
	got, err := v.service.GetVolume(v.s.steady(), v.spec.ID)
	if err != nil {
		return failf("volume", "volume %s cannot be read: %s", v.spec.ID, reasonOf(err)).at(v.address).id(v.spec.ID).because(err)
	}
	return v.take(got)
}

// deleteVolume deletes a managed volume that is not to be retained, and proves
// it.
func (s *session) deleteVolume(address, provider string, retain bool) error {
	rented, err := s.provider(provider)
	if err != nil {
		return err
	}
	if _, err := s.claims.take(address); err != nil {
		return err
	}
	defer s.claims.release(address)
	st, err := s.read()
	if err != nil {
		return err
	}
	res := st.Resources[address]
	if res == nil || res.Volume == nil {
		return nil
	}
	v := res.Volume
	if !v.Managed || retain {
		return failf("volume", "the volume is to be retained and was not deleted").at(address).id(v.ID)
	}
	if used := usedBy(st, v.ID); used != "" {
		return failf("volume", "the volume was not deleted: the pod of %s uses it", used).at(address).id(v.ID)
	}
	if _, err := s.updateOnly(func(st *state.State) error {
		if res := st.Resources[address]; res != nil && res.Volume != nil {
			res.Volume.Pending = "delete"
		}
		return nil
	}, address); err != nil {
		return err
	}
	if err := s.proveVolumeGone(rented, s.timing(provider), v); err != nil {
		left := Left{Kind: "volume", Address: address, ID: v.ID, Monthly: v.MonthlyUSD, Fix: "overbrainer destroy -volumes"}
		s.addLeft(left)
		return failf("not_deleted", "volume %s is not proven deleted and goes on costing %s a month: %s", v.ID, monthlyWords(v), reasonOf(err)).
			at(address).id(v.ID).because(err).hint("overbrainer destroy -volumes")
	}
	_, err = s.updateOnly(func(st *state.State) error { delete(st.Resources, address); return nil }, address)
	s.emit(Event{Kind: EventRemoved, Address: address, Message: "volume " + v.ID + " is gone"})
	return err
}

// monthlyWords says what a volume costs; its price may not be known.
func monthlyWords(v *state.Volume) string {
	if v.MonthlyUSD <= 0 {
		return "an unknown sum"
	}
	return money.USD(v.MonthlyUSD)
}

// retained reports whether a volume is to stay: as the plan says, which knows
// what the configuration asks for now, else as the state does.
func retained(p *plan.Plan, address string, v *state.Volume) bool {
	for _, step := range p.Steps {
		if step.Address == address && step.Volume != nil {
			return step.Volume.Retain
		}
	}
	return v.Retain
}

func usedBy(st *state.State, volumeID string) string {
	user := ""
	st.EachRun(func(address string, run *state.Run) {
		if run.Pod != nil && !run.Pod.Gone() && run.Pod.VolumeID == volumeID {
			user = address
		}
	})
	return user
}

func (s *session) proveVolumeGone(rented Rented, t Timing, v *state.Volume) error {
	if v.ID == "" {
		return nil
	}
	existed, err := rented.Provider.DeleteVolume(s.steady(), v.ID)
	if err != nil {
		return err
	}
	_ = existed
	deadline := s.Now().Add(t.DeleteConfirm)
	for {
		_, err := rented.Provider.GetVolume(s.steady(), v.ID)
		if providers.Is(err, providers.NotFound) {
			return nil
		}
		if !s.Now().Before(deadline) {
			if err == nil {
				err = fmt.Errorf("it is still shown after its deletion")
			}
			return err
		}
		s.pause(t.Poll)
	}
}
