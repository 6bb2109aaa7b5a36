package apply

import (
	"fmt"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/plan"
)

// TestManyRunsShareTheirReads: following eight pods takes about as many
// calls of the API as following one. Runs that begin together read the catalog
// once, and the end of each reads the account's secrets once at most.
func TestManyRunsShareTheirReads(t *testing.T) {
	calls := func(n int) (gets, lists, catalogs, secrets int) {
		in(t, func(t *testing.T, w *world) {
			w.job.length = 10 * time.Minute
			specs := map[string]*plan.RunSpec{}
			for i := range n {
				specs[fmt.Sprintf("run.r%d", i)] = spec()
			}
			p := planOf(plan.Create, specs)
			w.parallel = n
			if out := w.apply(p, Options{}); out.Class != OK || len(out.Runs) != n {
				t.Fatalf("%d of %d runs, class %d", len(out.Runs), n, out.Class)
			}
			gets, lists = w.mem.Count("GetPod"), w.mem.Count("ListPods")
			catalogs, secrets = w.mem.Count("Catalog"), w.mem.Count("ListSecrets")
			w.clean()
		})
		return gets, lists, catalogs, secrets
	}
	oneGets, oneLists, _, oneSecrets := calls(1)
	gets, lists, catalogs, secrets := calls(8)
	// Each pod is read for itself around its birth and its end.
	if few := 8*4 + oneGets; gets > few {
		t.Errorf("%d reads of single pods, %d for one run", gets, oneGets)
	}
	if few := 4*(oneGets+oneLists) + 8*3; lists > few {
		t.Errorf("%d lists; one run takes %d reads and %d lists", lists, oneGets, oneLists)
	}
	if catalogs != 1 {
		t.Errorf("%d reads of the catalog", catalogs)
	}
	if most := oneSecrets + 7; secrets > most {
		t.Errorf("%d reads of the secrets, %d for one run", secrets, oneSecrets)
	}
	t.Logf("one run: %d reads, %d lists; eight: %d and %d", oneGets, oneLists, gets, lists)
}
