package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"github.com/overbrainer/overbrainer/internal/glob"
)

// IgnoreFile keeps files from being uploaded, in the syntax of .gitignore.
const IgnoreFile = ".overbrainerignore"

// maxTreeFiles bounds how many files of a project are looked at.
const maxTreeFiles = 500_000

// builtinIgnore is what nobody means by "**": the record of versions, installed
// packages, caches, the configuration itself, whose every change would run the
// job again, and values that are not for a rented machine. A line with !
// in the project's own file takes one back, and naming a file does, too.
const builtinIgnore = `
.git/
.hg/
.svn/
.venv/
venv/
__pycache__/
node_modules/
.mypy_cache/
.pytest_cache/
.ruff_cache/
.ipynb_checkpoints/
.terraform/
.DS_Store
.env
/overbrainer.hcl
/*.ob.hcl
/overbrainer.vars.hcl
/*.auto.vars.hcl
.overbrainerignore
.gitignore
`

// ours reports whether a path belongs to overbrainer: results, state and cache
// are never uploaded.
func ours(rel string) bool {
	top, _, _ := strings.Cut(rel, "/")
	return top == "runs" || top == ".overbrainer" || strings.HasPrefix(top, "overbrainer.state.json") || top == ".overbrainer.lock.hcl"
}

// treeFile is a file of the project that may be uploaded.
type treeFile struct {
	path string // relative to the project, slash-separated
	info fs.FileInfo
	// problem says why it cannot be uploaded: a link that leads out of the
	// project, or to nothing.
	problem string
	sum     string
	err     error
}

// tree is the project's files, without ignored ones. It is read once.
type tree struct {
	root    string
	user    *glob.Ignore
	builtin *glob.Ignore
	once    sync.Once
	files   []*treeFile
	byPath  map[string]*treeFile
	err     error
}

func newTree(root string) *tree {
	t := &tree{root: root, builtin: glob.ParseIgnore(builtinIgnore), user: glob.ParseIgnore(""), byPath: map[string]*treeFile{}}
	if text, err := readBounded(filepath.Join(root, IgnoreFile), maxFileBytes); err == nil {
		t.user = glob.ParseIgnore(string(text))
	} else if !errors.Is(err, fs.ErrNotExist) {
		t.err = fmt.Errorf("%s: %s", IgnoreFile, reason(err))
	}
	return t
}

// ignored tells whether a path itself is left out, and by which rule.
func (t *tree) ignored(rel string, dir bool) (bool, string) {
	if yes, line, text := t.user.Match(rel, dir); line > 0 {
		return yes, fmt.Sprintf("%s:%d (%s)", IgnoreFile, line, text)
	}
	yes, _, text := t.builtin.Match(rel, dir)
	return yes, "the built-in rule " + text
}

// all gives every file in the order of paths within their directories.
func (t *tree) all() ([]*treeFile, error) {
	t.once.Do(func() {
		if t.err != nil {
			return
		}
		real, err := filepath.EvalSymlinks(t.root)
		if err != nil {
			t.err = err
			return
		}
		t.err = t.walk("", real, []string{real})
	})
	return t.files, t.err
}

// walk reads one directory. The real paths of the directories above guard
// against links that lead back up.
func (t *tree) walk(rel, real string, above []string) error {
	entries, err := os.ReadDir(filepath.Join(t.root, filepath.FromSlash(rel)))
	if err != nil {
		if rel == "" {
			return fmt.Errorf("the project cannot be read: %s", reason(err))
		}
		t.add(&treeFile{path: rel, problem: "cannot be read: " + reason(err)})
		return nil
	}
	for _, entry := range entries {
		name := path.Join(rel, entry.Name())
		if ours(name) {
			continue
		}
		if err := t.visit(name, filepath.Join(real, entry.Name()), entry, above); err != nil {
			return err
		}
		if len(t.files) > maxTreeFiles {
			return fmt.Errorf("the project holds more than %d files; leave directories out with %s", maxTreeFiles, IgnoreFile)
		}
	}
	return nil
}

func (t *tree) visit(name, real string, entry fs.DirEntry, above []string) error {
	mode := entry.Type()
	if mode&fs.ModeSymlink != 0 {
		return t.link(name, above)
	}
	if yes, _ := t.ignored(name, mode.IsDir()); yes {
		return nil
	}
	switch {
	case mode.IsDir():
		return t.walk(name, real, append(above, real))
	case mode.IsRegular():
		info, err := entry.Info()
		if err != nil {
			return nil // deleted meanwhile
		}
		t.add(&treeFile{path: name, info: info})
	}
	return nil
}

// link follows a link as far as it stays in the project.
func (t *tree) link(name string, above []string) error {
	full := filepath.Join(t.root, filepath.FromSlash(name))
	info, err := os.Stat(full)
	if yes, _ := t.ignored(name, err == nil && info.IsDir()); yes {
		return nil
	}
	if err != nil {
		t.add(&treeFile{path: name, problem: "is a link to nothing"})
		return nil
	}
	real, err := filepath.EvalSymlinks(full)
	if err != nil {
		t.add(&treeFile{path: name, problem: "is a link that cannot be followed"})
		return nil
	}
	rel, inside := within(above[0], real)
	switch {
	case !inside:
		t.add(&treeFile{path: name, problem: "is a link that leads out of the project, to " + real})
	case ours(rel):
	case info.IsDir():
		for _, dir := range above {
			if dir == real {
				return nil
			}
		}
		return t.walk(name, real, append(above, real))
	case info.Mode().IsRegular():
		t.add(&treeFile{path: name, info: info})
	}
	return nil
}

func (t *tree) add(f *treeFile) {
	t.files = append(t.files, f)
	t.byPath[f.path] = f
}

// named finds a file by its exact path. Naming it is stronger than the
// built-in rules. Nil with a reason: it cannot be uploaded.
func (t *tree) named(rel string) (*treeFile, string) {
	if f := t.byPath[rel]; f != nil {
		return f, ""
	}
	info, err := os.Stat(filepath.Join(t.root, filepath.FromSlash(rel)))
	if err != nil {
		return nil, ""
	}
	if ours(rel) {
		return nil, "it belongs to overbrainer itself"
	}
	for i, c := range rel + "/" {
		if c != '/' {
			continue
		}
		dir := i < len(rel) || info.IsDir()
		if yes, line, text := t.user.Match(rel[:i], dir); line > 0 && yes {
			return nil, fmt.Sprintf("it is left out by %s:%d (%s)", IgnoreFile, line, text)
		} else if yes, rule := t.ignored(rel[:i], dir); yes && info.IsDir() {
			return nil, fmt.Sprintf("it is left out by %s; the line !%s/ in %s takes it back", rule, rel[:i], IgnoreFile)
		}
	}
	if !info.Mode().IsRegular() {
		return nil, ""
	}
	f := &treeFile{path: rel, info: info}
	real, err := filepath.EvalSymlinks(filepath.Join(t.root, filepath.FromSlash(rel)))
	root, rootErr := filepath.EvalSymlinks(t.root)
	if err != nil || rootErr != nil {
		f.problem = "is a link that cannot be followed"
	} else if _, inside := within(root, real); !inside {
		f.problem = "is a link that leads out of the project, to " + real
	}
	t.byPath[rel] = f
	return f, ""
}

// within reports whether a path lies below a directory, and where.
func within(dir, name string) (string, bool) {
	rel, err := filepath.Rel(dir, name)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", false
	}
	return filepath.ToSlash(rel), true
}
