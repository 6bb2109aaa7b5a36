package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// namedTest is a test as docs name it: a directory, and a function or script.
var namedTest = regexp.MustCompile("`([a-z/]+) ((?:Test|Fuzz)[A-Za-z0-9]+|[a-z_]+\\.txtar)`")

// TestGuaranteesAreHeld: every row of the tables of what is guaranteed names
// tests, and all of them exist.
func TestGuaranteesAreHeld(t *testing.T) {
	for _, doc := range []string{"guarantees.md", "state.md"} {
		data, err := os.ReadFile(filepath.Join("..", "..", "docs", doc))
		if err != nil {
			t.Fatal(err)
		}
		held, rows := false, 0
		for n, line := range strings.Split(string(data), "\n") {
			switch {
			case !strings.HasPrefix(line, "|"):
				held = false
				continue
			case strings.HasSuffix(line, "| held by |"):
				held = true
				continue
			case !held || strings.HasPrefix(line, "|---"):
				continue
			}
			rows++
			cells := strings.Split(strings.Trim(line, "|"), " | ")
			last := cells[len(cells)-1]
			tests := namedTest.FindAllStringSubmatch(last, -1)
			if len(tests) == 0 || len(tests) != strings.Count(last, "`")/2 {
				t.Errorf("docs/%s:%d: %q names no tests, or something else", doc, n+1, last)
			}
			for _, test := range tests {
				if !testExists(t, test[1], test[2]) {
					t.Errorf("docs/%s:%d: there is no %s in %s", doc, n+1, test[2], test[1])
				}
			}
		}
		if rows < 10 {
			t.Errorf("docs/%s has %d rows", doc, rows)
		}
	}
}

// testExists looks for a function in the tests of a package, or for a script.
func testExists(t *testing.T, dir, name string) bool {
	t.Helper()
	dir = filepath.Join("..", "..", filepath.FromSlash(dir))
	if strings.HasSuffix(name, ".txtar") {
		_, err := os.Stat(filepath.Join(dir, "testdata", name))
		return err == nil
	}
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(data), "\nfunc "+name+"(") {
			return true
		}
	}
	return false
}
