package plan

import (
	"fmt"
	"strings"

	"github.com/overbrainer/overbrainer/internal/money"
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
