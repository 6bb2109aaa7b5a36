package main

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/overbrainer/overbrainer/config"
)

// TestGraphInProportion: the graph of thousands of runs takes what its text takes,
// and not the square of it.
func TestGraphInProportion(t *testing.T) {
	p := &project{cfg: &config.Config{}}
	target, limit := &config.Target{Address: "target.gpu"}, &config.Cap{Address: "cap.day"}
	for i := range 2000 {
		p.cfg.Runs = append(p.cfg.Runs, &config.Run{Address: fmt.Sprintf("run.sweep[\"k%04d\"]", i), Target: target, Cap: limit})
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	text := p.dot()
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 20*uint64(len(text)) {
		t.Errorf("%d bytes took %d", len(text), took)
	}
}
