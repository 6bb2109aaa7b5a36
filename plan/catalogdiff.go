package plan

import (
	"sort"

	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/state"
)

// seenOf keeps of a catalog what later plans compare with.
func seenOf(cat providers.Catalog) CatalogSeen {
	seen := CatalogSeen{GPUs: []SeenGPU{}}
	for _, g := range cat.GPUs {
		s := SeenGPU{ID: g.ID, VRAMGB: g.VRAMGB, MaxCount: g.MaxCount, Offered: g.Offered, PriceUSD: knownPrice(g.Price), Stock: string(g.Stock)}
		for _, p := range g.DataCenters {
			if s.DataCenters == nil {
				s.DataCenters = map[string]string{}
			}
			s.DataCenters[p.DataCenter] = string(p.Stock)
		}
		seen.GPUs = append(seen.GPUs, s)
	}
	sort.Slice(seen.GPUs, func(i, j int) bool { return seen.GPUs[i].ID < seen.GPUs[j].ID })
	return seen
}

// catalog gives back what seenOf kept, for resolving targets as they would
// have been resolved then.
func (c CatalogSeen) catalog() providers.Catalog {
	var cat providers.Catalog
	for _, s := range c.GPUs {
		g := providers.GPUType{ID: s.ID, VRAMGB: s.VRAMGB, MaxCount: s.MaxCount, Offered: s.Offered, Price: s.PriceUSD, Stock: providers.Stock(s.Stock)}
		for _, id := range sortedKeys(s.DataCenters) {
			g.DataCenters = append(g.DataCenters, providers.PlaceStock{DataCenter: id, Stock: providers.Stock(s.DataCenters[id])})
		}
		cat.GPUs = append(cat.GPUs, g)
	}
	return cat
}

// Seen gives what the plan saw with the time of it, for the next plan to
// compare with.
func (p *Plan) Seen() map[string]CatalogSeen {
	out := map[string]CatalogSeen{}
	for key, seen := range p.Catalogs {
		seen.ReadAt = p.Timestamp
		out[key] = seen
	}
	return out
}

// StateCatalogs gives what a plan saw in the form of the state, for apply to
// store.
func (p *Plan) StateCatalogs() map[string]state.Catalog {
	out := map[string]state.Catalog{}
	for key, seen := range p.Catalogs {
		c := state.Catalog{ReadAt: p.Timestamp}
		for _, g := range seen.GPUs {
			c.GPUs = append(c.GPUs, state.CatalogGPU(g))
		}
		out[key] = c
	}
	return out
}

// lastSeen is the newer of what the last plan and the last apply saw.
func (b *builder) lastSeen(key string) (CatalogSeen, bool) {
	seen, ok := b.in.Seen[key]
	if stored, has := b.st.Catalogs[key]; has && (!ok || stored.ReadAt.After(seen.ReadAt)) {
		seen, ok = CatalogSeen{ReadAt: stored.ReadAt}, true
		for _, g := range stored.GPUs {
			seen.GPUs = append(seen.GPUs, SeenGPU(g))
		}
	}
	return seen, ok
}

// seenBefore gives the types that were offered when last looked at.
func (b *builder) seenBefore(key string) map[string]SeenGPU {
	seen, _ := b.lastSeen(key)
	types := map[string]SeenGPU{}
	for _, g := range seen.GPUs {
		types[g.ID] = g
	}
	return types
}

// diffCatalogs says what moved since the last look, as far as a target of the
// plan can use it.
func (b *builder) diffCatalogs() {
	done := map[CatalogChange]bool{}
	for _, r := range b.resolved {
		before, ok := b.lastSeen(r.scope.key)
		if !ok || r.scope.err != nil || r.unsized {
			continue
		}
		for _, change := range diffTarget(r.spec, before, r.scope.catalog) {
			key := change
			key.Since, key.Before, key.After = nil, text(change.Before), text(change.After)
			if !done[key] {
				done[key] = true
				since := before.ReadAt
				change.Since = &since
				b.p.CatalogDiff = append(b.p.CatalogDiff, change)
			}
		}
	}
	sort.SliceStable(b.p.CatalogDiff, func(i, j int) bool { return b.p.CatalogDiff[i].sortKey() < b.p.CatalogDiff[j].sortKey() })
}

