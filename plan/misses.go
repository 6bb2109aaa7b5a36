package plan

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/overbrainer/overbrainer/internal/money"
	"github.com/overbrainer/overbrainer/providers"
)

// NotInStockError says that no type passes the limits of a target with
// gpu_types = "auto", or none that does is in stock. Nothing was created.
type NotInStockError struct {
	Target string
	Cloud  string
	// Asked is what was asked for, in words.
	Asked []string
	// OnlyStock: types pass the limits, but none is in stock.
	OnlyStock bool
	Misses    []Miss
}

// Miss is a type that nearly passes, with what is wrong with it in words.
type Miss struct {
	GPUType  string
	VRAMGB   int
	PriceUSD float64 // of one GPU; 0 = unknown
	Stock    string
	Why      []string
}

func (m Miss) String() string {
	price := "price unknown"
	if m.PriceUSD > 0 {
		price = money.Price(m.PriceUSD)
	}
	return fmt.Sprintf("%s (%d GB, %s, stock %s): %s", Quoted(m.GPUType), m.VRAMGB, price, m.Stock, strings.Join(m.Why, ", "))
}

func (e *NotInStockError) Error() string {
	what := "no GPU type of the " + e.Cloud + ` cloud passes for gpu_types = "auto"`
	if e.OnlyStock {
		what = "nothing is in stock on the " + e.Cloud + ` cloud for gpu_types = "auto"`
	}
	s := what
	if len(e.Asked) > 0 {
		s += " with " + strings.Join(e.Asked, ", ")
	}
	if len(e.Misses) > 0 {
		var near []string
		for _, m := range e.Misses {
			near = append(near, m.String())
		}
		s += "; nearest: " + strings.Join(near, "; ")
	}
	return s
}

// NoDataCenterError says that data_centers = "auto" found no data center with
// one of the types in stock. Nothing was created.
type NoDataCenterError struct {
	Target   string
	GPUTypes []string
	GPUCount int
}

func (e *NoDataCenterError) Error() string {
	return fmt.Sprintf("no data center has %s in stock with gpu_count = %d", or(e.GPUTypes), e.GPUCount)
}

// DearerError says that every type of a plan costs more now than it showed.
// Nothing was created.
type DearerError struct {
	Target string
	Moves  []PriceMove
}

func (e *DearerError) Error() string {
	var parts []string
	for _, m := range e.Moves {
		parts = append(parts, m.String())
	}
	return "every offer of the plan is dearer now: " + strings.Join(parts, "; ")
}

func (m PriceMove) String() string {
	if m.NowUSD == nil {
		return fmt.Sprintf("%s was %s an hour and has no known price now", m.GPUType, money.Price(m.PlannedUSD))
	}
	return fmt.Sprintf("%s was %s an hour and is %s now, %s more", m.GPUType, money.Price(m.PlannedUSD), money.Price(*m.NowUSD), money.Price(*m.NowUSD-m.PlannedUSD))
}

// asked says the limits of a target in words, only those that are set.
func (t TargetSpec) asked() []string {
	list := []string{fmt.Sprintf("gpu_count = %d", t.GPUCount)}
	switch {
	case t.MinVRAMGB > 0:
		list = append(list, fmt.Sprintf("min_vram_gb = %d", t.MinVRAMGB))
	case t.VRAMFloorGB > 0:
		list = append(list, fmt.Sprintf("at least %d GB estimated for the model", t.VRAMFloorGB))
	}
	if t.MaxPricePerHour > 0 {
		list = append(list, "max_price_per_hour = "+strings.TrimPrefix(money.Price(t.MaxPricePerHour), "$"))
	}
	if places := t.listedPlaces(); len(places) > 0 {
		list = append(list, "data center "+or(places))
	}
	return list
}

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

func (t TargetSpec) noDataCenter(list []candidate) error {
	e := &NoDataCenterError{Target: t.Address, GPUCount: t.GPUCount}
	for _, c := range list {
		e.GPUTypes = append(e.GPUTypes, c.gpu.ID)
	}
	return e
}

// or joins names: "A, B or C".
func or(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}
