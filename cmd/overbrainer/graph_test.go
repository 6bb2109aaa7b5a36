package main

import (
	"fmt"
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
	var text string
	if bytes := took(func() { text = p.dot() }); bytes > 20*uint64(len(text)) {
		t.Errorf("%d bytes took %d", len(text), bytes)
	}
}
