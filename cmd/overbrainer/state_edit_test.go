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

// TestStateEditsNameWhatTheyAlter: state rm and state mv of one entry read and write
// the state, and take no copy of all the others besides.
func TestStateEditsNameWhatTheyAlter(t *testing.T) {
	for _, args := range [][]string{{"state", "rm", `run.r["7"]`}, {"state", "mv", `run.r["7"]`, `run.r["x"]`}} {
		dir := t.TempDir()
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
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if code := start(append([]string{"-chdir=" + dir}, args...)); code != exitOK {
			t.Fatalf("%v ended with %d", args, code)
		}
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 8*uint64(info.Size()) {
			t.Errorf("%v of a state of %d bytes took %d", args, info.Size(), took)
		}
	}
}
