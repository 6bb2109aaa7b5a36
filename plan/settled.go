package plan

import (
	"github.com/overbrainer/overbrainer/config"
	"github.com/overbrainer/overbrainer/state"
)

// results are those of the runs that have ended and do not run again.
func (b *builder) results() map[string]config.RunResult {
	results := map[string]config.RunResult{}
	for _, s := range b.p.Steps {
		if v := s.Volume; v != nil && v.ID != "" {
			results[s.Address] = config.RunResult{ID: v.ID}
		}
		if s.Type != "run" || s.Action != NoOp && s.Action != Hold {
			continue
		}
		if run := b.currentRun(s.Address); run != nil {
			results[s.Address] = ResultOf(run)
		}
	}
	return results
}

// ResultOf gives what an ended run of the state leaves for expressions.
func ResultOf(run *state.Run) config.RunResult {
	r := config.RunResult{
		ID: run.ID, State: string(run.Phase), Dir: run.Dir, CostUSD: run.CostUSD, CostOpen: run.CostOpen(),
		Seconds: run.Seconds, GPUType: run.GPUType, Metrics: run.Metrics,
	}
	if run.Retrieved {
		r.OutputDir = run.Dir + "/output"
	}
	if r.Seconds == 0 && run.StartedAt != nil && run.EndedAt != nil {
		r.Seconds = run.EndedAt.Sub(*run.StartedAt).Seconds()
	}
	return r
}

// Settled tells the configuration what ended runs left that will not run
// again; see config.Options. replace are the addresses that are to run again.
func Settled(st *state.State, replace []string) func(address, fingerprint, rerun string) (config.RunResult, bool) {
	return func(address, fingerprint, rerun string) (config.RunResult, bool) {
		r := st.Resources[address]
		if r == nil || r.Run == nil || fingerprint == "" {
			return config.RunResult{}, false
		}
		cur := r.Run.CurrentRun()
		if cur == nil {
			return config.RunResult{}, false
		}
		d := decide(situation{cur: cur, fingerprint: fingerprint, rerun: rerun, replaced: namesAny(replace, address)})
		if d.action != NoOp && d.action != Hold {
			return config.RunResult{}, false
		}
		return ResultOf(cur), true
	}
}

// VolumeIDs tells the configuration the IDs of volumes that exist; see
// config.Options.
func VolumeIDs(st *state.State) func(address string) (string, bool) {
	return func(address string) (string, bool) {
		r := st.Resources[address]
		if r == nil || r.Volume == nil || r.Volume.ID == "" {
			return "", false
		}
		return r.Volume.ID, true
	}
}

// Settled is Settled for executing the plan: what it moves is known by its new
// address, and what it runs again is not settled, whatever the state says.
func (p *Plan) Settled(st *state.State) func(address, fingerprint, rerun string) (config.RunResult, bool) {
	starts, from := map[string]bool{}, p.movedFrom()
	for _, s := range p.Steps {
		starts[s.Address] = s.Begins()
	}
	settled := Settled(st, nil)
	return func(address, fingerprint, rerun string) (config.RunResult, bool) {
		if starts[address] {
			return config.RunResult{}, false
		}
		return settled(from(address), fingerprint, rerun)
	}
}

// VolumeIDs is VolumeIDs for executing the plan.
func (p *Plan) VolumeIDs(st *state.State) func(address string) (string, bool) {
	ids, from := VolumeIDs(st), p.movedFrom()
	return func(address string) (string, bool) { return ids(from(address)) }
}

// movedFrom gives where the state has what the plan knows by an address.
func (p *Plan) movedFrom() func(address string) string {
	was := map[string]string{}
	for _, m := range p.Moves {
		was[m.To] = m.From
	}
	return func(address string) string {
		if from, ok := was[address]; ok {
			return from
		}
		return address
	}
}

// Moved gives the state with the moved blocks applied, for reading the
// configuration again that has them. Its entries are st's, and only to be read.
func Moved(st *state.State, moves []config.Move) *state.State {
	next := movable(st)
	for _, m := range moves {
		for _, addr := range next.Addresses() {
			if to, ok := movedTo(addr, m.From, m.To); ok && next.Resources[to] == nil {
				next.Resources[to] = next.Resources[addr]
				delete(next.Resources, addr)
			}
		}
	}
	return next
}
