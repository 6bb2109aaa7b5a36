package plan

import (
	"io"
	"strings"
	"testing"
)

// BenchmarkPlan plans 1,000 runs with their configuration read already by an
// earlier plan, and writes them as JSON.
func BenchmarkPlan(b *testing.B) {
	hcl := strings.Replace(base, `run "train" {`, "run \"train\" {\n  count = 1000", 1)
	hcl = strings.Replace(hcl, "run.train.cost_usd", "1", 1)
	p := newProject(b, hcl)
	b.ReportAllocs()
	for b.Loop() {
		if err := p.plan().WriteJSON(io.Discard); err != nil {
			b.Fatal(err)
		}
	}
}
