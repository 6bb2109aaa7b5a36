package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/overbrainer/overbrainer/internal/money"
	"github.com/overbrainer/overbrainer/internal/ui"
	"github.com/overbrainer/overbrainer/providers"
)

// gpuFilter is what `pod gpus` looks for.
type gpuFilter struct {
	minVRAM    int
	maxPrice   float64
	dataCenter string
	inStock    bool
	count      int
	cloud      string
}

// gpuRow is a GPU type in `pod gpus -json`.
type gpuRow struct {
	ID          string            `json:"id"`
	Name        string            `json:"name"`
	VRAMGB      int               `json:"vram_gb"`
	PriceUSD    *float64          `json:"price_usd"` // one GPU, one hour
	MaxCount    int               `json:"max_count"`
	Stock       string            `json:"stock"`
	DataCenters map[string]string `json:"data_centers"`
}

func podGPUsCommand(a *app) *command {
	var in inputs
	var asJSON bool
	var provider string
	want := gpuFilter{count: 1}
	priced := func() bool { return false }
	return &command{
		name:     "pod gpus",
		synopsis: "the GPU types that can be rented now",
		usage:    "[flags]",
		text: `Lists GPU types with their price for one GPU and hour, and the provider's
		hint of how many are free. The cheapest comes first.`,
		example: "$ overbrainer pod gpus -min-vram=24 -max-price=0.80 -in-stock",
		register: func(f *flags) {
			f.number(&want.minVRAM, "min-vram", "GB", "types with at least so much memory")
			priced = func() bool { return f.given("max-price") }
			f.float(&want.maxPrice, "max-price", "USD", "types that cost at most so much")
			f.text(&want.dataCenter, "data-center", "ID", "types offered there, with the stock there")
			f.boolean(&want.inStock, "in-stock", "types of which some are free")
			f.number(&want.count, "count", "N", "for machines with so many GPUs")
			f.text(&want.cloud, "cloud", "CLOUD", "secure (the default) or community")
			f.boolean(&asJSON, "json", "an array of objects")
			providerFlag(f, &provider)
			in.register(f)
		},
		run: func(ctx context.Context, _ []string) error {
			if err := want.check(priced()); err != nil {
				return err
			}
			acc, err := a.lookAt(ctx, in, provider)
			if err != nil {
				return err
			}
			defer acc.close()
			q := providers.CatalogQuery{Cloud: providers.Secure, GPUCount: want.count}
			if want.cloud != "" {
				q.Cloud = providers.Cloud(want.cloud)
			}
			catalog, err := acc.catalog(ctx, acc.name, q)
			if err != nil {
				return err
			}
			if err := want.checkPlace(catalog); err != nil {
				return err
			}
			rows := gpuRows(catalog, want)
			if asJSON {
				return ui.JSONLine(a.out, rows)
			}
			t := ui.Table{
				Columns: []string{"ID", ">VRAM GB", ">$/H", ">MAX COUNT", "STOCK"},
				Empty:   "No GPU type passes.",
				Fit:     true,
			}
			for _, r := range rows {
				price := "-"
				if r.PriceUSD != nil {
					price = strings.TrimPrefix(money.Price(*r.PriceUSD), "$")
				}
				t.Add(r.ID, fmt.Sprint(r.VRAMGB), price, fmt.Sprint(r.MaxCount), r.Stock)
			}
			return t.Write(a.out, a.look(os.Stdout))
		},
	}
}

// check refuses what no GPU type can pass, before anything is asked. priced:
// there is a limit to the price.
func (want gpuFilter) check(priced bool) error {
	clouds := []string{string(providers.Secure), string(providers.Community)}
	switch {
	case want.cloud != "" && !slices.Contains(clouds, want.cloud):
		e := &usageError{text: fmt.Sprintf("-cloud=%s: there is no such cloud", want.cloud), hint: "it takes one of: " + strings.Join(clouds, ", ")}
		if near := nearest(want.cloud, clouds); near != "" {
			e.hint = "did you mean " + near + "?"
		}
		return e
	case want.count < 1:
		return &usageError{text: fmt.Sprintf("-count=%d: a machine has 1 GPU or more", want.count)}
	case want.minVRAM < 0:
		return &usageError{text: fmt.Sprintf("-min-vram=%d: it is a number of GB, 0 or more", want.minVRAM)}
	case priced && !(want.maxPrice > 0):
		return &usageError{text: fmt.Sprintf("-max-price=%g: it is a price in USD an hour, above 0", want.maxPrice)}
	}
	return nil
}

// checkPlace refuses a data center that the catalog does not know.
func (want gpuFilter) checkPlace(catalog providers.Catalog) error {
	known := map[string]bool{}
	for _, dc := range catalog.DataCenters {
		known[dc.ID] = true
	}
	for _, g := range catalog.GPUs {
		for _, p := range g.DataCenters {
			known[p.DataCenter] = true
		}
	}
	if want.dataCenter == "" || known[want.dataCenter] || len(known) == 0 {
		return nil
	}
	e := &usageError{text: fmt.Sprintf("there is no data center %q", want.dataCenter), hint: "overbrainer pod datacenters lists them"}
	if near := nearest(strings.ToUpper(want.dataCenter), slices.Sorted(maps.Keys(known))); near != "" {
		e.hint = "did you mean " + near + "?"
	}
	return e
}

func gpuRows(catalog providers.Catalog, want gpuFilter) []gpuRow {
	rows := []gpuRow{}
	for _, g := range catalog.GPUs {
		row := gpuRow{ID: g.ID, Name: g.Name, VRAMGB: g.VRAMGB, MaxCount: g.MaxCount, Stock: string(g.Stock), DataCenters: map[string]string{}}
		if g.Price > 0 || catalog.Free {
			price := g.Price
			row.PriceUSD = &price
		}
		stock := g.Stock
		there := want.dataCenter == ""
		for _, p := range g.DataCenters {
			row.DataCenters[p.DataCenter] = string(p.Stock)
			if p.DataCenter == want.dataCenter {
				there, stock = true, p.Stock
				row.Stock = string(stock)
			}
		}
		switch {
		case !there, !g.Offered, g.VRAMGB < want.minVRAM,
			want.maxPrice > 0 && (row.PriceUSD == nil || g.Price > want.maxPrice),
			want.inStock && !stock.In(),
			want.count > 1 && g.MaxCount < want.count:
			continue
		}
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(x, y gpuRow) int {
		px, py := priceOrder(x), priceOrder(y)
		return cmp.Or(cmp.Compare(px, py), cmp.Compare(y.VRAMGB, x.VRAMGB), cmp.Compare(x.ID, y.ID))
	})
	return rows
}

func priceOrder(r gpuRow) float64 {
	if r.PriceUSD == nil {
		return 1e18
	}
	return *r.PriceUSD
}
