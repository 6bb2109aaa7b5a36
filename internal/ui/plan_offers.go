package ui

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/overbrainer/overbrainer/internal/money"
	"github.com/overbrainer/overbrainer/plan"
)

// offers prints one table for each distinct list of offers.
func (v planView) offers() {
	var lists [][]plan.Offer
	var names [][]string
next:
	for _, s := range v.plan.Steps {
		o := v.plan.Offers[s.Address]
		if len(o) == 0 || s.Run == nil || !starts(s.Action) {
			continue
		}
		for i := range lists {
			if reflect.DeepEqual(lists[i], o) {
				names[i] = append(names[i], s.Address)
				continue next
			}
		}
		lists = append(lists, o)
		names = append(names, []string{s.Address})
	}
	for i, offers := range lists {
		t := Table{Columns: []string{"", "GPU TYPE", ">VRAM", ">$/H", "STOCK", "DATA CENTERS"}, Indent: "  ", Fit: true}
		for n, o := range offers {
			if n == 12 {
				break
			}
			mark := ""
			if o.Chosen {
				mark = ">"
			}
			places := strings.Join(o.DataCenters, " ")
			if places == "" {
				places = "any"
			}
			switch {
			case o.LongShot:
				places += " (long shot)"
			case o.Reserve:
				places += " (not tried)"
			}
			vram := "-"
			if o.VRAMGB > 0 {
				vram = fmt.Sprint(o.VRAMGB)
			}
			p := "-"
			if o.PriceUSD != nil {
				p = strings.TrimPrefix(money.Price(*o.PriceUSD), "$")
			}
			t.Add(mark, o.GPUType, vram, p, o.Stock, cut(places, 18))
		}
		v.line()
		for _, l := range Wrap("Offers for "+clean(plan.List(names[i], 3))+", in the order tried:", v.look.Columns()) {
			v.line(v.look.Bold(l))
		}
		v.flush(t.Write(v.w, v.look))
		if len(offers) > 12 {
			v.line(fmt.Sprintf("  and %d more", len(offers)-12))
		}
	}
}
