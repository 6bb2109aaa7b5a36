package state

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func put(s *State, addr string, runs ...*Run) {
	s.Resources[addr] = &Resource{Type: "run", Run: &RunResource{Current: runs[len(runs)-1].ID, Runs: runs}}
}

func TestReservations(t *testing.T) {
	s := New("x")
	under := Bounds{Cap: "cap.shared", MaxTotalUSD: 1}
	a := &Run{ID: "a", Phase: Preparing, Bounds: under}
	b := &Run{ID: "b", Phase: Preparing, Bounds: under}
	c := &Run{ID: "c", Phase: Preparing, Bounds: Bounds{Cap: "cap.other"}}
	put(s, "run.a", a)
	put(s, "run.b", b)
	put(s, "run.c", c)

	if err := s.Reserve(a, 0.9, 1); err != nil {
		t.Fatal(err)
	}
	err := s.Reserve(b, 0.9, 1)
	var over *BudgetError
	if !errors.As(err, &over) || over.ReservedUSD != 0.9 || b.ReservedUSD != 0 || !strings.Contains(err.Error(), "$0.90") {
		t.Fatalf("%v", err)
	}
	if left := s.BudgetLeft("cap.shared", 1, "b"); left < 0.0999 || left > 0.1001 {
		t.Errorf("left %v", left)
	}
	if err := s.Reserve(b, s.BudgetLeft("cap.shared", 1, "b"), 1); err != nil {
		t.Errorf("what is left does not fit: %v", err)
	}
	if err := s.Reserve(c, 1000, 0); err != nil {
		t.Errorf("a cap without a total: %v", err)
	}

	// The attempt of a failed: what it cost stays, the rest is free again.
	a.CostUSD = 0.2
	if err := s.Reserve(a, 0.7, 1); err != nil {
		t.Errorf("its own reservation stood in the way: %v", err)
	}
	if s.Settle(a) {
		t.Error("a live run was settled")
	}
	a.Phase = Failed
	a.Pod = &Pod{ID: "p", State: PodDeleting}
	if s.Settle(a) {
		t.Error("a run was settled whose pod may still bill")
	}
	a.Pod.State = PodDeleted
	for range 2 { // the second time changes nothing
		if !s.Settle(a) {
			t.Error("an ended run was not settled")
		}
	}
	if got := s.Spend["cap.shared"]; got.USD != 0.2 || got.Runs != 1 || a.ReservedUSD != 0 {
		t.Errorf("spend %+v", got)
	}
	if sum := s.Spending("cap.shared", ""); sum.SpentUSD != 0.2 || sum.Total() < 0.2999 || sum.Total() > 0.3001 {
		t.Errorf("spending %+v", sum)
	}
}

func TestPrune(t *testing.T) {
	s := New("x")
	done := &Run{ID: "1", Phase: Succeeded, CostUSD: 1, Bounds: Bounds{Cap: "cap.a"}}
	stray := &Run{ID: "2", Phase: Failed, Strays: []Stray{{PodID: "p", Since: time.Now()}}}
	asked := &Run{ID: "3", Phase: Failed, Attempts: []*Attempt{{Name: "n", Result: AttemptAmbiguous}}}
	secret := &Run{ID: "4", Phase: Failed, Secrets: []SecretRef{{Name: "s"}}}
	current := &Run{ID: "5", Phase: Succeeded, CostUSD: 2, Bounds: Bounds{Cap: "cap.a"}}
	put(s, "run.a", done, stray, asked, secret, current)
	if gone := s.Prune("run.a"); len(gone) != 1 || gone[0] != "1" {
		t.Errorf("pruned %v", gone)
	}
	if got := s.Spend["cap.a"]; got.USD != 3 || got.Runs != 2 {
		t.Errorf("spend %+v", got)
	}
	stray.Strays = nil
	s.Prune("run.a")
	if addr, run := s.FindRun("2"); run != nil {
		t.Errorf("%s kept a run that holds nothing", addr)
	}
	if _, run := s.FindRun("5"); run == nil {
		t.Error("the current run is gone")
	}
	if s.Prune("volume.x") != nil {
		t.Error("pruned what is not there")
	}
}

// What pods that still bill have cost is spent.
func TestSpentCountsWhatBills(t *testing.T) {
	s, now := New("x"), time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	under := Bounds{Cap: "cap.shared"}
	s.Spend["cap.shared"] = Spend{USD: 1, Runs: 1}
	put(s, "run.a", &Run{ID: "a", Phase: Running, Bounds: under, CostUSD: 0.25, Pod: &Pod{ID: "p", RateUSD: 0.5, CreatedAt: now.Add(-time.Hour)}})
	put(s, "run.b", &Run{ID: "b", Phase: Running, Bounds: Bounds{Cap: "cap.other"}, CostUSD: 9})
	put(s, "run.c", &Run{ID: "c", Phase: Failed, Bounds: under, CostUSD: 1, Settled: true}) // in Spend
	if usd := s.SpentUSD("cap.shared", now); usd != 1.75 {
		t.Errorf("spent %v", usd)
	}
}
