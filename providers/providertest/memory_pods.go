package providertest

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/overbrainer/overbrainer/providers"
)

// CreatePod rents a pod of a type that is in stock. A type without stock is a
// Capacity error, one that the catalog does not know a Rejected one.
func (m *Memory) CreatePod(_ context.Context, req providers.CreatePod) (providers.Pod, error) {
	f := m.enter("CreatePod", req.GPUType)
	if err := f.before(); err != nil {
		return providers.Pod{}, err
	}
	pod, err := m.place(req)
	if err != nil {
		return providers.Pod{}, err
	}
	if m.Boot != nil {
		booted := m.Boot(req, pod)
		m.SetPod(pod.ID, func(p *providers.Pod) { *p = booted })
		pod = booted
	}
	return pod, f.after()
}

func (m *Memory) place(req providers.CreatePod) (providers.Pod, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.catalog.GPUs, func(g providers.GPUType) bool { return g.ID == req.GPUType })
	if i < 0 {
		return providers.Pod{}, Error(providers.Rejected, "create pod", "no such GPU type")
	}
	gpu := m.catalog.GPUs[i]
	if !gpu.Stock.In() {
		return providers.Pod{}, Error(providers.Capacity, "create pod", "no capacity for this GPU type")
	}
	count := max(req.GPUCount, 1)
	pod := providers.Pod{
		ID: m.id("pod"), Name: req.Marker.Attempt, Marker: req.Marker, Status: providers.Running,
		RatePerHour: gpu.Price * float64(count), GPUType: gpu.ID, GPUCount: count, Cloud: req.Cloud,
		CUDA: "12.8", DiskGB: req.DiskGB, VolumeID: req.VolumeID, CreatedAt: m.Now(),
	}
	if len(req.DataCenters) > 0 {
		pod.DataCenter = req.DataCenters[0]
	} else if len(gpu.DataCenters) > 0 {
		pod.DataCenter = gpu.DataCenters[0].DataCenter
	}
	req.Env = maps.Clone(req.Env)
	m.pods = append(m.pods, pod)
	m.creates = append(m.creates, req)
	return pod, nil
}

// AddPod puts a pod into the account as if somebody had created it elsewhere,
// and gives its ID.
func (m *Memory) AddPod(pod providers.Pod) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if pod.ID == "" {
		pod.ID = m.id("pod")
	}
	if pod.CreatedAt.IsZero() {
		pod.CreatedAt = m.Now()
	}
	m.pods = append(m.pods, pod)
	return pod.ID
}

// SetPod changes a pod in place; false without one.
func (m *Memory) SetPod(id string, change func(*providers.Pod)) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.pods {
		if m.pods[i].ID == id {
			change(&m.pods[i])
			return true
		}
	}
	return false
}

// Take removes a pod as if the provider had taken it away.
func (m *Memory) Take(id string) bool {
	m.mu.Lock()
	i := slices.IndexFunc(m.pods, func(p providers.Pod) bool { return p.ID == id })
	if i < 0 {
		m.mu.Unlock()
		return false
	}
	pod := m.pods[i]
	m.pods = slices.Delete(m.pods, i, i+1)
	delete(m.logs, id)
	m.signal()
	m.mu.Unlock()
	if m.Gone != nil {
		m.Gone(pod)
	}
	return true
}

// Pods lists the account's pods, without counting as a call.
func (m *Memory) Pods() []providers.Pod {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.pods)
}

// Creates lists the requests of every pod that was made.
func (m *Memory) Creates() []providers.CreatePod {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.creates)
}

// GetPod reads one pod.
func (m *Memory) GetPod(ctx context.Context, id string) (providers.Pod, error) {
	if err := m.enter("GetPod", id).read(ctx); err != nil {
		return providers.Pod{}, err
	}
	for _, p := range m.Pods() {
		if p.ID == id {
			return p, nil
		}
	}
	return providers.Pod{}, Error(providers.NotFound, "read pod", "no such pod")
}

// ListPods reads every pod.
func (m *Memory) ListPods(ctx context.Context) (providers.PodList, error) {
	if err := m.enter("ListPods", "").read(ctx); err != nil {
		return providers.PodList{}, err
	}
	return providers.PodList{Pods: m.Pods(), ServerTime: m.Now()}, nil
}

// DeletePod ends a pod at once.
func (m *Memory) DeletePod(_ context.Context, id string) (bool, error) {
	f := m.enter("DeletePod", id)
	if err := f.before(); err != nil {
		return false, err
	}
	existed := m.Take(id)
	return existed, f.after()
}

// Log appends lines of the container to a pod's log.
func (m *Memory) Log(id string, lines ...string) {
	m.log(id, providers.LogContainer, lines)
}

// LogSystem appends lines of the host to a pod's log.
func (m *Memory) LogSystem(id string, lines ...string) {
	m.log(id, providers.LogSystem, lines)
}

func (m *Memory) log(id string, source providers.LogSource, lines []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, text := range lines {
		at := m.Now().UTC().Format("2006-01-02T15:04:05Z")
		m.logs[id] = append(m.logs[id], providers.LogLine{
			Cursor: at + "/" + strconv.Itoa(len(m.logs[id])+1), Time: at, Source: source, Text: text,
		})
	}
	m.signal()
}

func (m *Memory) signal() {
	close(m.changed)
	m.changed = make(chan struct{})
}

// PodLogs streams a pod's log.
func (m *Memory) PodLogs(ctx context.Context, req providers.LogRequest, sink func(providers.LogLine) error) error {
	if err := m.enter("PodLogs", req.PodID).read(ctx); err != nil {
		return err
	}
	at := -1
	for {
		m.mu.Lock()
		known := slices.ContainsFunc(m.pods, func(p providers.Pod) bool { return p.ID == req.PodID })
		lines, changed := m.logs[req.PodID], m.changed
		m.mu.Unlock()
		if !known {
			return Error(providers.NotFound, "read pod log", "no such pod")
		}
		if at < 0 {
			at = 1 + slices.IndexFunc(lines, func(l providers.LogLine) bool { return l.Cursor == req.Cursor && req.Cursor != "" })
		}
		for ; at < len(lines); at++ {
			if err := sink(lines[at]); err != nil {
				return err
			}
		}
		if !req.Follow {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
