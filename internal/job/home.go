package job

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/overbrainer/overbrainer/internal/remote"
)

// home is a run's local directory while results come in. Every access stays
// inside it and follows no link.
type home struct {
	dir   string
	root  *os.Root
	stage *os.Root // partial, inside root
}

func openHome(dir string) (*home, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	stage, err := privateDir(root, partial)
	if err != nil {
		_ = root.Close()
		return nil, err
	}
	return &home{dir: dir, root: root, stage: stage}, nil
}

func (h *home) close() {
	_ = h.stage.Close()
	_ = h.root.Close()
}

// DiffError is local files that differ from the pod's manifest. Nothing of them
// got its final name.
type DiffError struct {
	Missing, Changed, Extra []string
}

func (e *DiffError) Error() string {
	var said []string
	for _, part := range []struct {
		word  string
		names []string
	}{{"missing", e.Missing}, {"changed", e.Changed}, {"not listed", e.Extra}} {
		if n := len(part.names); n > 0 {
			said = append(said, fmt.Sprintf("%d %s (%q)", n, part.word, part.names[0]))
		}
	}
	return "the files here are not those of the pod: " + strings.Join(said, ", ")
}

// missing gives the files that do not lie in their final places yet with the
// right content.
func (h *home) missing(ctx context.Context, files []remote.File) ([]remote.File, error) {
	var todo []remote.File
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		ok, err := h.holds(h.root, f)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if !ok {
			todo = append(todo, f)
		}
	}
	return todo, nil
}

// holds reports whether root holds exactly the file.
func (h *home) holds(root *os.Root, f remote.File) (bool, error) {
	if err := noLinks(root, f.Path); err != nil {
		return false, err
	}
	info, err := root.Lstat(f.Path)
	if err != nil {
		return false, err
	}
	if !info.Mode().IsRegular() || info.Size() != f.Size {
		return false, nil
	}
	file, err := root.Open(f.Path)
	if err != nil {
		return false, err
	}
	defer file.Close()
	digest, size, err := hashAll(file)
	return err == nil && digest == f.SHA256 && size == f.Size, err
}

// noLinks fails when a directory above name is a link.
func noLinks(root *os.Root, name string) error {
	for i, c := range name {
		if c != '/' {
			continue
		}
		info, err := root.Lstat(name[:i])
		if err != nil {
			return err
		}
		if !info.IsDir() {
			return fmt.Errorf("%s in %s is not a directory", name[:i], root.Name())
		}
	}
	return nil
}

// prune removes what an earlier attempt with another list left in the staging
// directory. Incomplete files of transfers stay.
func (h *home) prune(files []remote.File) error {
	listed := paths(files)
	return fs.WalkDir(h.stage.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name == parts {
			return fs.SkipDir
		}
		if d.IsDir() || (listed[name] && d.Type().IsRegular()) {
			return nil
		}
		return h.stage.Remove(name)
	})
}

func paths(files []remote.File) map[string]bool {
	set := make(map[string]bool, len(files))
	for _, f := range files {
		set[f.Path] = true
	}
	return set
}

// verify compares the staging directory with the list: none missing, none
// different, none too many. Each file is made durable and private.
func (h *home) verify(ctx context.Context, files []remote.File) error {
	var diff DiffError
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		ok, err := h.holds(h.stage, f)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			diff.Missing = append(diff.Missing, f.Path)
			continue
		case err != nil:
			return err
		case !ok:
			diff.Changed = append(diff.Changed, f.Path)
			continue
		}
		if err := h.secure(f); err != nil {
			return err
		}
	}
	listed := paths(files)
	err := fs.WalkDir(h.stage.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name == parts {
			return fs.SkipDir
		}
		if !d.IsDir() && !listed[name] {
			diff.Extra = append(diff.Extra, name)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(diff.Missing)+len(diff.Changed)+len(diff.Extra) > 0 {
		return &diff
	}
	return nil
}

// secure makes a staged file durable, and private whatever the umask.
func (h *home) secure(f remote.File) error {
	mode := fs.FileMode(0o600)
	if f.Exec {
		mode = 0o700
	}
	if err := h.stage.Chmod(f.Path, mode); err != nil {
		return err
	}
	file, err := h.stage.Open(f.Path)
	if err != nil {
		return err
	}
	defer file.Close()
	return file.Sync()
}

// place gives verified files their names and removes the staging directory.
func (h *home) place(ctx context.Context, files []remote.File) error {
	dirs := map[string]bool{".": true}
	for _, f := range files {
		dir := path.Dir(f.Path)
		if !dirs[dir] {
			if err := h.makeDirs(dir); err != nil {
				return err
			}
			dirs[dir] = true
		}
		if info, err := h.root.Lstat(f.Path); err == nil && info.IsDir() {
			return fmt.Errorf("%s in %s is a directory, the result is a file", f.Path, h.dir)
		}
	}
	for _, f := range files {
		placed := remote.Mark(ctx, "placing")
		if err := h.root.Rename(partial+"/"+f.Path, f.Path); err != nil {
			return err
		}
		placed()
	}
	for dir := range dirs {
		if err := syncDir(h.root, dir); err != nil {
			return err
		}
	}
	return h.root.RemoveAll(partial)
}

// makeDirs makes private directories, none of which may be a link.
func (h *home) makeDirs(dir string) error {
	elements := strings.Split(dir, "/")
	for i := range elements {
		name := path.Join(elements[:i+1]...)
		if err := h.root.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return noLinks(h.root, dir+"/x")
}

func syncDir(root *os.Root, dir string) error {
	f, err := root.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// Verify compares files of a run's local directory with a list, and gives the
// paths that are missing or changed.
func Verify(ctx context.Context, dir string, files []remote.File) ([]string, error) {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		bad := make([]string, 0, len(files))
		for _, f := range files {
			bad = append(bad, f.Path)
		}
		return bad, nil
	}
	if err != nil {
		return nil, err
	}
	h := &home{dir: dir, root: root}
	defer root.Close()
	todo, err := h.missing(ctx, files)
	if err != nil {
		return nil, err
	}
	bad := make([]string, 0, len(todo))
	for _, f := range todo {
		bad = append(bad, f.Path)
	}
	slices.Sort(bad)
	return bad, nil
}
