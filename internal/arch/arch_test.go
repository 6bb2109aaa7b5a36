// Package arch holds the test that keeps the packages in their order.
package arch

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/overbrainer/overbrainer"

// everything says that a package may know everything of ours.
const everything = "*"

// may is the table of ARCHITECTURE.md: which packages of ours the code of a
// package may import. Those below a listed one belong to it unless they are
// listed themselves. Tests may import more.
var may = map[string][]string{
	"cmd/overbrainer":            {everything},
	"config":                     {"providers", "internal/glob"},
	"plan":                       {"config", "state", "providers", "internal/money"},
	"apply":                      {"plan", "state", "providers", "internal/job", "internal/remote", "internal/glob", "internal/money", "internal/safetext"},
	"state":                      {"internal/money"},
	"state/httpstate":            {"state"},
	"state/s3state":              {"state"},
	"state/pgstate":              {"state"},
	"state/statetest":            {"state"},
	"providers":                  {},
	"providers/plugin":           {"providers", "internal/safetext"},
	"providers/providertest":     {"providers"},
	"providers/runpod":           {"providers", "internal/safetext"},
	"providers/runpod/sim":       {"internal/remote/sshd"},
	"internal/glob":              {},
	"internal/money":             {},
	"internal/safetext":          {},
	"internal/remote":            {},
	"internal/remote/sshd":       {},
	"internal/remote/remotetest": {"internal/remote", "internal/remote/sshd"},
	"internal/job":               {"internal/remote", "internal/glob", "internal/safetext"},
	"internal/ui":                {"plan", "apply", "state", "internal/money", "internal/safetext"},
	"internal/arch":              {},
	"internal/crash":             {"state", "providers/runpod/sim"},
	"internal/bench":             {"apply", "plan", "state", "providers", "providers/providertest", "providers/runpod/sim", "internal/job", "internal/remote", "internal/remote/remotetest"},
	"examples":                   {},
	"examples/provider-local":    {"providers", "providers/plugin"}, // what an author elsewhere can import
	"tools":                      {},
}

// owner finds the row of the table that a directory belongs to.
func owner(dir string) (string, bool) {
	for d := dir; d != "." && d != ""; d = filepath.Dir(d) {
		if _, ok := may[d]; ok {
			return d, true
		}
	}
	return "", false
}

func TestImports(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "bin" || name == "dist") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		files++
		check(t, root, path)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 20 {
		t.Errorf("only %d files were looked at: the test does not see the tree", files)
	}
}

func check(t *testing.T, root, path string) {
	rel, err := filepath.Rel(root, path)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.ToSlash(filepath.Dir(rel))
	from, known := owner(dir)
	if !known {
		t.Errorf("%s: the package %s is in no row of the table", rel, dir)
		return
	}
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
	if err != nil {
		t.Errorf("%s: %v", rel, err)
		return
	}
	for _, spec := range f.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Errorf("%s: %v", rel, err)
			continue
		}
		if name == "github.com/mitchellh/cli" && rel != filepath.FromSlash("cmd/overbrainer/cli.go") {
			t.Errorf("%s imports %s, which only cmd/overbrainer/cli.go may", rel, name)
		}
		to, ours := strings.CutPrefix(name, module+"/")
		if !ours {
			continue
		}
		row, ok := owner(to)
		if !ok {
			t.Errorf("%s imports %s, which is in no row of the table", rel, to)
			continue
		}
		if row != from && !slices.Contains(may[from], row) && !slices.Contains(may[from], everything) {
			t.Errorf("%s imports %s: %s may import %v", rel, to, from, may[from])
		}
	}
}
