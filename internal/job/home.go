package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

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
	here := make([]bool, len(files))
	err := each(ctx, len(files), func(i int) (err error) {
		if here[i], err = h.holds(h.root, files[i]); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	var todo []remote.File
	for i, f := range files {
		if !here[i] {
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
// different, none too many. Each file is made private, and all are made durable.
func (h *home) verify(ctx context.Context, files []remote.File) error {
	words := make([]string, len(files)) // "": it is right
	err := each(ctx, len(files), func(i int) error {
		ok, err := h.holds(h.stage, files[i])
		switch {
		case errors.Is(err, fs.ErrNotExist):
			words[i] = "missing"
		case err != nil:
			return err
		case !ok:
			words[i] = "changed"
		default:
			return h.hide(files[i])
		}
		return nil
	})
	if err != nil {
		return err
	}
	var diff DiffError
	for i, f := range files {
		switch words[i] {
		case "missing":
			diff.Missing = append(diff.Missing, f.Path)
		case "changed":
			diff.Changed = append(diff.Changed, f.Path)
		}
	}
	listed := paths(files)
	err = fs.WalkDir(h.stage.FS(), ".", func(name string, d fs.DirEntry, err error) error {
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
	return h.keep(ctx, files)
}

// each calls do for 0 to n-1, several at once, until one fails.
func each(ctx context.Context, n int, do func(i int) error) error {
	g, inner := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := 0; i < n && inner.Err() == nil; i++ {
		g.Go(func() error { return do(i) })
	}
	return cmp.Or(g.Wait(), ctx.Err())
}

// hide makes a staged file private, whatever the umask.
func (h *home) hide(f remote.File) error {
	mode := fs.FileMode(0o600)
	if f.Exec {
		mode = 0o700
	}
	return h.stage.Chmod(f.Path, mode)
}

// syncEach is up to how many files are made durable one by one. More are by one
// call for their file system, where there is such a call: it waits for what others
// have written as well, but once.
const syncEach = 64

// keep makes the staged files durable.
func (h *home) keep(ctx context.Context, files []remote.File) error {
	if len(files) > syncEach {
		if err := syncAll(h.stage); !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
	}
	return each(ctx, len(files), func(i int) error {
		file, err := h.stage.Open(files[i].Path)
		if err != nil {
			return err
		}
		defer file.Close()
		return file.Sync()
	})
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
