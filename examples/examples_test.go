package examples

import (
	"bytes"
	"os"
	"testing"
)

// The helper for jobs is one file; a project that is copied needs its own.
func TestHelperIsTheSameEverywhere(t *testing.T) {
	helper, err := os.ReadFile("helpers/overbrainer_job.py")
	if err != nil {
		t.Fatal(err)
	}
	files, err := Files("axolotl")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(files["overbrainer_job.py"], helper) {
		t.Error("examples/axolotl/overbrainer_job.py is not examples/helpers/overbrainer_job.py")
	}
}
