package runpod

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/overbrainer/overbrainer/internal/safetext"
	"github.com/overbrainer/overbrainer/providers"
)

type gpuType struct {
	ID        string  `json:"id"`
	Name      string  `json:"name"`
	Memory    float64 `json:"memory"`
	Secure    *bool   `json:"secure"`
	Community *bool   `json:"community"`
	Price     struct {
		Secure    float64 `json:"secure"`
		Community float64 `json:"community"`
	} `json:"price"`
	MaxCount struct {
		Secure    float64 `json:"secure"`
		Community float64 `json:"community"`
	} `json:"maxCount"`
	Availability string `json:"availability"`
	DataCenters  []struct {
		ID           string `json:"id"`
		Availability string `json:"availability"`
	} `json:"dataCenters"`
}

func (g gpuType) convert(community bool) providers.GPUType {
	d := providers.GPUType{
		ID: safetext.Printable(g.ID), Name: safetext.Printable(g.Name), VRAMGB: whole(g.Memory), Stock: stock(g.Availability),
		Offered: g.Secure == nil || *g.Secure, Price: price(g.Price.Secure), MaxCount: whole(g.MaxCount.Secure),
	}
	if community {
		d.Offered, d.Price, d.MaxCount = g.Community == nil || *g.Community, price(g.Price.Community), whole(g.MaxCount.Community)
	}
	for _, p := range g.DataCenters {
		d.DataCenters = append(d.DataCenters, providers.PlaceStock{DataCenter: safetext.Printable(p.ID), Stock: stock(p.Availability)})
	}
	return d
}

func stock(s string) providers.Stock {
	switch band := providers.Stock(strings.ToLower(s)); band {
	case providers.NoStock, providers.LowStock, providers.MediumStock, providers.HighStock:
		return band
	}
	return providers.UnknownStock
}

type dataCenter struct {
	ID                 string   `json:"id"`
	Name               string   `json:"name"`
	Region             string   `json:"region"`
	NetworkVolumeTypes []string `json:"networkVolumeTypes"`
	GPUAvailability    []struct {
		ID           string `json:"id"`
		Availability string `json:"availability"`
	} `json:"gpuAvailability"`
}

func (d dataCenter) convert() providers.DataCenter {
	out := providers.DataCenter{ID: safetext.Printable(d.ID), Name: safetext.Printable(d.Name), Region: safetext.Printable(d.Region)}
	for _, t := range d.NetworkVolumeTypes {
		out.VolumeTypes = append(out.VolumeTypes, strings.ToLower(safetext.Printable(t)))
	}
	for _, g := range d.GPUAvailability {
		out.GPUs = append(out.GPUs, providers.GPUStock{GPUType: safetext.Printable(g.ID), Stock: stock(g.Availability)})
	}
	return out
}

// pseudoType is an entry of the live list that is no card.
const pseudoType = "unknown"

func (c *client) catalog(ctx context.Context, q providers.CatalogQuery, configured providers.Cloud) (providers.Catalog, error) {
	var out providers.Catalog
	cloud := cloudName(q.Cloud, configured)
	query := url.Values{
		"include": {"AVAILABILITY"}, "product": {"POD"}, "cloud": {cloud}, "count": {strconv.Itoa(max(q.GPUCount, 1))},
	}
	if q.MinCUDA != "" {
		query.Set("minCudaVersion", q.MinCUDA)
	}
	var gpus struct {
		GPUs []*gpuType `json:"gpus"`
	}
	a, err := c.get(ctx, call{op: "list gpu types", path: "/catalog/gpus", query: query}, &gpus)
	if err != nil {
		return out, err
	}
	out.ServerTime = serverTime(a)
	seen := map[string]bool{pseudoType: true, "": true}
	for _, g := range gpus.GPUs {
		if g != nil && !seen[g.ID] {
			seen[g.ID] = true
			out.GPUs = append(out.GPUs, g.convert(cloud == "COMMUNITY"))
		}
	}
	var places struct {
		DataCenters []*dataCenter `json:"dataCenters"`
	}
	_, err = c.get(ctx, call{op: "list data centers", path: "/catalog/datacenters", query: url.Values{"include": {"GPU_AVAILABILITY"}}}, &places)
	if err != nil {
		return out, err
	}
	for _, d := range places.DataCenters {
		if d != nil && d.ID != "" {
			out.DataCenters = append(out.DataCenters, d.convert())
		}
	}
	return out, nil
}

// get reads one object or unpaged list.
func (c *client) get(ctx context.Context, k call, into any) (answer, error) {
	k.method, k.retry = http.MethodGet, retryable
	a, f, err := c.do(ctx, k)
	switch {
	case err != nil:
		return a, err
	case f != nil:
		return a, c.fail(k, f)
	}
	return a, decode(k, a, into)
}
