package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/overbrainer/overbrainer/state"
)

// The files that runs share are listed once in a report on all of them.
func TestReportListsSharedFilesOnce(t *testing.T) {
	a := &app{dir: t.TempDir()}
	started := func(name string, files map[string]string) *state.Run {
		in := map[string]string{"command": "c", "trigger x": name}
		maps.Copy(in, files)
		data, err := json.Marshal(map[string]any{"inputs": in, "shown": map[string]string{"command": "python train.py"}})
		if err != nil {
			t.Fatal(err)
		}
		run := &state.Run{ID: name, Dir: "runs/" + name}
		if err := os.MkdirAll(filepath.Join(a.dir, run.Dir), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(a.dir, run.Dir, "inputs.json"), data, 0o600); err != nil {
			t.Fatal(err)
		}
		return run
	}
	files, others := map[string]string{}, map[string]string{}
	for i := range 2000 {
		files[fmt.Sprintf("file data/%04d", i)] = "1"
		others[fmt.Sprintf("file data/%04d", i)] = "2"
	}
	listed := map[string]string{}
	for _, test := range []struct {
		name  string
		files map[string]string
		lines int
		last  string
	}{
		{"first", files, 2002, "sha256 1"},
		{"second", files, 3, "2000, the same as of run.first"},
		{"others", others, 2002, "sha256 2"},
		{"none", nil, 2, "sha256 none"},
		{"none either", nil, 2, "sha256 none either"},
		{"one", map[string]string{"file x": "3"}, 3, "sha256 3"},
		{"the same one", map[string]string{"file x": "3"}, 3, "sha256 3"},
	} {
		r, _ := a.reported("run."+test.name, started(test.name, test.files), listed)
		if n := len(r.Config); n != test.lines || r.Config[0] != [2]string{"command", "python train.py"} || r.Config[n-1][1] != test.last {
			t.Errorf("%s: %d lines, the last one %q", test.name, n, r.Config[n-1])
		}
	}
}

// TestWhatAReportLacksIsToldOnce of all runs that lack it alike.
func TestWhatAReportLacksIsToldOnce(t *testing.T) {
	var told bytes.Buffer
	a := &app{err: &told}
	var lacks []lack
	for i := range 100 {
		dir := fmt.Sprintf("runs/x-%d", i)
		lacks = append(lacks, lack{fmt.Sprintf("run.x[%d]", i), dir, "the page lacks what is not here; it is not in " + dir + " here"})
	}
	lacks = append(lacks, lack{"run.y", "runs/y", "the page lacks what cannot be read: open /p/runs/y/job.log: permission denied"})
	a.warnLacking(lacks)
	const want = `Warning: run.x[0], run.x[1], run.x[2] and 97 more: the page lacks what is not here; it is not in runs/* here
Warning: run.y: the page lacks what cannot be read: open /p/runs/y/job.log: permission denied
`
	if told.String() != want {
		t.Errorf("%s", told.String())
	}
}
