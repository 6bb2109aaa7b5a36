package sim

import (
	"math/bits"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

func (s *server) listCenters(c *call) reply {
	q := c.r.URL.Query()
	include, refused := centerIncludes(q)
	if refused != nil {
		return *refused
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []any{}
	for _, d := range s.cat.Centers {
		if d.matches(q) {
			list = append(list, s.cat.centerView(d, include))
		}
	}
	return ok(map[string]any{"dataCenters": list})
}

func (s *server) readCenter(c *call) reply {
	include, refused := centerIncludes(c.r.URL.Query())
	if refused != nil {
		return *refused
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.cat.center(c.id)
	if d == nil {
		return notFound()
	}
	return ok(s.cat.centerView(d, include))
}

func centerIncludes(q url.Values) ([]string, *reply) {
	if q.Get("include") == "" {
		return nil, nil
	}
	list := strings.Split(q.Get("include"), ",")
	for _, x := range list {
		if x != "GPU_AVAILABILITY" && x != "CPU_AVAILABILITY" {
			r := unprocessable("query.include: value must be one of 'GPU_AVAILABILITY', 'CPU_AVAILABILITY'")
			return nil, &r
		}
	}
	return list, nil
}

func (d *center) matches(q url.Values) bool {
	has := func(list []string, all string) bool {
		for x := range strings.SplitSeq(all, ",") {
			if !slices.Contains(list, x) {
				return false
			}
		}
		return true
	}
	if v := q.Get("regions"); v != "" && !slices.Contains(strings.Split(v, ","), d.Region) {
		return false
	}
	if v := q.Get("networkVolumeTypes"); v != "" && !has(d.Volumes, v) {
		return false
	}
	if v := q.Get("compliance"); v != "" && !has(d.Compliance, v) {
		return false
	}
	if v, err := strconv.ParseBool(q.Get("globalNetwork")); err == nil && v != d.Global {
		return false
	}
	return true
}

// centerView is a data center as the API shows it. Stock is that of one GPU in
// the secure cloud.
func (c *catalog) centerView(d *center, include []string) map[string]any {
	v := map[string]any{
		"id": d.ID, "name": d.ID, "region": d.Region, "networkVolumeTypes": orEmpty(d.Volumes),
		"compliance": orEmpty(d.Compliance), "globalNetwork": d.Global,
	}
	if slices.Contains(include, "GPU_AVAILABILITY") {
		var list []any
		for _, g := range c.GPUs {
			if band := c.stock(g, d.ID, want{cloud: cloudSecure, count: 1}); band != bandNone {
				list = append(list, map[string]any{"id": g.ID, "name": g.Name, "availability": band})
			}
		}
		if list != nil {
			v["gpuAvailability"] = list
		}
	}
	if slices.Contains(include, "CPU_AVAILABILITY") {
		var list []any
		for _, x := range c.CPUs {
			if band := x.Stock[d.ID]; band != "" && band != bandNone {
				list = append(list, map[string]any{"id": x.ID, "name": x.Name, "availability": band})
			}
		}
		if list != nil {
			v["cpuAvailability"] = list
		}
	}
	return v
}

func (s *server) listCPUs(c *call) reply {
	q := c.r.URL.Query()
	if r := checkCPUQuery(q); r != nil {
		return *r
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []any{}
	for _, x := range s.cat.CPUs {
		list = append(list, x.view(q.Get("include") != ""))
	}
	return ok(map[string]any{"cpus": list})
}

func (s *server) readCPU(c *call) reply {
	q := c.r.URL.Query()
	if r := checkCPUQuery(q); r != nil {
		return *r
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.cat.cpu(c.id)
	if x == nil {
		return notFound()
	}
	return ok(x.view(q.Get("include") != ""))
}

func checkCPUQuery(q url.Values) *reply {
	var r reply
	switch inc := q.Get("include"); {
	case inc != "" && inc != "AVAILABILITY":
		r = unprocessable("query.include: value must be one of 'AVAILABILITY'")
	case inc == "" && (q.Get("product") != "" || q.Get("vcpuCount") != ""):
		r = badRequest("product and vcpuCount require include=AVAILABILITY")
	case inc != "" && q.Get("product") == "":
		r = badRequest("product is required with include=AVAILABILITY")
	default:
		if v := q.Get("vcpuCount"); v != "" {
			if n, err := strconv.Atoi(v); err != nil || n < 2 || bits.OnesCount(uint(n)) != 1 {
				r = unprocessable("query.vcpuCount: must be a power of two of at least 2")
				return &r
			}
		}
		return nil
	}
	return &r
}

func (x *cpuType) view(availability bool) map[string]any {
	v := map[string]any{
		"id": x.ID, "name": x.Name, "group": x.Group, "vcpu": map[string]any{"min": 2, "max": 32}, "ramGbPerVcpu": x.RAM,
		"price": map[string]any{"securePerVcpu": x.Price, "serverlessPerVcpu": x.Price * 0.9},
	}
	if availability {
		best, places := 0, []any{}
		for where, band := range x.Stock {
			best = max(best, slices.Index(bands, band))
			places = append(places, map[string]any{"id": where, "name": where, "availability": band})
		}
		v["availability"], v["dataCenters"] = bands[best], places
	}
	return v
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
