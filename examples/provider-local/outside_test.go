//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestAnAuthorElsewhereCanBuildIt builds the program in a module of its own,
// where the compiler refuses what only this module may import.
func TestAnAuthorElsewhereCanBuildIt(t *testing.T) {
	const module = "github.com/overbrainer/overbrainer"
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	files, err := filepath.Glob("*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(files, "../../go.mod", "../../go.sum") {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(name) == "go.mod" {
			data = []byte(strings.Replace(string(data), "module "+module, "module example.com/provider", 1) +
				"\nrequire " + module + " v0.0.0\nreplace " + module + " => " + root + "\n")
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "build", "-mod=mod", "-o", filepath.Join(dir, "out"), ".")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
