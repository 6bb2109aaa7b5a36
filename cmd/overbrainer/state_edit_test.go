package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/overbrainer/overbrainer/state"
)

// bigState makes a state of 3,000 runs in a directory, and gives its size.
func bigState(t *testing.T, dir string) uint64 {
	t.Helper()
	_, err := state.Local(dir, "1").Update(t.Context(), func(st *state.State) error {
		for i := range 3000 {
			id := fmt.Sprintf("r-%d", i)
			st.Resources[fmt.Sprintf("run.r[\"%d\"]", i)] = &state.Resource{Type: "run", Provider: "p",
				Run: &state.RunResource{Current: id, Runs: []*state.Run{{ID: id, Phase: state.Succeeded, Settled: true, HostKey: strings.Repeat("k", 3000)}}}}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, state.FileName))
	if err != nil {
		t.Fatal(err)
	}
	return uint64(info.Size())
}

// took is how many bytes f takes.
func took(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestStateEditsNameWhatTheyAlter: state rm and state mv of one entry read and write
// the state, and take no copy of all the others besides.
func TestStateEditsNameWhatTheyAlter(t *testing.T) {
	for _, args := range [][]string{{"state", "rm", `run.r["7"]`}, {"state", "mv", `run.r["7"]`, `run.r["x"]`}} {
		dir := t.TempDir()
		size := bigState(t, dir)
		bytes := took(func() {
			if code := start(append([]string{"-chdir=" + dir}, args...)); code != exitOK {
				t.Fatalf("%v ended with %d", args, code)
			}
		})
		if bytes > 8*size {
			t.Errorf("%v of a state of %d bytes took %d", args, size, bytes)
		}
	}
}

// TestCompletionReadsNames: names are completed without reading what is behind them.
func TestCompletionReadsNames(t *testing.T) {
	dir := t.TempDir()
	size := bigState(t, dir)
	a, err := newApp([]string{"-chdir=" + dir})
	if err != nil {
		t.Fatal(err)
	}
	defer a.close()
	for placeholder, want := range map[string]int{"ADDR|RUN": 6000, "ADDR": 3000} {
		var words []string
		if bytes := took(func() { words = a.candidates("state show", placeholder) }); len(words) != want || bytes > size/2 {
			t.Errorf("%d words for %s took %d bytes of a state of %d", len(words), placeholder, bytes, size)
		}
	}
}
