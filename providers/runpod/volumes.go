package runpod

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/overbrainer/overbrainer/internal/safetext"
	"github.com/overbrainer/overbrainer/providers"
)

type volume struct {
	ID         string  `json:"id"`
	Name       string  `json:"name"`
	Size       float64 `json:"size"`
	DataCenter string  `json:"dataCenter"`
	// DataCenterID is what an older version of the API calls it.
	DataCenterID string `json:"dataCenterId"`
	Type         string `json:"type"`
}

func (v volume) convert() providers.Volume {
	d := providers.Volume{
		ID: safetext.Printable(v.ID), Name: safetext.Printable(v.Name), SizeGB: whole(v.Size),
		DataCenter: safetext.Printable(first(v.DataCenter, v.DataCenterID)), Type: strings.ToLower(safetext.Printable(v.Type)),
	}
	d.MonthlyUSD = monthlyUSD(d.Type, d.SizeGB)
	return d
}

// monthlyUSD is the list price of a standard volume: 0.07 USD a GB up to 1 TB,
// 0.05 beyond. That of the other tier differs by place and is told nowhere.
func monthlyUSD(kind string, sizeGB int) float64 {
	if kind != "standard" || sizeGB <= 0 {
		return 0
	}
	return 0.07*float64(min(sizeGB, 1000)) + 0.05*float64(max(sizeGB-1000, 0))
}

func volumePath(id string) string { return "/network-volumes/" + url.PathEscape(id) }

func (c *client) listVolumes(ctx context.Context) ([]providers.Volume, error) {
	var list struct {
		Volumes []*volume `json:"networkVolumes"`
	}
	if _, err := c.get(ctx, call{op: "list volumes", path: "/network-volumes"}, &list); err != nil {
		return nil, err
	}
	var out []providers.Volume
	for _, v := range list.Volumes {
		if v != nil && v.ID != "" {
			out = append(out, v.convert())
		}
	}
	return out, nil
}

func (c *client) getVolume(ctx context.Context, id string) (providers.Volume, error) {
	if id == "" {
		return providers.Volume{}, noID("read volume")
	}
	var v volume
	_, err := c.get(ctx, call{op: "read volume", path: volumePath(id)}, &v)
	return v.convert(), err
}

// noID keeps an empty ID from naming the whole collection.
func noID(op string) error {
	return &providers.Error{Kind: providers.Invalid, Op: op, Message: "no ID given"}
}

func (c *client) createVolume(ctx context.Context, r providers.CreateVolume) (providers.Volume, error) {
	body := struct {
		Name       string `json:"name"`
		Size       int    `json:"size"`
		DataCenter string `json:"dataCenter"`
		Type       string `json:"type,omitempty"`
	}{r.Name, r.SizeGB, r.DataCenter, strings.ToUpper(r.Type)}
	k := call{op: "create volume", method: http.MethodPost, path: "/network-volumes", body: body, effect: true, retry: onlyLimited}
	return c.volumeEffect(ctx, k)
}

func (c *client) resizeVolume(ctx context.Context, id string, sizeGB int) (providers.Volume, error) {
	if id == "" {
		return providers.Volume{}, noID("resize volume")
	}
	body := struct {
		Size int `json:"size"`
	}{sizeGB}
	// Growing costs from then on, so it is asked for at most twice.
	k := call{op: "resize volume", method: http.MethodPatch, path: volumePath(id), body: body, effect: true, retry: retryable, tries: 1}
	return c.volumeEffect(ctx, k)
}

func (c *client) volumeEffect(ctx context.Context, k call) (providers.Volume, error) {
	a, f, err := c.do(ctx, k)
	switch {
	case err != nil:
		return providers.Volume{}, err
	case f != nil:
		return providers.Volume{}, c.fail(k, f)
	}
	var v volume
	if err := decode(k, a, &v); err != nil {
		return providers.Volume{}, err
	}
	return v.convert(), nil
}

func (c *client) deleteVolume(ctx context.Context, id string) (bool, error) {
	if id == "" {
		return false, noID("delete volume")
	}
	return c.remove(ctx, call{op: "delete volume", method: http.MethodDelete, path: volumePath(id), effect: true, retry: retryable})
}
