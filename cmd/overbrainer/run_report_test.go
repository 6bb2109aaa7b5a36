package main

import (
	"bytes"
	"fmt"
	"testing"
)

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
