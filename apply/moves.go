package apply

import (
	"time"

	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/state"
)

// movedAddresses are those that moves alter.
func movedAddresses(moves []plan.Move) []string {
	addresses := make([]string, 0, 2*len(moves))
	for _, m := range moves {
		addresses = append(addresses, m.From, m.To)
	}
	return addresses
}

// move gives entries of the state the addresses that the plan says. A move
// that was done before is passed over, so that a plan can be applied again;
// an address that somebody works on is not taken away from under him: that is
// *state.ClaimedError.
func move(st *state.State, moves []plan.Move, who state.ClaimHolder, now time.Time) error {
	for _, m := range moves {
		res := st.Resources[m.From]
		if res == nil {
			continue
		}
		if st.Resources[m.To] != nil {
			return failf("moved", "%s cannot be moved: the state has %s already", m.From, m.To).at(m.From).hint("plan again")
		}
		id, _, err := st.Claim([]string{m.From, m.To}, "move", who, now)
		if err != nil {
			return err
		}
		st.Release(id)
		delete(st.Resources, m.From)
		st.Resources[m.To] = res
	}
	return nil
}
