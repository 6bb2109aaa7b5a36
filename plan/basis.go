package plan

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/overbrainer/overbrainer/state"
)

// Basis gives the SHA-256, in hex, of what a plan is decided from in the state:
// runs, volumes, spend and outputs. Left out is what changes while another
// process merely works: the serial, claims, the writing version, the catalogs
// (which only tell what moved), and of a run that goes on what its follower
// notes of it.
func Basis(st *state.State) (string, error) {
	resources := make(map[string]*state.Resource, len(st.Resources))
	for addr, r := range st.Resources {
		resources[addr] = settledPart(r)
	}
	sum := sha256.New()
	err := stream(sum, struct {
		Resources map[string]*state.Resource `json:"resources,omitempty"`
		Spend     map[string]state.Spend     `json:"spend,omitempty"`
		Outputs   map[string]state.Output    `json:"outputs,omitempty"`
	}{resources, st.Spend, st.Outputs}, true)
	return hex.EncodeToString(sum.Sum(nil)), err
}

// settledPart is an entry without what the followers of its runs note: the
// entry itself where none goes on, else a copy as deep as that needs.
func settledPart(r *state.Resource) *state.Resource {
	if r.Run == nil {
		return r
	}
	entry, runs := *r, *r.Run
	entry.Run, runs.Runs = &runs, make([]*state.Run, len(r.Run.Runs))
	changed := false
	for i, run := range r.Run.Runs {
		runs.Runs[i] = run
		if run.Phase != state.Running {
			continue
		}
		changed = true
		settled := *run
		settled.Metrics, settled.Snapshot, settled.Unproven, settled.Previous = nil, nil, nil, nil
		if run.Pod != nil {
			pod := *run.Pod
			pod.SSH = nil
			settled.Pod = &pod
		}
		runs.Runs[i] = &settled
	}
	if !changed {
		return r
	}
	return &entry
}
