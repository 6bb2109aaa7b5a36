package apply

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/overbrainer/overbrainer/state"
)

// keptDirs are the checkpoints of a run's directory that stay here whatever the
// pod removes, by their paths there.
func keptDirs(run *state.Run) map[string]bool {
	keep := map[string]bool{}
	for _, s := range []*state.Snapshot{run.Snapshot, run.Unproven} {
		if s != nil {
			keep[s.Path] = true
		}
	}
	if p := run.Previous; p != nil && p.RunID == run.ID {
		keep[strings.TrimPrefix(p.Dir, run.Dir+"/")] = true
	}
	return keep
}

// removeOld removes checkpoints here that the pod has removed there. It is for
// runs whose job goes on: nothing in their directory at the pattern is a result
// yet, and no other run starts from it.
func removeOld(dir, pattern string, there []Checkpoint, keep map[string]bool) error {
	stays := map[string]bool{}
	for _, c := range there {
		stays[c.Path] = true
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	before, after, _ := strings.Cut(pattern, "{step}")
	after, below, _ := strings.Cut(after, "/") // a step may be in the name of a directory above
	entries, err := fs.ReadDir(root.FS(), path.Dir(before+"x"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := path.Join(path.Dir(before+"x"), e.Name())
		step, found := strings.CutPrefix(name, before)
		step, ends := strings.CutSuffix(step, after)
		name = path.Join(name, below)
		if _, err := strconv.ParseUint(step, 10, 63); err != nil || !found || !ends || stays[name] || keep[name] {
			continue
		}
		if err := root.RemoveAll(name); err != nil {
			return err
		}
	}
	return nil
}

// removeStrangers removes what lies in a checkpoint here and is none of its files: it
// came home with an earlier look at it, while it was written.
func removeStrangers(dir, name string, files []File) error {
	own := map[string]bool{}
	for _, f := range files {
		own[f.Path] = true
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), name, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || own[file] {
			return err
		}
		return root.Remove(file)
	})
}
