package apply

import (
	"errors"

	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/state"
)

// conclude stores what the plan used and what is known now, and decides the
// conditions that were left open.
func (s *session) conclude(p *plan.Plan) {
	s.mu.Lock()
	done := s.done
	s.mu.Unlock()
	if p.Destroying {
		st, err := s.dropOutputs()
		if err != nil {
			s.addError(err)
			return
		}
		s.leftovers(st)
		return
	}
	var outputs map[string]state.Output
	if s.Evaluator != nil {
		var err error
		if outputs, err = s.Evaluator.Outputs(done); err != nil {
			s.addError(failf("outputs", "%v", err).because(err))
		}
		checks := s.Evaluator.Checks(done)
		s.mu.Lock()
		s.outcome.Checks = checks
		s.mu.Unlock()
	}
	st, err := s.updateLast(func(st *state.State) error {
		for scope, catalog := range p.StateCatalogs() {
			if st.Catalogs == nil {
				st.Catalogs = map[string]state.Catalog{}
			}
			st.Catalogs[scope] = catalog
		}
		if outputs != nil {
			st.Outputs = outputs
		}
		return nil
	}, state.Overall)
	if err != nil {
		s.addError(err)
		return
	}
	s.mu.Lock()
	s.outcome.Outputs = st.Outputs
	s.mu.Unlock()
	s.leftovers(st)
}

// settleOutputs gives the outputs what is known now that a run has ended.
func (s *session) settleOutputs() {
	if s.Evaluator == nil {
		return
	}
	st, err := s.read()
	if err == nil {
		var outputs map[string]state.Output
		if outputs, err = s.Evaluator.Outputs(s.results(st)); err != nil {
			s.addError(failf("outputs", "%v", err).because(err))
			return
		}
		st, err = s.updateLast(func(st *state.State) error {
			st.Outputs = outputs
			return nil
		}, state.Overall)
	}
	if err != nil {
		s.addError(err)
		return
	}
	s.mu.Lock()
	s.outcome.Outputs = st.Outputs
	s.mu.Unlock()
}

// results are those of all runs that have ended.
func (s *session) results(st *state.State) map[string]RunResult {
	done := map[string]RunResult{}
	for _, address := range st.Addresses() {
		if run := currentRun(st, address); run != nil && run.Phase.Ended() {
			done[address] = s.resultOf(st.Resources[address].Provider, run)
		}
	}
	return done
}

// leftovers adds what should be gone and is not. What another process works on
// is its own to end and to tell.
func (s *session) leftovers(st *state.State) {
	st.EachRun(func(address string, run *state.Run) {
		if st.ClaimedElsewhere(address, s.Who, s.Now()) {
			return
		}
		if run.Phase.Ended() && run.BeingDeleted() {
			s.addLeft(Left{Kind: "pod", Address: address, RunID: run.ID, ID: run.Pod.ID, RateUSD: run.Pod.HourUSD(), Fix: "overbrainer pod rm " + run.ID})
		}
		for _, stray := range run.Strays {
			s.addLeft(Left{Kind: "stray", Address: address, RunID: run.ID, ID: stray.PodID, RateUSD: stray.RateUSD, Fix: "overbrainer pod rm " + run.ID})
		}
		if run.Phase.Ended() && (run.Pod == nil || run.Pod.Gone()) {
			for _, secret := range run.Secrets {
				s.addLeft(Left{Kind: "secret", Address: address, RunID: run.ID, ID: secret.Name, Fix: "overbrainer pod rm " + run.ID})
			}
		}
	})
}

func (s *session) addLeft(l Left) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outcome.Left = append(s.outcome.Left, l)
}

// forgetAddress takes an address that holds nothing out of the state.
func (s *session) forgetAddress(address string) error {
	_, err := s.updateOnly(func(st *state.State) error {
		res := st.Resources[address]
		if res == nil {
			return state.ErrNoChange
		}
		if res.Run != nil {
			for _, run := range res.Run.Runs {
				if run.Holds() {
					return failf("still_held", "run %s still holds something", run.ID).at(address)
				}
			}
			st.Prune(address)
		}
		delete(st.Resources, address)
		return nil
	}, address)
	if err == nil {
		s.tellRemoved(address)
	}
	return unlessHeld(err)
}

func (s *session) tellRemoved(address string) {
	s.emit(Event{Kind: EventRemoved, Address: address, Phase: "done", Message: "nothing of it is left; it leaves the state"})
}

func unlessHeld(err error) error {
	var held *state.ClaimedError
	if errors.As(err, &held) {
		return heldError(held)
	}
	return err
}
