// Package examples holds complete projects. They are what overbrainer init
// starts from, and what the tests plan and apply on the simulator.
package examples

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"
)

//go:embed quickstart sweep volume axolotl all:ci
var tree embed.FS

// names of the projects, the one to begin with first.
const names = "quickstart sweep volume axolotl ci"

// Names gives the projects' names, the one to begin with first.
func Names() []string { return strings.Fields(names) }

// Files gives the files of a project by path. Errors: there is no such one.
func Files(name string) (map[string][]byte, error) {
	files := map[string][]byte{}
	if !known(name) {
		return nil, fmt.Errorf("there is no example %q", name)
	}
	err := fs.WalkDir(tree, name, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := tree.ReadFile(path)
		files[strings.TrimPrefix(path, name+"/")] = data
		return err
	})
	return files, err
}

func known(name string) bool {
	for _, n := range Names() {
		if n == name {
			return true
		}
	}
	return false
}
