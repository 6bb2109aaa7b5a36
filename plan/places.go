package plan

import "sort"

// placesFor gives the data centers that report stock of one of the types, in
// the order of the first type in stock there (types come cheapest first), then
// by ID.
func placesFor(list []candidate) []string {
	first := map[string]int{}
	var ids []string
	for i, c := range list {
		for _, p := range c.gpu.DataCenters {
			if _, known := first[p.DataCenter]; !known && p.Stock.In() {
				first[p.DataCenter] = i
				ids = append(ids, p.DataCenter)
			}
		}
	}
	sort.Slice(ids, func(i, j int) bool {
		if first[ids[i]] != first[ids[j]] {
			return first[ids[i]] < first[ids[j]]
		}
		return ids[i] < ids[j]
	})
	return ids
}

// namesPlaces reports whether any type of the list names a data center.
func namesPlaces(list []candidate) bool {
	for _, c := range list {
		if len(c.gpu.DataCenters) > 0 {
			return true
		}
	}
	return false
}

// byPrice gives a copy in the order of auto, so that chosen data centers
// follow the price whatever order the types were listed in.
func byPrice(list []candidate) []candidate {
	sorted := append([]candidate{}, list...)
	sort.SliceStable(sorted, func(i, j int) bool { return cheaper(sorted[i], sorted[j]) })
	return sorted
}

// offer is what the plan shows and apply asks for. untried are the types that
// chosen data centers may serve.
func (t TargetSpec) offer(c candidate, untried []candidate, longShot bool) Offer {
	o := Offer{
		GPUType: c.gpu.ID, GPUCount: t.GPUCount, VRAMGB: c.gpu.VRAMGB, Cloud: t.Cloud,
		Stock: string(c.stock), LongShot: longShot,
	}
	if c.price > 0 || t.Free {
		total := c.price * float64(t.GPUCount)
		o.PriceUSD = &total
	}
	switch {
	case !t.autoPlaces():
		o.DataCenters = t.listedPlaces()
	case !longShot:
		o.DataCenters = placesFor(byPrice(stocked(untried)))
	}
	listed := t.listedPlaces()
	for _, p := range c.gpu.DataCenters {
		if len(listed) == 0 || has(listed, p.DataCenter) {
			o.Places = append(o.Places, Place{DataCenter: p.DataCenter, Stock: string(p.Stock)})
		}
	}
	sort.Slice(o.Places, func(i, j int) bool { return o.Places[i].DataCenter < o.Places[j].DataCenter })
	return o
}

func stocked(list []candidate) []candidate {
	var in []candidate
	for _, c := range list {
		if c.inStock() {
			in = append(in, c)
		}
	}
	return in
}
