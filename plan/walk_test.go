package plan

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/overbrainer/overbrainer/providers"
)

// gpu writes a type of a catalog: "ID VRAM PRICE STOCK [PLACE=STOCK …]".
func gpu(line string) providers.GPUType {
	f := strings.Fields(line)
	g := providers.GPUType{ID: f[0], Name: f[0], Offered: true, Stock: providers.Stock(f[3])}
	_, _ = fmt.Sscan(f[1], &g.VRAMGB)
	_, _ = fmt.Sscan(f[2], &g.Price)
	for _, place := range f[4:] {
		id, stock, _ := strings.Cut(place, "=")
		g.DataCenters = append(g.DataCenters, providers.PlaceStock{DataCenter: id, Stock: providers.Stock(stock)})
	}
	return g
}

func catalog(lines ...string) providers.Catalog {
	var cat providers.Catalog
	for _, line := range lines {
		cat.GPUs = append(cat.GPUs, gpu(line))
	}
	return cat
}

func auto(change func(*TargetSpec)) TargetSpec {
	t := TargetSpec{Address: "target.gpu", GPUTypes: []string{"auto"}, Auto: true, GPUCount: 1, Cloud: "secure"}
	if change != nil {
		change(&t)
	}
	return t
}

// trace walks with every offer refused unless made says otherwise, and writes
// "TYPE@PLACES" for each. reads counts looks at the catalog, the first one
// included; a nil catalog is a read that failed.
func trace(t *testing.T, target TargetSpec, made map[string]bool, cats ...*providers.Catalog) (string, int) {
	t.Helper()
	reads := 1
	w, err := NewWalk(target, *cats[0], nil)
	if err != nil {
		t.Fatal(err)
	}
	var steps []string
	for {
		o, ok := w.Next()
		if !ok {
			return strings.Join(steps, " "), reads
		}
		step := o.GPUType
		if len(o.DataCenters) > 0 {
			step += "@" + strings.Join(o.DataCenters, "+")
		}
		steps = append(steps, step)
		if made[o.GPUType] || !w.Refused(o.GPUType) {
			continue
		}
		reads++
		if next := cats[min(reads, len(cats))-1]; next != nil {
			w.Reread(*next)
		}
	}
}