func (c CatalogChange) sortKey() string {
	order := map[string]string{"choice": "0", "rank": "1", "offered": "2", "price": "3", "stock": "4"}
	return order[c.Field] + "\x00" + c.Cloud + "\x00" + string(rune(c.GPUCount)) + "\x00" + c.GPUType + "\x00" + c.DataCenter + "\x00" + c.Target
}

func text(v any) any {
	switch v.(type) {
	case string, float64, int, bool, nil:
		return v
	}
	return nil
}

// diffTarget compares two looks for one target.
func diffTarget(t TargetSpec, before CatalogSeen, now providers.Catalog) []CatalogChange {
	then := before.catalog()
	usable := map[string]bool{}
	for _, c := range append(t.passing(then), t.passing(now)...) {
		usable[c.gpu.ID] = true
	}
	if !t.Auto {
		for _, id := range t.GPUTypes {
			usable[id] = true
		}
	}
	old, cur := byID(then), byID(now)
	var list []CatalogChange
	add := func(gpu, field, place string, before, after any) {
		list = append(list, CatalogChange{GPUType: gpu, Cloud: t.Cloud, GPUCount: t.GPUCount, Field: field, DataCenter: place, Before: before, After: after})
	}
	for _, id := range sortedKeys(usable) {
		a, b := old[id], cur[id]
		was, is := a != nil && a.Offered, b != nil && b.Offered
		if was != is {
			add(id, "offered", "", was, is)
			continue
		}
		if !is {
			continue
		}
		if x, y := knownPrice(a.Price), knownPrice(b.Price); x != y {
			add(id, "price", "", priceOrNil(x), priceOrNil(y))
		}
		if a.Stock != b.Stock {
			add(id, "stock", "", string(a.Stock), string(b.Stock))
		}
		for _, place := range placesOf(t, a, b) {
			if x, y := stockAt(a, place), stockAt(b, place); x != y {
				add(id, "stock", place, x, y)
			}
		}
	}
	return append(list, diffChoice(t, then, now)...)
}

// diffChoice says when a target would be placed elsewhere than before.
func diffChoice(t TargetSpec, then, now providers.Catalog) []CatalogChange {
	was, _ := Resolve(t, then)
	is, _ := Resolve(t, now)
	a, rankThen := chosenOf(was)
	b, _ := chosenOf(is)
	if a == b {
		return nil
	}
	change := CatalogChange{GPUType: b, Cloud: t.Cloud, GPUCount: t.GPUCount, Target: t.Address, Field: "choice", Before: nameOrNil(a), After: nameOrNil(b)}
	if b == "" {
		change.GPUType = a
	}
	list := []CatalogChange{change}
	if a != "" {
		rank := CatalogChange{GPUType: a, Cloud: t.Cloud, GPUCount: t.GPUCount, Target: t.Address, Field: "rank", Before: rankThen}
		if at := rankOf(is, a); at > 0 {
			rank.After = at
		}
		if rank.After != rank.Before {
			list = append(list, rank)
		}
	}
	return list
}

// chosenOf gives the chosen type and its place in the order, from 1.
func chosenOf(offers []Offer) (string, int) {
	for i, o := range offers {
		if o.Chosen {
			return o.GPUType, i + 1
		}
	}
	return "", 0
}

func rankOf(offers []Offer, gpu string) int {
	for i, o := range offers {
		if o.GPUType == gpu && !o.Reserve {
			return i + 1
		}
	}
	return 0
}

func byID(cat providers.Catalog) map[string]*providers.GPUType {
	m := map[string]*providers.GPUType{}
	for i := range cat.GPUs {
		m[cat.GPUs[i].ID] = &cat.GPUs[i]
	}
	return m
}

// placesOf gives the data centers of either look that the target may use.
func placesOf(t TargetSpec, looks ...*providers.GPUType) []string {
	set := map[string]bool{}
	listed := t.listedPlaces()
	for _, g := range looks {
		for _, p := range g.DataCenters {
			if len(listed) == 0 || has(listed, p.DataCenter) {
				set[p.DataCenter] = true
			}
		}
	}
	return sortedKeys(set)
}

// stockAt gives the band in a data center, nil where it is not offered there.
func stockAt(g *providers.GPUType, place string) any {
	for _, p := range g.DataCenters {
		if p.DataCenter == place {
			return string(p.Stock)
		}
	}
	return nil
}

func priceOrNil(p float64) any {
	if p == 0 {
		return nil
	}
	return p
}

func nameOrNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}
