package plan

import (
	"errors"
	"fmt"
	"strings"

	"github.com/overbrainer/overbrainer/providers"
)

// report says once what is wrong with a target that a run needs placed on.
func (b *builder) report(r *resolved) {
	if r.reported || r.scope.err != nil {
		return
	}
	r.reported = true
	t := r.config
	b.reportPlaces(r)
	usable := b.reportTypes(r)
	rng := b.attrRange(t.AttrRanges, "gpu_types", t.Range)
	var none *NotInStockError
	switch {
	case errors.As(r.err, &none):
		if none.OnlyStock && t.WaitForStock > 0 {
			b.warnAt(rng, t.Address+" waits for stock", upper(r.err.Error())+fmt.Sprintf(". It is waited for up to %s.", t.WaitForStock))
			return
		}
		b.errorAt(rng, "nothing can be rented for "+t.Address, upper(r.err.Error())+". Loosen what was asked"+waitHint(none.OnlyStock)+".")
	case r.err != nil && usable:
		if t.WaitForStock > 0 {
			b.warnAt(rng, t.Address+" waits for stock", upper(r.err.Error()))
			return
		}
		b.errorAt(rng, "nothing can be rented for "+t.Address, upper(r.err.Error())+". Name data centers, or other types"+waitHint(true)+".")
	}
}

func waitHint(stock bool) string {
	if stock {
		return ", or set wait_for_stock"
	}
	return ""
}

// reportPlaces says which listed data centers there are not.
func (b *builder) reportPlaces(r *resolved) {
	known := map[string]string{}
	for _, dc := range r.scope.catalog.DataCenters {
		known[dc.ID] = dc.Name
	}
	if len(known) == 0 {
		return
	}
	for _, place := range r.spec.listedPlaces() {
		if _, ok := known[place]; !ok {
			b.errorAt(b.attrRange(r.config.AttrRanges, "data_centers", r.config.Range),
				fmt.Sprintf("there is no data center %q", place), hint(place, known))
		}
	}
}

// reportTypes says which listed types cannot be used and why: unknown, not
// offered any more, or offered otherwise. It reports whether any can.
func (b *builder) reportTypes(r *resolved) bool {
	if r.spec.Auto {
		return true
	}
	rng := b.attrRange(r.config.AttrRanges, "gpu_types", r.config.Range)
	labels, byID := map[string]string{}, map[string]providers.GPUType{}
	var ids []string
	for _, g := range r.scope.catalog.GPUs {
		labels[g.ID], byID[g.ID] = g.Name, g
		ids = append(ids, g.ID)
	}
	before := b.seenBefore(r.scope.key)
	usable, stock, unknown := false, false, false
	for _, id := range r.spec.GPUTypes {
		g, ok := byID[id]
		if !ok {
			if _, was := before[id]; was {
				b.warnAt(rng, fmt.Sprintf("%s is no longer offered", Quoted(id)), "The catalog does not list it any more; the other types are used.")
				continue
			}
			unknown = true
			e := &UnknownTypeError{GPUType: id, Spaces: sameButSpaces(id, ids), Nearest: nearest(id, labels, 3)}
			b.errorAt(rng, fmt.Sprintf("unknown GPU type %q", id), upper(e.Error())+" overbrainer pod gpus lists all of them.")
			continue
		}
		if faults := r.spec.faults(g); len(faults) > 0 {
			var why []string
			for _, f := range faults {
				why = append(why, r.spec.why(r.spec.candidate(g), f))
			}
			b.warnAt(rng, fmt.Sprintf("%s cannot be used", Quoted(id)), upper(strings.Join(why, ", "))+".")
			continue
		}
		usable = true
		if r.spec.candidate(g).inStock() {
			stock = true
			continue
		}
		if same := sameButSpaces(id, ids); len(same) > 0 {
			b.warnAt(rng, fmt.Sprintf("%q is not in stock", id),
				fmt.Sprintf("The catalog also lists %s, which differs in its spaces only and counts as another type.", quoteAll(same)))
		}
	}
	switch {
	case usable && !stock && r.err == nil:
		b.warnAt(rng, "nothing is in stock for "+r.spec.Address,
			"None of "+or(r.spec.GPUTypes)+" is reported in stock"+inPlaces(r.spec)+". They are tried all the same: the report is only a hint.")
	case !usable && !unknown:
		b.errorAt(rng, "nothing can be rented for "+r.spec.Address, "None of "+or(r.spec.GPUTypes)+" can be used with "+strings.Join(r.spec.asked(), ", ")+".")
	}
	return usable
}

func inPlaces(t TargetSpec) string {
	if places := t.listedPlaces(); len(places) > 0 {
		return " in " + or(places)
	}
	return ""
}

// upper starts a sentence.
func upper(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