// The order in which types are tried, where, and how often the catalog is read
// meanwhile.
func TestWalk(t *testing.T) {
	autoPlaces := func(t *TargetSpec) { t.DataCenters = []string{"auto"} }
	cat := func(lines ...string) *providers.Catalog { c := catalog(lines...); return &c }
	for _, test := range []struct {
		name   string
		target TargetSpec
		cats   []*providers.Catalog
		made   map[string]bool
		want   string
		reads  int
	}{
		{
			name:   "long shot first, then by price and ID, data centers of what is left",
			target: auto(func(t *TargetSpec) { autoPlaces(t); t.GPUCount, t.MinVRAMGB = 2, 20 }),
			cats: []*providers.Catalog{cat("A6000 48 0.40 low US-KS-2=low", "A40 48 0.40 high US-KS-2=high",
				"4000Ada 20 0.30 low EU-RO-1=low", "L4 24 0.20 none")},
			want: "L4 4000Ada@EU-RO-1+US-KS-2 A40@US-KS-2 A6000@US-KS-2", reads: 5,
		},
		{
			name: "made but never ready: no new look", target: auto(nil),
			cats: []*providers.Catalog{cat("CHEAP 24 0.2 none", "STOCKED 24 0.4 low")},
			made: map[string]bool{"CHEAP": true, "STOCKED": true}, want: "CHEAP STOCKED", reads: 1,
		},
		{
			name: "dearer ones out of stock are never tried", target: auto(nil),
			cats: []*providers.Catalog{cat("DEAR 24 0.9 none", "STOCKED 24 0.4 low", "CHEAP 24 0.2 none")},
			made: map[string]bool{"STOCKED": true}, want: "CHEAP STOCKED", reads: 2,
		},
		{
			name: "stock that comes is used, what was tried is not tried again", target: auto(nil),
			cats: []*providers.Catalog{cat("A 24 0.3 low", "B 24 0.5 low", "C 24 0.4 none"), cat("A 24 0.3 high", "B 24 0.5 low", "C 24 0.4 low")},
			want: "A C B", reads: 4,
		},
		{
			name: "three long shots in all", target: auto(nil),
			cats: []*providers.Catalog{cat("S 24 0.5 low", "O1 24 0.10 none", "O2 24 0.11 none", "O3 24 0.12 none", "O4 24 0.13 none", "O5 24 0.14 none")},
			want: "O1 O2 O3 S", reads: 5,
		},
		{
			name:   "listed data centers bind long shots, too",
			target: auto(func(t *TargetSpec) { t.DataCenters, t.MinVRAMGB, t.MaxPricePerHour = []string{"EU-RO-1"}, 40, 0.4 }),
			cats:   []*providers.Catalog{cat("SMALL 16 0.1 high EU-RO-1=high", "FITS 48 0.2 none", "STOCKED 48 0.4 low EU-RO-1=low", "DEAR 48 0.41 low EU-RO-1=low", "AWAY 48 0.1 none US-KS-2=none")},
			want:   "FITS@EU-RO-1 STOCKED@EU-RO-1", reads: 3,
		},
		{
			name: "a look that failed changes nothing", target: auto(nil),
			cats: []*providers.Catalog{cat("A 24 0.3 low", "B 24 0.5 low"), nil}, want: "A B", reads: 3,
		},
		{
			name: "a look that shows nothing in stock changes nothing", target: auto(nil),
			cats: []*providers.Catalog{cat("A 24 0.3 low", "B 24 0.5 low"), cat("A 24 0.3 none", "B 24 0.5 none")}, want: "A B", reads: 3,
		},
		{
			name:   "listed types as listed, one look",
			target: auto(func(t *TargetSpec) { autoPlaces(t); t.Auto, t.GPUTypes = false, []string{"B", "A"} }),
			cats:   []*providers.Catalog{cat("A 24 0.3 low EU-RO-1=low", "B 24 0.5 low US-KS-2=low")},
			want:   "B@EU-RO-1+US-KS-2 A@EU-RO-1", reads: 1,
		},
		{
			name: "price, then VRAM, then ID, unknown price last", target: auto(nil),
			cats: []*providers.Catalog{cat("none 24 0 low", "b 24 0.5 low", "big 48 0.5 low", "a 24 0.5 low", "cheap 16 0.2 low")},
			want: "cheap big a b none", reads: 6,
		},
		{
			name: "only unknown prices: no long shots", target: auto(nil),
			cats: []*providers.Catalog{cat("A 24 0 low", "B 24 0.1 none")}, want: "A", reads: 2,
		},
		{
			name: "an equal price is no long shot, an unknown stock may be", target: auto(nil),
			cats: []*providers.Catalog{cat("A 24 0.3 low", "B 24 0.3 none", "C 24 0.2 unknown")}, want: "C A", reads: 3,
		},
		{
			name:   "data centers by the cheapest type there, then by ID",
			target: auto(autoPlaces),
			cats:   []*providers.Catalog{cat("cheap 24 0.2 low C=low D=high B=none", "dear 24 0.4 low A=low C=low")},
			want:   "cheap@C+D+A dear@A+C", reads: 3,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, reads := trace(t, test.target, test.made, test.cats...)
			if got != test.want || reads != test.reads {
				t.Errorf("walk %q with %d reads, want %q with %d", got, reads, test.want, test.reads)
			}
		})
	}
}

