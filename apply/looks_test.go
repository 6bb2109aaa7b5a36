package apply

import (
	"fmt"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/providers/providertest"
	"github.com/overbrainer/overbrainer/state"
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

// TestListsThatHang: an API that asks to wait for long keeps nobody from seeing that
// a job has ended, nor from leaving.
func TestListsThatHang(t *testing.T) {
	sweep := func() *plan.Plan {
		specs := map[string]*plan.RunSpec{}
		for i := range 4 {
			specs[fmt.Sprintf("run.r%d", i)] = spec()
		}
		return planOf(plan.Create, specs)
	}
	hang := func(w *world, lists int) {
		w.parallel = 4
		w.mem.Fail(providertest.Fault{Op: "ListPods", Skip: lists, Times: 3, Do: func() { time.Sleep(10 * time.Minute) }})
	}
	t.Run("while jobs run", func(t *testing.T) {
		in(t, func(t *testing.T, w *world) {
			const length = 5 * time.Minute
			w.job.length = length
			hang(w, 6)
			w.apply(sweep(), Options{})
			for i := range 4 {
				run := w.run(fmt.Sprintf("run.r%d", i))
				if took := run.Attempts[0].EndedAt.Sub(*run.Pod.ReadyAt); run.Phase != state.Succeeded || took > length+time.Minute {
					t.Errorf("%s: %s, its pod lived %s for a job of %s", run.ID, run.Phase, took, length)
				}
			}
			w.clean()
		})
	})
	t.Run("while pods boot", func(t *testing.T) {
		in(t, func(t *testing.T, w *world) {
			w.boot = func(_ int, p *fakePod) { p.bootTime = time.Hour }
			hang(w, 1)
			began := time.Now()
			time.AfterFunc(time.Minute, func() { w.interrupts <- struct{}{} })
			if out := w.apply(sweep(), Options{}); !out.Interrupted {
				t.Errorf("class %d", out.Class)
			}
			for i := range 4 {
				run := w.run(fmt.Sprintf("run.r%d", i))
				if took := run.Attempts[0].EndedAt.Sub(began); took > 90*time.Second {
					t.Errorf("%s: its pod lived %s", run.ID, took)
				}
			}
			w.clean()
		})
	})
}
