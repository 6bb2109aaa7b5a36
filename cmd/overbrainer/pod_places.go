package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"slices"

	"github.com/overbrainer/overbrainer/internal/ui"
	"github.com/overbrainer/overbrainer/providers"
)

// listing is a command that shows one kind of object of an account.
type listing struct {
	name, synopsis, text, example string
	// read gives the rows for -json and the table.
	read func(ctx context.Context, acc *account) (rows any, t ui.Table, err error)
}

func (l listing) command(a *app) *command {
	var in inputs
	var asJSON bool
	var provider string
	return &command{
		name: l.name, synopsis: l.synopsis, usage: "[-json]", text: l.text, example: l.example,
		register: func(f *flags) {
			f.boolean(&asJSON, "json", "an array of objects")
			providerFlag(f, &provider)
			in.register(f)
		},
		run: func(ctx context.Context, _ []string) error {
			acc, err := a.lookAt(ctx, in, provider)
			if err != nil {
				return err
			}
			defer acc.close()
			answered := a.tellWaiting(acc.name)
			rows, table, err := l.read(ctx, acc)
			answered()
			if err != nil {
				return err
			}
			if asJSON {
				return ui.JSONLine(a.out, rows)
			}
			return table.Write(a.out, a.look(os.Stdout))
		},
	}
}

func podDataCentersCommand(a *app) *command {
	type row struct {
		ID          string            `json:"id"`
		Name        string            `json:"name"`
		Region      string            `json:"region"`
		VolumeTypes []string          `json:"volume_types"`
		InStock     int               `json:"gpu_types_in_stock"`
		GPUs        map[string]string `json:"gpus"`
	}
	return listing{
		name: "pod datacenters", synopsis: "the data centers",
		text:    "Lists the data centers and how many GPU types each reports in stock.",
		example: "$ overbrainer pod datacenters",
		read: func(ctx context.Context, acc *account) (any, ui.Table, error) {
			t := ui.Table{Columns: []string{"ID", "NAME", "REGION", ">GPU TYPES IN STOCK"}, Empty: "There are no data centers."}
			catalog, err := acc.provider.Catalog(ctx, providers.CatalogQuery{Cloud: providers.Secure, GPUCount: 1})
			if err != nil {
				return nil, t, err
			}
			rows := []row{}
			for _, d := range catalog.DataCenters {
				r := row{ID: d.ID, Name: d.Name, Region: d.Region, VolumeTypes: append([]string{}, d.VolumeTypes...), GPUs: map[string]string{}}
				for _, g := range d.GPUs {
					r.GPUs[g.GPUType] = string(g.Stock)
					if g.Stock.In() {
						r.InStock++
					}
				}
				rows = append(rows, r)
			}
			slices.SortFunc(rows, func(x, y row) int { return cmp.Compare(x.ID, y.ID) })
			for _, r := range rows {
				t.Add(r.ID, r.Name, r.Region, fmt.Sprint(r.InStock))
			}
			return rows, t, nil
		},
	}.command(a)
}

func podVolumesCommand(a *app) *command {
	type row struct {
		ID         string   `json:"id"`
		Name       string   `json:"name"`
		SizeGB     int      `json:"size_gb"`
		DataCenter string   `json:"data_center"`
		Type       string   `json:"type"`
		MonthlyUSD *float64 `json:"monthly_usd"`
	}
	return listing{
		name: "pod volumes", synopsis: "the account's network volumes",
		text:    "Lists every network volume of the account, whoever made it.",
		example: "$ overbrainer pod volumes -json",
		read: func(ctx context.Context, acc *account) (any, ui.Table, error) {
			t := ui.Table{Columns: []string{"ID", "NAME", ">SIZE GB", "DATA CENTER"}, Empty: "There are no network volumes."}
			found, err := acc.provider.ListVolumes(ctx)
			if err != nil {
				return nil, t, err
			}
			rows := []row{}
			for _, v := range found {
				r := row{ID: v.ID, Name: v.Name, SizeGB: v.SizeGB, DataCenter: v.DataCenter, Type: v.Type}
				if v.MonthlyUSD > 0 {
					cents := math.Round(v.MonthlyUSD*100) / 100
					r.MonthlyUSD = &cents
				}
				rows = append(rows, r)
			}
			slices.SortFunc(rows, func(x, y row) int { return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.ID, y.ID)) })
			for _, r := range rows {
				t.Add(r.ID, r.Name, fmt.Sprint(r.SizeGB), r.DataCenter)
			}
			return rows, t, nil
		},
	}.command(a)
}

func podTemplatesCommand(a *app) *command {
	type row struct {
		ID     string `json:"id"`
		Name   string `json:"name"`
		Image  string `json:"image"`
		DiskGB int    `json:"container_disk_gb"`
	}
	return listing{
		name: "pod templates", synopsis: "the account's pod templates",
		text:    "Lists the pod templates that target.template can name.",
		example: "$ overbrainer pod templates",
		read: func(ctx context.Context, acc *account) (any, ui.Table, error) {
			t := ui.Table{Columns: []string{"ID", "NAME", "IMAGE"}, Empty: "There are no pod templates."}
			found, err := acc.provider.ListTemplates(ctx)
			if err != nil {
				return nil, t, err
			}
			rows := []row{}
			for _, v := range found {
				rows = append(rows, row(v))
			}
			slices.SortStableFunc(rows, func(x, y row) int { return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.ID, y.ID)) })
			rows = slices.CompactFunc(rows, func(x, y row) bool { return x.ID == y.ID })
			for _, r := range rows {
				t.Add(r.ID, r.Name, r.Image)
			}
			return rows, t, nil
		},
	}.command(a)
}
