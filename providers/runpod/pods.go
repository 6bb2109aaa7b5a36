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

// pod is what is read of a pod. Numbers are floats because JSON's are; of the
// environment only the marker is looked at.
type pod struct {
	ID           string  `json:"id"`
	Name         string  `json:"name"`
	Status       string  `json:"status"`
	Cost         float64 `json:"cost"`
	Cloud        string  `json:"cloud"`
	DataCenterID string  `json:"dataCenterId"`
	CUDAVersion  string  `json:"cudaVersion"`
	Disk         float64 `json:"disk"`
	CreatedAt    string  `json:"createdAt"`
	GPU          *struct {
		ID    string  `json:"id"`
		Count float64 `json:"count"`
	} `json:"gpu"`
	Mounts struct {
		Network []struct {
			VolumeID string `json:"volumeId"`
		} `json:"network"`
		Persistent *struct {
			Size float64 `json:"size"`
		} `json:"persistent"`
	} `json:"mounts"`
	SSH struct {
		Direct *struct {
			Host     string  `json:"host"`
			Port     float64 `json:"port"`
			Username string  `json:"username"`
		} `json:"direct"`
	} `json:"ssh"`
	Env struct {
		RunID   string `json:"OVERBRAINER_RUN_ID"`
		Lineage string `json:"OVERBRAINER_LINEAGE"`
	} `json:"env"`
}

func (p pod) convert() providers.Pod {
	d := providers.Pod{
		ID: p.ID, Name: safetext.Printable(p.Name), Status: podStatus(p.Status),
		Cloud: providers.Cloud(strings.ToLower(safetext.Printable(p.Cloud))), DataCenter: safetext.Printable(p.DataCenterID),
		CUDA: safetext.Printable(p.CUDAVersion), DiskGB: whole(p.Disk), CreatedAt: parseTime(p.CreatedAt),
	}
	d.RatePerHour = price(p.Cost)
	if p.GPU != nil {
		d.GPUType, d.GPUCount = safetext.Printable(p.GPU.ID), whole(p.GPU.Count)
	}
	if len(p.Mounts.Network) > 0 {
		d.VolumeID = safetext.Printable(p.Mounts.Network[0].VolumeID)
	}
	if m := p.Mounts.Persistent; m != nil && m.Size > 0 {
		d.PersistentGB = whole(m.Size)
	}
	if s := p.SSH.Direct; s != nil {
		d.SSH = &providers.Endpoint{Host: safetext.Printable(s.Host), Port: whole(s.Port), User: safetext.Printable(s.Username)}
	}
	if p.Env.RunID != "" {
		d.Marker = providers.Marker{RunID: safetext.Printable(p.Env.RunID), Lineage: safetext.Printable(p.Env.Lineage), Attempt: d.Name}
	}
	return d
}

func podStatus(s string) providers.PodStatus {
	switch st := providers.PodStatus(strings.ToUpper(s)); st {
	case providers.Provisioning, providers.Starting, providers.Running, providers.Exited, providers.Errored, providers.Terminated:
		return st
	}
	return providers.UnknownStatus
}

func badID(op string) error {
	return &providers.Error{Kind: providers.Invalid, Op: op, Message: "this is no pod ID: letters, digits, - and _ only, at most 64"}
}

func (c *client) getPod(ctx context.Context, id string) (providers.Pod, error) {
	k := call{op: "read pod", method: http.MethodGet, path: "/pods/" + id, retry: retryable}
	if !validID(id) {
		return providers.Pod{}, badID(k.op)
	}
	a, f, err := c.do(ctx, k)
	switch {
	case err != nil:
		return providers.Pod{}, err
	case f != nil:
		return providers.Pod{}, c.fail(k, f)
	}
	var p pod
	if err := decode(k, a, &p); err != nil {
		return providers.Pod{}, err
	}
	if p.ID != id {
		return providers.Pod{}, &providers.Error{Kind: providers.Transient, Op: k.op, Status: a.status, Message: "the answer is about another pod than asked for"}
	}
	return p.convert(), nil
}

func (c *client) listPods(ctx context.Context) (providers.PodList, error) {
	var list providers.PodList
	k := call{op: "list pods", method: http.MethodGet, path: "/pods", query: url.Values{"limit": {strconv.Itoa(maxPods)}}, most: maxPods * maxPod, retry: retryable}
	err := c.pages(ctx, k, func(a answer) (pagination, error) {
		var page struct {
			Pods       []*pod     `json:"pods"`
			Pagination pagination `json:"pagination"`
		}
		if err := decode(k, a, &page); err != nil {
			return pagination{}, err
		}
		for _, p := range page.Pods {
			if p == nil {
				continue
			}
			// Leaving it out could hide a pod that bills.
			if !validID(p.ID) {
				return pagination{}, &providers.Error{Kind: providers.Transient, Op: k.op, Status: a.status, Message: "the list holds a pod without a usable ID"}
			}
			list.Pods = append(list.Pods, p.convert())
		}
		list.ServerTime = serverTime(a)
		return page.Pagination, nil
	})
	return list, err
}

func (c *client) deletePod(ctx context.Context, id string) (bool, error) {
	k := call{op: "delete pod", method: http.MethodDelete, path: "/pods/" + id, effect: true, retry: retryable}
	if !validID(id) {
		return false, badID(k.op)
	}
	return c.remove(ctx, k)
}

// remove sends a delete. An object that the API says it does not know is not
// an error.
func (c *client) remove(ctx context.Context, k call) (existed bool, err error) {
	_, f, err := c.do(ctx, k)
	switch {
	case err != nil:
		return false, err
	case f == nil:
		return true, nil
	case f.transport == nil && knowsNothing(f.answer):
		return false, nil
	}
	return false, c.fail(k, f)
}
