package apply

import (
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/overbrainer/overbrainer/state"
)

// Elsewhere says who has a run's results, where that is not this project's
// directory; "" where they are here, nowhere, or nobody knows.
func Elsewhere(project string, run *state.Run) string {
	if !run.Retrieved || run.FetchedBy == "" {
		return ""
	}
	data, err := os.ReadFile(filepath.Join(project, filepath.FromSlash(run.Dir), "run.json"))
	var here resultFile
	if err == nil && json.Unmarshal(data, &here) == nil && (len(here.Files) > 0 || run.ResultFiles == 0) {
		return ""
	}
	return run.FetchedBy
}