// Nothing that passes is an error before any create, which says what was asked
// for and what came nearest; a target's own floor wins over an estimate; a type
// is left out for its count, its cloud, or a stock that nobody knows.
func TestNothingToRent(t *testing.T) {
	floor := auto(func(t *TargetSpec) { t.VRAMFloorGB = 60 })
	for _, test := range []struct {
		name   string
		target TargetSpec
		cat    providers.Catalog
		words  []string
	}{
		{"only out of stock or too small", auto(func(t *TargetSpec) { t.MinVRAMGB = 40 }),
			catalog("OUT 48 0.1 none", "SMALL 24 0.1 high"),
			[]string{"nothing is in stock on the secure cloud", "gpu_count = 1", "min_vram_gb = 40", "OUT (48 GB, $0.10, stock none): not in stock", "SMALL"}},
		{"the model needs more", floor, catalog("MID 48 0.1 high"),
			[]string{"at least 60 GB estimated for the model", "12 GB of VRAM too small"}},
		{"an unknown price fails a limit", auto(func(t *TargetSpec) { t.MaxPricePerHour = 1 }), catalog("A 24 0.0 high"),
			[]string{"max_price_per_hour = 1.00", "its price is not known"}},
		{"nearest misses first", auto(func(t *TargetSpec) { t.MinVRAMGB, t.MaxPricePerHour = 80, 0.42 }),
			catalog("RTX4090 24 0.44 high", "A40 48 0.40 medium", "L40S 48 0.79 high"),
			[]string{"no GPU type of the secure cloud passes", "nearest: A40 (48 GB, $0.40, stock medium): 32 GB of VRAM too small; RTX4090"}},
		{"what is too small and what is too dear", auto(func(t *TargetSpec) { t.MinVRAMGB, t.MaxPricePerHour = 80, 0.5 }),
			catalog("A 16 0.2 high", "B 20 0.3 high", "C 24 0.4 high", "H100 80 2.5 low", "A100 80 1.5 none"),
			[]string{"nearest: C (24 GB, $0.40, stock high): 56 GB of VRAM too small; H100 (80 GB, $2.50, stock low): $2.00 an hour too dear; B"}},
		{"what is too dear and out of stock", auto(func(t *TargetSpec) { t.MinVRAMGB, t.MaxPricePerHour = 80, 0.5 }),
			catalog("A 16 0.2 high", "B 20 0.3 high", "C 24 0.4 high", "A100 80 1.5 none"),
			[]string{"too small; A100 (80 GB, $1.50, stock none): $1.00 an hour too dear, not in stock; B"}},
		{"data centers", auto(func(t *TargetSpec) { t.DataCenters = []string{"EU-RO-1", "EU-SE-1"} }),
			catalog("A 24 0.1 high US-KS-2=high"), []string{"data center EU-RO-1 or EU-SE-1", "only in other data centers"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := NewWalk(test.target, test.cat, nil)
			var none *NotInStockError
			if !errors.As(err, &none) {
				t.Fatalf("error %v", err)
			}
			for _, w := range test.words {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q is not in %q", w, err)
				}
			}
		})
	}

	if w, err := NewWalk(auto(func(t *TargetSpec) { t.VRAMFloorGB, t.MinVRAMGB = 60, 10 }), catalog("A 24 0.1 high"), nil); err != nil {
		t.Errorf("min_vram_gb does not win over the estimate: %v", err)
	} else if o, _ := w.Next(); o.GPUType != "A" {
		t.Errorf("offer %v", o)
	}

	cat := catalog("ONE 24 0.1 high", "COMMUNITY 24 0.1 high", "UNKNOWN 24 0.1 unknown")
	cat.GPUs[0].MaxCount = 1
	cat.GPUs[1].Offered = false
	if _, err := NewWalk(auto(func(t *TargetSpec) { t.GPUCount = 2 }), cat, nil); err == nil {
		t.Error("count, cloud and unknown stock pass")
	}

	listed := auto(func(t *TargetSpec) {
		t.Auto, t.GPUTypes, t.DataCenters, t.GPUCount = false, []string{"A", "B"}, []string{"auto"}, 2
	})
	_, err := NewWalk(listed, catalog("A 24 0.1 none X=none", "B 24 0.1 none X=none"), nil)
	var place *NoDataCenterError
	if !errors.As(err, &place) || !strings.Contains(err.Error(), "A or B") || !strings.Contains(err.Error(), "gpu_count = 2") {
		t.Errorf("error %v", err)
	}
}

