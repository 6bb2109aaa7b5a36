package plan

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/overbrainer/overbrainer/state"
)

// checkpointProblem says why a checkpoint that came home cannot be used, "" if
// it is here as it was verified. Its files are read, where they are not too
// large for that; see Input.Hash.
func (b *builder) checkpointProblem(c *state.Checkpoint) string {
	if b.in.Files == nil {
		return ""
	}
	if b.checkpoints == nil {
		b.checkpoints = map[state.Checkpoint]string{}
	}
	problem, looked := b.checkpoints[*c]
	if !looked {
		problem = b.lookAtCheckpoint(c)
		b.checkpoints[*c] = problem
	}
	return problem
}

func (b *builder) lookAtCheckpoint(c *state.Checkpoint) string {
	dir := path.Clean(c.Dir)
	var files []state.CheckpointFile
	whole := c.SHA256 != ""
	err := fs.WalkDir(b.in.Files, dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil {
			err = b.ctx.Err()
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		f := state.CheckpointFile{Path: "."}
		if name != dir {
			f.Path = strings.TrimPrefix(name, dir+"/")
		}
		if whole {
			if info, err := d.Info(); err != nil || b.in.Hash == nil && info.Size() > mostHashed {
				whole = false // not read by every plan
			} else if f.SHA256, err = b.hash(name); err != nil {
				return err
			}
		}
		files = append(files, f)
		return nil
	})
	switch {
	case b.ctx.Err() != nil:
		return ""
	case err != nil && len(files) == 0, len(files) == 0:
		return dir + " is not here" + b.elsewhere(c.RunID)
	case err != nil:
		return fmt.Sprintf("%s cannot be read: %v", dir, err)
	case whole && state.CheckpointSum(files) != c.SHA256:
		return dir + " is not as it was when it was verified"
	}
	return ""
}

// elsewhere says on whose machine the results of a run are, as far as the state
// knows.
func (b *builder) elsewhere(runID string) string {
	if _, run := b.st.FindRun(runID); run != nil && run.FetchedBy != "" {
		return ", it was fetched by " + run.FetchedBy
	}
	return ""
}

// hash gives the SHA-256 in hex of a file of the project.
func (b *builder) hash(name string) (string, error) {
	if b.in.Hash != nil {
		return b.in.Hash(name)
	}
	return b.hashFile(name)
}
