package plan

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/overbrainer/overbrainer/internal/money"
	"github.com/overbrainer/overbrainer/providers"
)

// maxMisses is how many near misses an error names.
const maxMisses = 3

func (t TargetSpec) notInStock(cat providers.Catalog) error {
	e := &NotInStockError{Target: t.Address, Cloud: t.Cloud, Asked: t.asked(), OnlyStock: len(t.passing(cat)) > 0}
	var list []near
	for _, g := range cat.GPUs {
		c, faults := t.candidate(g), t.faults(g)
		switch {
		case t.elsewhere(g):
			faults = append(faults, faultPlace)
		case !c.inStock():
			faults = append(faults, faultStock)
		}
		list = append(list, near{c, faults})
	}
	sort.SliceStable(list, func(i, j int) bool {
		a, b := list[i], list[j]
		if len(a.faults) != len(b.faults) {
			return len(a.faults) < len(b.faults)
		}
		if x, y := t.distance(a.c, a.faults), t.distance(b.c, b.faults); x != y {
			return x < y
		}
		return cheaper(a.c, b.c)
	})
	for _, n := range ofEachKind(list, maxMisses) {
		m := Miss{GPUType: n.c.gpu.ID, VRAMGB: n.c.gpu.VRAMGB, PriceUSD: n.c.price, Stock: string(n.c.stock)}
		for _, f := range n.faults {
			m.Why = append(m.Why, t.why(n.c, f))
		}
		e.Misses = append(e.Misses, m)
	}
	return e
}

// near is a type that does not pass, with what is wrong with it.
type near struct {
	c      candidate
	faults []fault
}

// ofEachKind gives at most so many of a list in order: first one for each limit
// that is missed, so that who asks for much memory at a low price sees what is
// too small and what is too dear, and then the next ones.
func ofEachKind(list []near, most int) []near {
	limits := func(n near) []fault {
		return slices.DeleteFunc(slices.Clone(n.faults), func(f fault) bool { return f == faultStock || f == faultPlace })
	}
	fewest := math.MaxInt
	for _, n := range list {
		fewest = min(fewest, len(limits(n)))
	}
	seen := map[string]bool{}
	var first, rest []near
	for _, n := range list {
		missed := limits(n)
		if kind := fmt.Sprint(missed); len(missed) == fewest && !seen[kind] {
			seen[kind] = true
			first = append(first, n)
		} else {
			rest = append(rest, n)
		}
	}
	first = append(first, rest...)
	return first[:min(len(first), most)]
}

// distance says how far a type is from passing, as a share of each limit that
// it misses by a number.
func (t TargetSpec) distance(c candidate, faults []fault) float64 {
	var sum float64
	for _, f := range faults {
		switch f {
		case faultVRAM:
			sum += 1 - float64(c.gpu.VRAMGB)/float64(t.vramFloor())
		case faultPrice:
			if c.price == 0 {
				sum++
				break
			}
			sum += c.price/t.MaxPricePerHour - 1
		case faultCount:
			sum += 1 - float64(c.gpu.MaxCount)/float64(t.GPUCount)
		}
	}
	return sum
}

func (t TargetSpec) why(c candidate, f fault) string {
	switch f {
	case faultCloud:
		return "not offered in the " + t.Cloud + " cloud"
	case faultVRAM:
		return fmt.Sprintf("%d GB of VRAM too small", t.vramFloor()-c.gpu.VRAMGB)
	case faultPrice:
		if c.price == 0 {
			return "its price is not known"
		}
		return money.Price(c.price-t.MaxPricePerHour) + " an hour too dear"
	case faultCount:
		return fmt.Sprintf("at most %d GPUs on one machine", c.gpu.MaxCount)
	case faultPlace:
		return "only in other data centers"
	}
	return "not in stock"
}
