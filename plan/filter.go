package plan

import (
	"math"
	"sort"

	"github.com/overbrainer/overbrainer/providers"
)

// maxLongShots is how many types that are not reported in stock one walk
// tries, hoping that the report is late.
const maxLongShots = 3

// autoWord stands for "choose" in gpu_types and data_centers.
const autoWord = "auto"

// candidate is a type of the catalog that a target may use.
type candidate struct {
	gpu providers.GPUType
	// price of one GPU; 0 = unknown, where the target is not free.
	price float64
	// stock where the target may place it.
	stock providers.Stock
}

func (c candidate) inStock() bool { return c.stock.In() }

// knownPrice gives a usable price, 0 for everything that is none.
func knownPrice(p float64) float64 {
	if p > 0 && !math.IsInf(p, 0) && !math.IsNaN(p) {
		return p
	}
	return 0
}

// autoPlaces reports whether data centers are to be chosen by stock.
func (t TargetSpec) autoPlaces() bool {
	return len(t.DataCenters) == 1 && t.DataCenters[0] == autoWord
}

// listedPlaces gives the data centers that bind every create, none if there
// are no such.
func (t TargetSpec) listedPlaces() []string {
	if t.autoPlaces() {
		return nil
	}
	return t.DataCenters
}

// vramFloor is the least VRAM of one GPU: what was asked for wins over what is
// estimated.
func (t TargetSpec) vramFloor() int {
	if t.MinVRAMGB > 0 {
		return t.MinVRAMGB
	}
	return t.VRAMFloorGB
}

// fault is one reason why a type does not pass.
type fault string

const (
	faultCloud fault = "cloud"
	faultVRAM  fault = "vram"
	faultPrice fault = "price"
	faultCount fault = "count"
	faultPlace fault = "place" // offered in other data centers only
	faultStock fault = "stock"
)

// faults gives every reason why the type does not pass the target's limits;
// stock is judged apart.
func (t TargetSpec) faults(g providers.GPUType) []fault {
	var f []fault
	if !g.Offered {
		f = append(f, faultCloud)
	}
	if g.MaxCount > 0 && g.MaxCount < t.GPUCount {
		f = append(f, faultCount)
	}
	if t.Auto {
		if g.VRAMGB < t.vramFloor() {
			f = append(f, faultVRAM)
		}
		if price := knownPrice(g.Price); t.MaxPricePerHour > 0 && (price == 0 && !t.Free || price > t.MaxPricePerHour) {
			f = append(f, faultPrice)
		}
	}
	return f
}

// candidate judges a type's stock where the target may place it.
func (t TargetSpec) candidate(g providers.GPUType) candidate {
	c := candidate{gpu: g, price: knownPrice(g.Price), stock: g.Stock}
	listed := t.listedPlaces()
	if len(listed) == 0 {
		return c
	}
	c.stock = providers.NoStock
	if len(g.DataCenters) == 0 && !g.Stock.In() {
		c.stock = g.Stock
	}
	for _, p := range g.DataCenters {
		if has(listed, p.DataCenter) && better(p.Stock, c.stock) {
			c.stock = p.Stock
		}
	}
	return c
}

// elsewhere reports whether a type names data centers, and none that the
// target lists.
func (t TargetSpec) elsewhere(g providers.GPUType) bool {
	listed := t.listedPlaces()
	if len(listed) == 0 || len(g.DataCenters) == 0 {
		return false
	}
	for _, p := range g.DataCenters {
		if has(listed, p.DataCenter) {
			return false
		}
	}
	return true
}

func rank(s providers.Stock) int {
	switch s {
	case providers.HighStock:
		return 4
	case providers.MediumStock:
		return 3
	case providers.LowStock:
		return 2
	case providers.NoStock:
		return 0
	}
	return 1
}

func better(a, b providers.Stock) bool { return rank(a) > rank(b) }

// passing gives the types that pass, in the order they are tried: listed ones
// as listed, for auto the cheapest first (unknown prices last), then the
// larger VRAM, then by ID.
func (t TargetSpec) passing(cat providers.Catalog) []candidate {
	var list []candidate
	if !t.Auto {
		byID := map[string]providers.GPUType{}
		for _, g := range cat.GPUs {
			byID[g.ID] = g
		}
		seen := map[string]bool{}
		for _, id := range t.GPUTypes {
			if g, ok := byID[id]; ok && !seen[id] && len(t.faults(g)) == 0 {
				seen[id] = true
				list = append(list, t.candidate(g))
			}
		}
		return list
	}
	for _, g := range cat.GPUs {
		if len(t.faults(g)) == 0 {
			list = append(list, t.candidate(g))
		}
	}
	sort.SliceStable(list, func(i, j int) bool { return cheaper(list[i], list[j]) })
	return list
}

func cheaper(a, b candidate) bool {
	switch {
	case a.price != b.price:
		return b.price == 0 || a.price != 0 && a.price < b.price
	case a.gpu.VRAMGB != b.gpu.VRAMGB:
		return a.gpu.VRAMGB > b.gpu.VRAMGB
	}
	return a.gpu.ID < b.gpu.ID
}

// longShots gives the types worth trying although they are not reported in
// stock: strictly cheaper than the cheapest that is.
func (t TargetSpec) longShots(list []candidate, most int) []candidate {
	var cheapest float64
	for _, c := range list {
		if c.inStock() {
			cheapest = c.price // sorted: an unknown price only if all are
			break
		}
	}
	var shots []candidate
	for _, c := range list {
		if len(shots) == most || cheapest == 0 {
			break
		}
		if !c.inStock() && c.price > 0 && c.price < cheapest && !t.elsewhere(c.gpu) {
			shots = append(shots, c)
		}
	}
	return shots
}

func has(list []string, s string) bool {
	for _, have := range list {
		if have == s {
			return true
		}
	}
	return false
}
