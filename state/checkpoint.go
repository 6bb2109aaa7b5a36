package state

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Checkpoint is the newest one that the work of a run can go on from: its own
// that was brought home, else the one it went on from itself. Nil: none.
func (r *Run) Checkpoint() *Checkpoint {
	if s := r.Snapshot; s != nil && (s.Local || r.Retrieved) {
		return &Checkpoint{RunID: r.ID, Dir: path.Join(r.Dir, s.Path), Step: s.Step, At: s.At, SHA256: s.SHA256}
	}
	return fresh(r.From)
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
