package apply

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/state"
)

// Two hundred runs that upload the same two thousand files have one list of them,
// and one that has a checkpoint besides has its own.
func TestRunsShareTheListOfTheirUploads(t *testing.T) {
	const runs, many = 200, 2000
	var list []plan.Upload
	for i := range many {
		list = append(list, plan.Upload{Path: fmt.Sprintf("data/%04d", i), Source: fmt.Sprintf("here/%04d", i), Size: 1})
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"here/0007": "seven", "runs/old/step-5/model": "weights"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := (&Engine{Project: dir}).open(t.Context(), "apply", 0)
	t.Cleanup(func() { close(s.ended) })
	one := func(run *state.Run, resumes bool) ([]File, func(File) (io.ReadSeekCloser, error)) {
		r := &runner{s: s, spec: &plan.RunSpec{Uploads: list}, run: run}
		files, open, dir, err := r.inputs()
		if err != nil || resumes != (dir == "resume/step-5") {
			t.Fatal(dir, err)
		}
		return files, open
	}
	read := func(open func(File) (io.ReadSeekCloser, error), f File, want string) {
		t.Helper()
		in, err := open(f)
		if err != nil {
			t.Error(err)
			return
		}
		defer in.Close()
		if text, err := io.ReadAll(in); err != nil || string(text) != want {
			t.Errorf("%s is %q, %v", f.Path, text, err)
		}
	}

	first, open := one(&state.Run{}, false)
	read(open, first[7], "seven")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range runs {
		if files, _ := one(&state.Run{}, false); &files[0] != &first[0] {
			t.Fatal("a run has a list of its own")
		}
	}
	runtime.ReadMemStats(&after)
	if bytes := after.TotalAlloc - before.TotalAlloc; bytes > 1_000_000 {
		t.Errorf("%d runs took %d bytes for the list of %d files that they share", runs, bytes, many)
	}

	files, open := one(&state.Run{From: &state.Checkpoint{Dir: "runs/old/step-5", Step: 5}}, true)
	if len(files) != many+1 || files[many].Path != "resume/step-5/model" || len(first) != many {
		t.Errorf("%d files, the last one %v", len(files), files[len(files)-1])
	}
	read(open, files[many], "weights")
	read(open, files[7], "seven")
	runtime.KeepAlive(open)
}
