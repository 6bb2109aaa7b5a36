package apply

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/overbrainer/overbrainer/state"
)

// from is the checkpoint that the run starts from, nil for none: what it was
// begun with, whatever the plan of a later command says.
func (r *runner) from() *state.Checkpoint {
	switch {
	case r.run != nil && r.run.From != nil:
		return r.run.From
	case r.spec != nil && r.spec.ResumeFrom != nil && r.spec.ResumeFrom.Dir != "":
		return r.spec.ResumeFrom.Checkpoint()
	}
	return nil
}

// needCheckpoint reads what the job will start from, before anything is rented
// for it, and compares it with what was verified when it came home.
func (r *runner) needCheckpoint() error {
	from := r.from()
	if from == nil || r.checkpoint != nil {
		return nil
	}
	r.phase("waiting", "reading the snapshot of step %d, to go on from", from.Step)
	files, err := listDir(filepath.Join(r.s.Project, filepath.FromSlash(from.Dir)))
	why := ""
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && len(files) == 0:
		why = from.Dir + " is not here"
	case err != nil:
		why = fmt.Sprintf("%s cannot be read: %v", from.Dir, err)
	case from.SHA256 != "" && checkpointSum(files) != from.SHA256:
		why = from.Dir + " is not as it was when it was verified"
	default:
		r.checkpoint = files
		return nil
	}
	return failf("checkpoint", "the snapshot of step %d of run %s, to go on from, cannot be used: %s", from.Step, from.RunID, why).
		at(r.address).because(errors.Join(err, &endError{state.LaunchFailed})).hint("put it back; without it, -replace begins anew")
}

// checkpointSum is the digest of a checkpoint's files as the state has it.
func checkpointSum(files []File) string {
	list := make([]state.CheckpointFile, len(files))
	for i, f := range files {
		list[i] = state.CheckpointFile{Path: f.Path, SHA256: f.SHA256}
	}
	return state.CheckpointSum(list)
}

// checkpointOf gives the files of a list that are those of a checkpoint, their
// paths below it.
func checkpointOf(files []File, name string) []File {
	var own []File
	for _, f := range files {
		rel, err := filepath.Rel(filepath.FromSlash(name), filepath.FromSlash(f.Path))
		if err == nil && filepath.IsLocal(rel) {
			f.Path = filepath.ToSlash(rel)
			own = append(own, f)
		}
	}
	return own
}
