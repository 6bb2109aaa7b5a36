package state

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Checkpoint is the one that the work of a run goes on from: the newest whole one
// that was brought home, else the one that it went on from itself, or the one
// before that where it went on from it in vain. Nil: none.
func (r *Run) Checkpoint() *Checkpoint {
	if r.InVain() && r.Previous != nil {
		return fresh(r.Previous)
	}
	return r.newest()
}

// newest is the newest whole checkpoint that is here.
func (r *Run) newest() *Checkpoint {
	if s := r.Snapshot; s != nil && (s.Local || r.Retrieved) {
		return r.at(s)
	}
	return fresh(r.From)
}

// Doubtful is the newest checkpoint of the run where it is here, newer than what
// the run goes on from, and not known to be whole; nil otherwise.
func (r *Run) Doubtful() *Checkpoint {
	if r.Unproven == nil {
		return nil
	}
	c := r.at(r.Unproven)
	if sure := r.Checkpoint(); sure != nil && sure.Step >= c.Step {
		return nil
	}
	return c
}

// TakesDoubtful reports whether accepting the run's present inputs says that its
// doubtful checkpoint is whole: where they have not changed, or there is nothing
// else to go on from.
func (r *Run) TakesDoubtful(fingerprint string) bool {
	return r.Doubtful() != nil && r.Phase != Succeeded && (fingerprint == r.Fingerprint || r.Checkpoint() == nil)
}

func (r *Run) at(s *Snapshot) *Checkpoint {
	return &Checkpoint{RunID: r.ID, Dir: path.Join(r.Dir, s.Path), Step: s.Step, At: s.At, SHA256: s.SHA256}
}

// InVain reports whether the run went on from a checkpoint and its job failed
// before it came any further, as it does where the checkpoint is broken.
func (r *Run) InVain() bool {
	return r.From != nil && r.Reason == ExitCode && r.Snapshot == nil &&
		(r.Unproven == nil || r.Unproven.Step <= r.From.Step) && int64(r.Metrics["step"]) <= r.From.Step
}

// Leave takes in a whole checkpoint that the run has left.
func (r *Run) Leave(s Snapshot) {
	if was := r.newest(); was != nil && was.Dir != r.at(&s).Dir {
		r.Previous = was
	}
	r.Snapshot = &s
	if u := r.Unproven; u != nil && u.Step <= s.Step {
		r.Unproven = nil
	}
}

// Before is the checkpoint before one that is gone on from; nil: none is known.
func (r *Run) Before(c *Checkpoint) *Checkpoint {
	if n := r.newest(); n == nil || c == nil || n.Dir != c.Dir {
		return nil
	}
	return fresh(r.Previous)
}

// CheckpointFile is a file of a checkpoint, its path relative to the
// checkpoint's directory, or "." where that is the file.
type CheckpointFile struct {
	Path   string
	SHA256 string
}

// CheckpointSum is the SHA-256 over the list of a checkpoint's files, whatever
// their order.
func CheckpointSum(files []CheckpointFile) string {
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b CheckpointFile) int { return strings.Compare(a.Path, b.Path) })
	sum := sha256.New()
	for _, f := range files {
		fmt.Fprintf(sum, "%s %s\n", f.SHA256, f.Path)
	}
	return hex.EncodeToString(sum.Sum(nil))
}
