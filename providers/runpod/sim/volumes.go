package sim

import (
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
)

// volume is a network volume: a directory that outlives pods and processes.
type volume struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Size   int    `json:"size_gb"`
	Center string `json:"data_center"`
	Type   string `json:"type"`
}

func (v *volume) view() map[string]any {
	return map[string]any{"id": v.ID, "name": v.Name, "size": v.Size, "dataCenter": v.Center, "type": v.Type, "attachedPods": []any{}}
}

// rates is what the volume costs an hour.
func (v *volume) rates() rates {
	if v.Type == "HIGH_PERFORMANCE" {
		return rates{High: float64(v.Size) * networkDiskHigh / hoursPerMonth}
	}
	first := min(v.Size, 1000)
	return rates{Disk: (float64(first)*networkDisk + float64(v.Size-first)*networkDiskBeyond) / hoursPerMonth}
}

func (s *server) volumeDir(id string) string { return filepath.Join(s.opt.Home, volumesDir, id) }

func (s *server) volumeList() []*volume {
	out := make([]*volume, 0, len(s.volumes))
	for _, v := range s.volumes {
		out = append(out, v)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].ID < out[j].ID })
	return out
}

func (s *server) listVolumes(*call) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []any{}
	for _, v := range s.volumeList() {
		list = append(list, v.view())
	}
	return ok(map[string]any{"networkVolumes": list})
}

func (s *server) createVolume(c *call) reply {
	var req struct {
		Name, DataCenter, Type string
		Size                   int
	}
	if r, ok := decode(c.body, createVolumeShape, &req); !ok {
		return r
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.cat.center(req.DataCenter)
	if d == nil || len(d.Volumes) == 0 {
		var have []string
		for _, d := range s.cat.Centers {
			if len(d.Volumes) > 0 {
				have = append(have, d.ID)
			}
		}
		return badRequest("data center does not support network volumes; supported: " + strings.Join(have, ", "))
	}
	if req.Type == "" {
		req.Type = d.Volumes[0]
	}
	if !slices.Contains(d.Volumes, req.Type) {
		return badRequest("data center offers " + strings.Join(d.Volumes, ", ") + " network volumes")
	}
	v := &volume{ID: newID(10), Name: req.Name, Size: req.Size, Center: req.DataCenter, Type: req.Type}
	if err := os.MkdirAll(s.volumeDir(v.ID), 0o755); err != nil {
		return problem(500, err.Error())
	}
	s.volumes[v.ID], c.object = v, v.ID
	s.bills.item(v.ID).Volume = true
	s.rebill(v.ID, v.rates())
	return created(v.view())
}

func (s *server) readVolume(c *call) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.volumes[c.id]
	if v == nil {
		return notFound()
	}
	return ok(v.view())
}

func (s *server) updateVolume(c *call) reply {
	var req struct {
		Name *string
		Size *int
	}
	if r, ok := decode(c.body, updateVolumeShape, &req); !ok {
		return r
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.volumes[c.id]
	if v == nil {
		return notFound()
	}
	if req.Size != nil && *req.Size < v.Size {
		return badRequest("network volume size can only be increased")
	}
	if req.Size != nil {
		v.Size = *req.Size
	}
	if req.Name != nil {
		v.Name = *req.Name
	}
	s.rebill(v.ID, v.rates())
	return ok(v.view())
}

func (s *server) deleteVolume(c *call) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.volumes[c.id]
	if v == nil {
		return notFound()
	}
	for _, p := range s.pods {
		if p.volumeID() == v.ID {
			return badRequest("network volume is attached to pod " + p.id)
		}
	}
	delete(s.volumes, v.ID)
	s.rebill(v.ID, rates{})
	_ = removeDisk(s.volumeDir(v.ID))
	return noContent()
}
