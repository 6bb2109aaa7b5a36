package sim

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

//go:embed catalog.json
var catalogText []byte

// Availability bands, and the clouds.
const (
	bandNone   = "NONE"
	bandLow    = "LOW"
	bandMedium = "MEDIUM"
	bandHigh   = "HIGH"

	cloudSecure    = "SECURE"
	cloudCommunity = "COMMUNITY"
)

var bands = []string{bandNone, bandLow, bandMedium, bandHigh}

// offer is a GPU type in one cloud.
type offer struct {
	Price    float64           `json:"price"` // USD an hour for one GPU
	MaxCount int               `json:"maxCount"`
	Listed   *bool             `json:"listed,omitempty"` // false: priced, not rented
	Stock    map[string]string `json:"stock,omitempty"`  // data center → band
}

func (o *offer) listed() bool { return o != nil && (o.Listed == nil || *o.Listed) && o.Price > 0 }

// gpuType is one row of the catalog.
type gpuType struct {
	ID         string   `json:"id"`
	Name       string   `json:"name"`
	Memory     int      `json:"memory"`
	Pool       string   `json:"pool,omitempty"`
	Secure     *offer   `json:"secure,omitempty"`
	Community  *offer   `json:"community,omitempty"`
	Serverless float64  `json:"serverless,omitempty"`
	CUDA       []string `json:"cuda,omitempty"` // of its hosts; none = not told
}

func (g *gpuType) in(cloud string) *offer {
	if cloud == cloudCommunity {
		return g.Community
	}
	return g.Secure
}

// maker is the GPU's manufacturer.
func (g *gpuType) maker() string {
	switch {
	case strings.HasPrefix(g.ID, "AMD"):
		return "AMD"
	case g.Memory == 0:
		return "UNKNOWN"
	}
	return "NVIDIA"
}

// cpuType is a CPU flavor.
type cpuType struct {
	ID    string            `json:"id"`
	Name  string            `json:"name"`
	Group string            `json:"group"`
	RAM   float64           `json:"ram"`   // GB for one vCPU
	Price float64           `json:"price"` // USD an hour for one vCPU
	Stock map[string]string `json:"stock,omitempty"`
}

// center is a data center.
type center struct {
	ID         string   `json:"id"`
	Region     string   `json:"region"`
	Country    string   `json:"country,omitempty"`
	Volumes    []string `json:"volumes,omitempty"` // kinds of network volume, the first is the default
	Compliance []string `json:"compliance,omitempty"`
	Global     bool     `json:"globalNetwork,omitempty"`
}

// catalog is what can be rented. Its user holds the lock.
type catalog struct {
	GPUs    []*gpuType `json:"gpus"`
	CPUs    []*cpuType `json:"cpus"`
	Centers []*center  `json:"dataCenters"`
}

func embeddedCatalog() (*catalog, error) {
	var c catalog
	if err := json.Unmarshal(catalogText, &c); err != nil {
		return nil, fmt.Errorf("embedded catalog: %w", err)
	}
	return &c, nil
}

func (c *catalog) gpu(id string) *gpuType {
	i := slices.IndexFunc(c.GPUs, func(g *gpuType) bool { return g.ID == id })
	if i < 0 {
		return nil
	}
	return c.GPUs[i]
}

func (c *catalog) cpu(id string) *cpuType {
	i := slices.IndexFunc(c.CPUs, func(x *cpuType) bool { return x.ID == id })
	if i < 0 {
		return nil
	}
	return c.CPUs[i]
}

func (c *catalog) center(id string) *center {
	i := slices.IndexFunc(c.Centers, func(d *center) bool { return d.ID == id })
	if i < 0 {
		return nil
	}
	return c.Centers[i]
}

// want is what a query or a create call asks of a machine.
type want struct {
	cloud     string
	count     int
	cuda      []string // exact versions; none = any
	minCUDA   string
	countries []string
	centers   []string // in order of preference; none = anywhere
}

// stock gives the band of a GPU type in one place for what is wanted. Larger
// machines are rarer: half a machine or more is one band scarcer.
func (c *catalog) stock(g *gpuType, where string, w want) string {
	o := g.in(w.cloud)
	if !o.listed() || w.count > o.MaxCount || !w.host(g) {
		return bandNone
	}
	d := c.center(where)
	if d == nil || len(w.countries) > 0 && !slices.Contains(w.countries, d.Country) {
		return bandNone
	}
	i := slices.Index(bands, o.Stock[where])
	if i > 1 && w.count > 1 && w.count*2 > o.MaxCount {
		i--
	}
	if i < 0 {
		return bandNone
	}
	return bands[i]
}

// host reports whether the type's hosts have the CUDA version asked for.
func (w want) host(g *gpuType) bool {
	if len(w.cuda) == 0 && w.minCUDA == "" {
		return true
	}
	return w.version(g) != ""
}

// version is the newest CUDA version of the type's hosts that is wanted.
func (w want) version(g *gpuType) string {
	best := ""
	for _, v := range g.CUDA {
		if len(w.cuda) > 0 && !slices.Contains(w.cuda, v) {
			continue
		}
		if w.minCUDA != "" && lessVersion(v, w.minCUDA) {
			continue
		}
		if best == "" || lessVersion(best, v) {
			best = v
		}
	}
	return best
}

// place picks where a pod is put: the first of the wanted places that has
// stock, else the one with most.
func (c *catalog) place(g *gpuType, w want) (string, bool) {
	if len(w.centers) > 0 {
		for _, id := range w.centers {
			if c.stock(g, id, w) != bandNone {
				return id, true
			}
		}
		return "", false
	}
	best, where := 0, ""
	for _, d := range c.Centers {
		if i := slices.Index(bands, c.stock(g, d.ID, w)); i > best {
			best, where = i, d.ID
		}
	}
	return where, where != ""
}

// lessVersion compares versions like 12.8 by their numbers.
func lessVersion(a, b string) bool {
	na, nb := numbers(a), numbers(b)
	return slices.Compare(na, nb) < 0
}

func numbers(v string) []int {
	var out []int
	for part := range strings.SplitSeq(v, ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return out
		}
		out = append(out, n)
	}
	for len(out) < 2 {
		out = append(out, 0)
	}
	return out
}
