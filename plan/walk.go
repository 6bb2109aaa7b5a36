package plan

import (
	"github.com/overbrainer/overbrainer/providers"
)

// Walk goes through the types that a target may be placed on, in the order in
// which they are worth trying, and takes in what later looks at the catalog
// show. It is a value of rules: it asks nobody and waits for nothing.
//
//	w, err := plan.NewWalk(target, catalog, planned)
//	for {
//		offer, ok := w.Next()
//		if !ok { break }
//		… try it; when it was refused for want of capacity or permission:
//		if w.Refused(offer.GPUType) { w.Reread(newCatalog) }
//	}
type Walk struct {
	target TargetSpec
	// planned limits the walk to what a plan showed, nil = no limit.
	planned map[string]*float64
	untried []candidate // in stock, for a listed target all that pass
	shots   []candidate
	tried   map[string]bool
	// shotsLeft counts over the whole walk.
	shotsLeft int
	dropped   []PriceMove
}

// PriceMove is a planned type that became dearer than the plan showed.
type PriceMove struct {
	GPUType string
	// PlannedUSD and NowUSD are for an hour of all GPUs; NowUSD nil = no longer
	// known.
	PlannedUSD float64
	NowUSD     *float64
}

// NewWalk starts a walk. planned are the offers that a plan showed: other
// types are left out then, and those that became dearer, see Dearer. Nil
// allows every type that passes the target's limits.
//
// Errors: *NotInStockError when a target with gpu_types = "auto" has nothing
// in stock, *NoDataCenterError when data centers are to be chosen and none
// reports a type, *DearerError when every planned type is dearer now.
func NewWalk(target TargetSpec, cat providers.Catalog, planned []Offer) (*Walk, error) {
	w := &Walk{target: target, tried: map[string]bool{}, shotsLeft: maxLongShots}
	if planned != nil {
		w.planned = map[string]*float64{}
		for _, o := range planned {
			w.planned[o.GPUType] = o.PriceUSD
		}
	}
	list := w.allowed(cat)
	switch {
	case len(list) == 0 && len(w.dropped) > 0:
		return nil, &DearerError{Target: target.Address, Moves: w.dropped}
	case target.Auto && len(stocked(list)) == 0:
		return nil, target.notInStock(cat)
	case target.autoPlaces() && namesPlaces(list) && len(placesFor(stocked(list))) == 0:
		return nil, target.noDataCenter(list)
	}
	w.take(list)
	return w, nil
}

// Next gives the next type to try; it is never given again. ok is false when
// there is none left.
func (w *Walk) Next() (offer Offer, ok bool) {
	if len(w.shots) > 0 {
		c := w.shots[0]
		w.shots = w.shots[1:]
		w.shotsLeft--
		w.tried[c.gpu.ID] = true
		return w.target.offer(c, nil, true), true
	}
	if len(w.untried) == 0 {
		return Offer{}, false
	}
	c := w.untried[0]
	offer = w.target.offer(c, w.untried, false)
	w.untried = w.untried[1:]
	w.tried[c.gpu.ID] = true
	return offer, true
}

// Refused takes note that a type was refused and reports whether the catalog
// is worth another look: only where types are chosen by it.
func (w *Walk) Refused(string) bool { return w.target.Auto }

// Reread orders what was not tried yet by a newer catalog. It reports false,
// and keeps the order, when nothing of it is in stock there.
func (w *Walk) Reread(cat providers.Catalog) bool {
	list := w.allowed(cat)
	if w.target.Auto && len(stocked(list)) == 0 || len(list) == 0 {
		return false
	}
	w.take(list)
	return true
}

// Dearer gives the planned types that were left out because they cost more
// now than the plan showed.
func (w *Walk) Dearer() []PriceMove { return w.dropped }

// allowed gives the untried types that pass the target and the plan.
func (w *Walk) allowed(cat providers.Catalog) []candidate {
	var list []candidate
	w.dropped = nil
	for _, c := range w.target.passing(cat) {
		if w.tried[c.gpu.ID] {
			continue
		}
		if w.planned != nil {
			ceiling, ok := w.planned[c.gpu.ID]
			if !ok {
				continue
			}
			if move, dearer := w.dearer(c, ceiling); dearer {
				w.dropped = append(w.dropped, move)
				continue
			}
		}
		list = append(list, c)
	}
	return list
}

// dearer compares with the ceiling; what the plan showed without a price has
// none.
func (w *Walk) dearer(c candidate, ceiling *float64) (PriceMove, bool) {
	if ceiling == nil {
		return PriceMove{}, false
	}
	move := PriceMove{GPUType: c.gpu.ID, PlannedUSD: *ceiling}
	if c.price == 0 && !w.target.Free {
		return move, true
	}
	now := c.price * float64(w.target.GPUCount)
	move.NowUSD = &now
	const rounding = 1e-6
	return move, now > *ceiling+rounding
}

// take sets what is to be tried from a list in order.
func (w *Walk) take(list []candidate) {
	w.untried, w.shots = list, nil
	if w.target.Auto {
		w.untried = stocked(list)
		w.shots = w.target.longShots(list, w.shotsLeft)
	}
}

// Resolve gives every type that passes the target's limits: first those that a
// walk would try, in its order, then those that are out of stock, as Reserve.
// Together with *NotInStockError come the types that pass but for their stock.
func Resolve(target TargetSpec, cat providers.Catalog) ([]Offer, error) {
	offers := []Offer{}
	w, err := NewWalk(target, cat, nil)
	if err == nil {
		for o, ok := w.Next(); ok; o, ok = w.Next() {
			offers = append(offers, o)
		}
		choose(offers)
	}
	for _, c := range target.passing(cat) {
		if w != nil && w.tried[c.gpu.ID] {
			continue
		}
		o := target.offer(c, nil, false)
		o.Reserve = true
		offers = append(offers, o)
	}
	return offers, err
}

// choose marks the offer that is expected to be placed: the first in stock,
// else the first.
func choose(offers []Offer) {
	for i := range offers {
		if providers.Stock(offers[i].Stock).In() {
			offers[i].Chosen = true
			return
		}
	}
	if len(offers) > 0 {
		offers[0].Chosen = true
	}
}
