package apply

import (
	"context"
	"path/filepath"

	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/state"
)

// Accept records the present inputs of a run as those of its last result, so
// that a change which does not matter does not run it again, and takes a
// checkpoint for whole of which that is not known.
func (e *Engine) Accept(ctx context.Context, address string, spec plan.RunSpec, opt Options) error {
	s := e.open(ctx, "accept", opt.LockTimeout)
	defer s.close()
	c, err := s.claims.take(address)
	if err != nil {
		return err
	}
	st, err := s.read()
	if err != nil {
		return err
	}
	run := currentRun(st, address)
	switch {
	case run == nil:
		return failf("no_run", "there is no run of it").at(address)
	case !run.Phase.Ended():
		return failf("not_ended", "run %s has not ended", run.ID).at(address)
	case spec.Fingerprint == "":
		return failf("late_values", "its inputs hang on runs that have not ended").at(address)
	}
	in := inputsFile{RunID: run.ID, Address: address, Fingerprint: spec.Fingerprint, Inputs: spec.Inputs, Uploads: spec.Uploads, ResumedFrom: run.ResumedFrom}
	digest, err := writeJSON(filepath.Join(s.Project, filepath.FromSlash(run.Dir), "inputs.json"), in)
	if err != nil {
		return failf("local_files", "%v", err).at(address).because(err)
	}
	id := run.ID
	_, err = s.updateOnly(func(st *state.State) error {
		if !st.Holds(c.id, address) {
			return errClaimLost
		}
		if run := findRun(st, address, id); run != nil {
			if run.TakesDoubtful(spec.Fingerprint) {
				run.Leave(*run.Unproven)
			}
			run.Fingerprint, run.InputsDigest = spec.Fingerprint, digest
		}
		return nil
	}, address)
	return err
}
