// Package providertest holds what tests need of a provider: a conformance suite
// that every provider must pass, and Memory, a provider without machines whose
// faults, clock and pods a test controls.
package providertest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/overbrainer/overbrainer/providers"
)

// Memory is a provider that keeps its account in memory. Its fields are set
// before the first call; everything else goes through methods, which may be
// called at any time. The zero Memory is not usable, see NewMemory.
type Memory struct {
	// Now is the provider's clock. It stamps pods and answers.
	Now func() time.Time
	// Description is what Describe answers; its capabilities are obeyed.
	Description providers.Description
	// Configured is what Configure answers.
	Configured providers.Configured
	// Boot turns a new pod into what the first read of it shows: with an
	// endpoint, with another status. It runs in the create call, without the
	// lock, and may start whatever plays the pod. nil: the pod is RUNNING
	// without an endpoint.
	Boot func(req providers.CreatePod, pod providers.Pod) providers.Pod
	// Gone is told when a pod has been deleted.
	Gone func(pod providers.Pod)

	mu        sync.Mutex
	catalog   providers.Catalog
	pods      []providers.Pod
	creates   []providers.CreatePod
	logs      map[string][]providers.LogLine
	changed   chan struct{} // closed and replaced when a log grows or a pod goes
	volumes   []providers.Volume
	secrets   []storedSecret
	templates []providers.Template
	faults    []*Fault
	calls     []Call
	serial    int
}

type storedSecret struct {
	providers.Secret
	value string
}

// Call is one call that a Memory has had.
type Call struct {
	// Op is the method's name: "CreatePod".
	Op string
	// Arg is what the call was about: a GPU type, an ID, a name.
	Arg string
}

// NewMemory returns a Memory with every capability, two GPU types in stock and
// one out of it, and two data centers.
func NewMemory() *Memory {
	return &Memory{
		Now: time.Now,
		Description: providers.Description{
			Name:    "memory",
			Version: "0.0.0",
			Schema: providers.Schema{Attributes: []providers.Attribute{
				{Name: "api_key", Type: providers.String, Sensitive: true},
				{Name: "simulator", Type: providers.Bool},
			}},
			Capabilities: []providers.Capability{
				providers.CapVolumes, providers.CapSecrets, providers.CapTemplates, providers.CapLogs, providers.CapGuard,
			},
			Guard: providers.Guard{
				Functions: "provider_probe() { echo ready; }\nprovider_delete() { echo 'DELETE 204'; }\n",
				Env:       map[string]string{"MEMORY_API": "none"},
			},
			SecretPlaceholder: "{{ MEMORY_SECRET_%s }}",
			VolumeMount:       "/workspace/data",
		},
		Configured: providers.Configured{Simulated: true, Speed: 1},
		catalog:    defaultCatalog(),
		logs:       map[string][]providers.LogLine{},
		changed:    make(chan struct{}),
	}
}

func defaultCatalog() providers.Catalog {
	place := func(s providers.Stock) []providers.PlaceStock {
		return []providers.PlaceStock{{DataCenter: "EU-RO-1", Stock: s}}
	}
	return providers.Catalog{
		GPUs: []providers.GPUType{
			{ID: "NVIDIA A40", Name: "A40", VRAMGB: 48, Offered: true, Price: 0.44, MaxCount: 8, Stock: providers.HighStock, DataCenters: place(providers.HighStock)},
			{ID: "NVIDIA L40S", Name: "L40S", VRAMGB: 48, Offered: true, Price: 1.09, MaxCount: 8, Stock: providers.LowStock, DataCenters: place(providers.LowStock)},
			{ID: "NVIDIA H200", Name: "H200 SXM", VRAMGB: 141, Offered: true, Price: 3.59, MaxCount: 8, Stock: providers.NoStock},
		},
		DataCenters: []providers.DataCenter{
			{ID: "EU-RO-1", Name: "EU-RO-1", Region: "EUROPE", VolumeTypes: []string{"standard"}, GPUs: []providers.GPUStock{
				{GPUType: "NVIDIA A40", Stock: providers.HighStock}, {GPUType: "NVIDIA L40S", Stock: providers.LowStock},
			}},
			{ID: "CA-MTL-1", Name: "CA-MTL-1", Region: "NORTH_AMERICA"},
		},
	}
}

// Describe answers with the field Description.
func (m *Memory) Describe(context.Context) (providers.Description, error) { return m.Description, nil }

// Configure answers with the field Configured.
func (m *Memory) Configure(_ context.Context, req providers.ConfigureRequest) (providers.Configured, error) {
	err := m.enter("Configure", req.Project).before()
	return m.Configured, err
}

// SetCatalog replaces the catalog.
func (m *Memory) SetCatalog(c providers.Catalog) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.catalog = c
}

// Catalog answers with the present catalog at the present time.
func (m *Memory) Catalog(ctx context.Context, q providers.CatalogQuery) (providers.Catalog, error) {
	f := m.enter("Catalog", fmt.Sprintf("%s %d", q.Cloud, q.GPUCount))
	if err := f.read(ctx); err != nil {
		return providers.Catalog{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.catalog
	c.ServerTime = m.Now()
	return c, nil
}

// Calls lists every call so far, in order.
func (m *Memory) Calls() []Call {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]Call(nil), m.calls...)
}

// Count tells how often a method was called.
func (m *Memory) Count(op string) int {
	n := 0
	for _, c := range m.Calls() {
		if c.Op == op {
			n++
		}
	}
	return n
}

func (m *Memory) id(prefix string) string {
	m.serial++
	return fmt.Sprintf("%s%04d", prefix, m.serial)
}
