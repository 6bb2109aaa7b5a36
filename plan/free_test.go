package plan

import (
	"testing"

	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/state"
)

// TestFreeIsAPriceAndNotUnknown: where a provider says that nothing costs
// anything, a limit on the price admits it and the sums are known to be 0.
func TestFreeIsAPriceAndNotUnknown(t *testing.T) {
	target := TargetSpec{GPUTypes: []string{"auto"}, Auto: true, GPUCount: 1, DiskGB: 50, MaxPricePerHour: 0.10}
	cat := providers.Catalog{GPUs: []providers.GPUType{{ID: "local", Offered: true, Stock: providers.HighStock}}}
	if offers, err := Resolve(target, cat); err == nil {
		t.Errorf("an unknown price passed a limit: %+v", offers)
	}
	target.Free = true
	offers, err := Resolve(target, cat)
	if err != nil || len(offers) != 1 || offers[0].PriceUSD == nil || *offers[0].PriceUSD != 0 || !offers[0].Chosen {
		t.Fatalf("%v, %+v", err, offers)
	}
	cost := runCost(offers, &RunSpec{Target: target, Cap: CapSpec{MaxHours: 2, MaxCostUSD: 1}}, nil, 0)
	if cost.MaxUSD == nil || *cost.MaxUSD != 0 || cost.HourlyUSD == nil || *cost.HourlyUSD != 0 {
		t.Errorf("%+v", cost)
	}
	b := builder{st: &state.State{}}
	if expected, _ := b.expectedCost(&Step{Address: "run.x", Run: &RunSpec{}, Cost: cost}); expected == nil || *expected != 0 {
		t.Errorf("expected %v", expected)
	}
	if w, err := NewWalk(target, cat, offers); err != nil || len(w.Dearer()) > 0 {
		t.Errorf("at apply: %v", err)
	}
	cat.GPUs[0].Price = 0.05
	target.Free = false
	if _, err := NewWalk(target, cat, offers); err == nil {
		t.Error("what a plan showed as free was taken at a price")
	}
}

func TestDiskInThePriceIsNotCountedAgain(t *testing.T) {
	target := TargetSpec{DiskGB: 720}
	if got := target.DiskHourly(); got != 0.10 {
		t.Errorf("besides the pod: %v", got)
	}
	target.DiskIncluded = true
	if got := target.DiskHourly(); got != 0 {
		t.Errorf("in its price: %v", got)
	}
}
