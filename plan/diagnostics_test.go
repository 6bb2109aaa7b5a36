package plan

import (
	"fmt"
	"testing"
	"time"

	"github.com/hashicorp/hcl/v2"

	"github.com/overbrainer/overbrainer/config"
)

// What is said twice is in a plan once, and ten times as many things to say take
// about ten times as long, not a hundred times.
func TestDiagnosticsAreSaidOnce(t *testing.T) {
	say := func(n int) (took time.Duration) {
		b := &builder{p: &Plan{}, in: Input{Config: &config.Config{}}}
		b.hcl(hcl.Diagnostics{{Severity: hcl.DiagWarning, Summary: fmt.Sprintf("warning %06d", 0), Detail: "x"}})
		began := time.Now()
		for i := range n {
			b.warn(fmt.Sprintf("warning %06d", i), "x")
			b.warn(fmt.Sprintf("warning %06d", i/2), "x")
		}
		took = time.Since(began)
		b.error("warning 000000", "x")
		if got := len(b.p.Diagnostics); got != n+1 {
			t.Fatalf("%d diagnostics, want %d", got, n+1)
		}
		return took
	}
	least := func(n int) time.Duration { return min(say(n), say(n), say(n)) }
	var few, many time.Duration
	for range 10 { // a machine with other work may take its time once
		if few, many = least(2_000), least(20_000); many <= 40*few {
			return
		}
	}
	t.Errorf("2,000 take %s, 20,000 take %s", few, many)
}
