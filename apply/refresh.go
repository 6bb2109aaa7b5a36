package apply

import (
	"fmt"

	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/state"
)

// refreshStep brings the state of one address in line with what exists. It
// makes and deletes nothing at the provider.
func (s *session) refreshStep(step *plan.Step) error {
	if _, err := s.claims.take(step.Address); err != nil {
		return err
	}
	defer s.claims.release(step.Address)
	st, err := s.read()
	if err != nil {
		return err
	}
	switch res := st.Resources[step.Address]; {
	case res == nil:
		return nil
	case res.Volume != nil:
		return s.refreshVolume(step, res)
	case res.Run != nil && res.Run.CurrentRun() != nil:
		return s.refreshRun(step.Address, res.Provider, res.Run.CurrentRun())
	}
	return nil
}

// refreshVolume reads the volume again, and lets go of one that is proven
// absent.
func (s *session) refreshVolume(step *plan.Step, res *state.Resource) error {
	address := step.Address
	rented, err := s.provider(res.Provider)
	if err != nil {
		return err
	}
	got, err := rented.Provider.GetVolume(s.steady(), res.Volume.ID)
	switch {
	case providers.Is(err, providers.NotFound):
		if _, err := s.updateOnly(func(st *state.State) error { delete(st.Resources, address); return nil }, address); err != nil {
			return err
		}
		s.emit(Event{Kind: EventRemoved, Address: address, Message: fmt.Sprintf("volume %s is not in the account any more", res.Volume.ID)})
		return nil
	case err != nil:
		return failf("volume", "volume %s cannot be read: %s", res.Volume.ID, reasonOf(err)).at(address).id(res.Volume.ID).because(err)
	}
	v := &volumeWork{s: s, address: address, provider: res.Provider, service: rented.Provider, spec: step.Volume, monthly: step.Cost.MonthlyUSD}
	return v.take(got)
}

// refreshRun writes down that a run's pod is gone, where that can be proven.
func (s *session) refreshRun(address, provider string, run *state.Run) error {
	if run.Pod == nil || run.Pod.Gone() {
		return nil
	}
	r, err := s.runner(address, provider, nil, s.claims.have(address))
	if err != nil {
		return err
	}
	r.load(run)
	gone, err := r.gone(run.Pod.ID, run.Pod.CreatedAt)
	switch {
	case err != nil:
		return failf("read_pod", "pod %s cannot be looked at: %s", run.Pod.ID, reasonOf(err)).at(address).id(run.Pod.ID).because(err)
	case !gone:
		s.emit(Event{Kind: EventPhase, Address: address, RunID: run.ID, PodID: run.Pod.ID, Message: "pod " + run.Pod.ID + " is there after all"})
		return nil
	}
	return r.vanished().Err
}
