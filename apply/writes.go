package apply

import (
	"errors"

	"github.com/overbrainer/overbrainer/state"
)

// update writes to the state. After a write that failed no new effect is
// begun; deletions go on, because they only make less.
func (s *session) update(change func(*state.State) error) (*state.State, error) {
	return s.written(s.Store.Update(s.steady(), change))
}

// updateOnly is update for a change that, besides claims and spend, alters
// nothing but the resources at the addresses.
func (s *session) updateOnly(change func(*state.State) error, addresses ...string) (*state.State, error) {
	return s.written(s.Store.Update(state.Touching(s.steady(), addresses...), change))
}

// updateLast is updateOnly for what a command writes last.
func (s *session) updateLast(change func(*state.State) error, addresses ...string) (*state.State, error) {
	return s.written(s.Store.Update(state.Last(state.Touching(s.steady(), addresses...)), change))
}

// written takes in how a write ended.
func (s *session) written(st *state.State, err error) (*state.State, error) {
	if err == nil || errors.Is(err, state.ErrNoChange) {
		return st, nil
	}
	if !fromChange(err) {
		s.mu.Lock()
		first := s.broken == nil
		s.broken = err
		s.mu.Unlock()
		if first {
			s.emit(Event{Kind: EventWarning, Message: "the state cannot be written, so nothing new is begun: " + err.Error()})
		}
		return nil, failf("state", "%v", err).because(err)
	}
	return nil, err
}

// fromChange tells an error that a change returned from one of the store.
func fromChange(err error) bool {
	var e *Error
	var claimed *state.ClaimedError
	var budget *state.BudgetError
	return errors.As(err, &e) || errors.As(err, &claimed) || errors.As(err, &budget) || isShort(err)
}

// mayBegin reports why no new effect may be begun, if so.
func (s *session) mayBegin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken != nil {
		return failf("state", "nothing new is begun because the state cannot be written: %v", s.broken).because(s.broken)
	}
	return nil
}

func (s *session) read() (*state.State, error) {
	st, err := s.Store.Read(s.steady())
	if err != nil {
		return nil, failf("state", "%v", err).because(err)
	}
	return st, nil
}