func TestPlannedPricesAreCeilings(t *testing.T) {
	target := TargetSpec{Address: "target.gpu", GPUTypes: []string{"R4090", "A40"}, GPUCount: 2, Cloud: "secure"}
	planned, err := Resolve(target, catalog("R4090 24 0.44 high", "A40 48 0.40 medium"))
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewWalk(target, catalog("R4090 24 0.45 high", "A40 48 0.40 medium", "NEW 24 0.1 high"), planned)
	if err != nil {
		t.Fatal(err)
	}
	if o, _ := w.Next(); o.GPUType != "A40" {
		t.Errorf("first offer %v", o)
	}
	if _, more := w.Next(); more || len(w.Dearer()) != 1 {
		t.Errorf("dearer %v", w.Dearer())
	}
	_, err = NewWalk(target, catalog("R4090 24 0.88 high", "A40 48 0.45 medium"), planned)
	var dearer *DearerError
	if !errors.As(err, &dearer) {
		t.Fatalf("error %v", err)
	}
	for _, w := range []string{"R4090 was $0.88 an hour and is $1.76 now, $0.88 more", "A40 was $0.80 an hour and is $0.90 now, $0.10 more"} {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q is not in %q", w, err)
		}
	}
	// What was shown without a price has no ceiling; a price that is gone is
	// no promise.
	planned[0].PriceUSD = nil
	if w, err := NewWalk(target, catalog("R4090 24 9 high", "A40 48 0 low"), planned); err != nil || len(w.Dearer()) != 1 {
		t.Errorf("%v", err)
	}
}

func TestResolve(t *testing.T) {
	offers, err := Resolve(auto(func(t *TargetSpec) { t.GPUCount = 2 }),
		catalog("S 24 0.5 low EU-RO-1=low", "O 24 0.1 none", "D 48 0.9 none", "P 48 0 low"))
	if err != nil {
		t.Fatal(err)
	}
	one, two, three := 1.0, 0.2, 1.8
	want := []Offer{
		{GPUType: "O", GPUCount: 2, VRAMGB: 24, Cloud: "secure", PriceUSD: &two, Stock: "none", LongShot: true},
		{GPUType: "S", GPUCount: 2, VRAMGB: 24, Cloud: "secure", PriceUSD: &one, Stock: "low", Chosen: true, Places: []Place{{"EU-RO-1", "low"}}},
		{GPUType: "P", GPUCount: 2, VRAMGB: 48, Cloud: "secure", Stock: "low"},
		{GPUType: "D", GPUCount: 2, VRAMGB: 48, Cloud: "secure", PriceUSD: &three, Stock: "none", Reserve: true},
	}
	if diff := cmp.Diff(want, offers); diff != "" {
		t.Error(diff)
	}
	offers, err = Resolve(auto(nil), catalog("O 24 0.1 none"))
	if err == nil || len(offers) != 1 || !offers[0].Reserve {
		t.Errorf("nothing in stock gives %v, %v", offers, err)
	}
}

func TestNearestNames(t *testing.T) {
	labels := map[string]string{
		"NVIDIA GeForce RTX 4090": "RTX 4090", "NVIDIA RTX A4500": "RTX A4500", "NVIDIA  RTX A4500": "RTX A4500",
		"NVIDIA A100 80GB PCIe": "A100 PCIe", "NVIDIA A100-SXM4-80GB": "A100 SXM", "NVIDIA A40": "A40",
	}
	for asked, want := range map[string]string{
		"NVIDIA RTX 4090": "NVIDIA GeForce RTX 4090", "rtx 4090": "NVIDIA GeForce RTX 4090", "A100": "NVIDIA A100 80GB PCIe", "NVIDIA A41": "NVIDIA A40",
	} {
		if got := nearest(asked, labels, 3); len(got) == 0 || got[0] != want && !has(got[:min(2, len(got))], want) {
			t.Errorf("%q: %q, want %q", asked, got, want)
		}
	}
	if got := nearest("MI300X", labels, 3); len(got) != 0 {
		t.Errorf("nothing is near MI300X, got %q", got)
	}
	if got := sameButSpaces("NVIDIA RTX A4500", []string{"NVIDIA RTX A4500", "NVIDIA  RTX A4500"}); len(got) != 1 || Quoted(got[0]) != `"NVIDIA  RTX A4500"` {
		t.Errorf("spaces: %q", got)
	}
}
