package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/overbrainer/overbrainer/state"
)

// Basis gives the SHA-256, in hex, of what a plan is decided from in the state:
// runs, volumes, spend and outputs. Left out is what changes while another
// process merely works: the serial, claims, the writing version, the catalogs
// (which only tell what moved), and of a run that goes on what its follower
// notes of it.
func Basis(st *state.State) (string, error) {
	next, err := st.Clone()
	if err != nil {
		return "", err
	}
	for _, r := range next.Resources {
		if r.Run == nil {
			continue
		}
		for _, run := range r.Run.Runs {
			if run.Phase == state.Running {
				run.Metrics, run.Snapshot = nil, nil
				if run.Pod != nil {
					run.Pod.SSH = nil
				}
			}
		}
	}
	sum := sha256.New()
	err = json.NewEncoder(sum).Encode(struct {
		Resources map[string]*state.Resource `json:"resources,omitempty"`
		Spend     map[string]state.Spend     `json:"spend,omitempty"`
		Outputs   map[string]state.Output    `json:"outputs,omitempty"`
	}{next.Resources, next.Spend, next.Outputs})
	return hex.EncodeToString(sum.Sum(nil)), err
}
