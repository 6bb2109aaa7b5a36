package plugin

import (
	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/providers/plugin/providerpb"
)

func markerTo(m providers.Marker) *providerpb.Marker {
	return &providerpb.Marker{RunId: m.RunID, Lineage: m.Lineage, Attempt: m.Attempt}
}

func markerFrom(p *providerpb.Marker) providers.Marker {
	return providers.Marker{RunID: p.GetRunId(), Lineage: p.GetLineage(), Attempt: p.GetAttempt()}
}

func createTo(r providers.CreatePod) *providerpb.CreatePodRequest {
	return &providerpb.CreatePodRequest{
		Marker: markerTo(r.Marker), Image: r.Image, Template: r.Template, Registry: r.Registry, Cloud: string(r.Cloud),
		GpuType: r.GPUType, GpuCount: int32(r.GPUCount), MinCuda: r.MinCUDA, DiskGb: int32(r.DiskGB),
		DataCenters: r.DataCenters, VolumeId: r.VolumeID, Env: r.Env, Command: r.Command,
	}
}

func createFrom(p *providerpb.CreatePodRequest) providers.CreatePod {
	return providers.CreatePod{
		Marker: markerFrom(p.GetMarker()), Image: p.GetImage(), Template: p.GetTemplate(), Registry: p.GetRegistry(),
		Cloud: providers.Cloud(p.GetCloud()), GPUType: p.GetGpuType(), GPUCount: int(p.GetGpuCount()), MinCUDA: p.GetMinCuda(),
		DiskGB: int(p.GetDiskGb()), DataCenters: p.GetDataCenters(), VolumeID: p.GetVolumeId(), Env: p.GetEnv(),
		Command: p.GetCommand(),
	}
}

func podTo(d providers.Pod) *providerpb.Pod {
	p := &providerpb.Pod{
		Id: d.ID, Name: d.Name, Marker: markerTo(d.Marker), Status: string(d.Status), RatePerHour: d.RatePerHour,
		GpuType: d.GPUType, GpuCount: int32(d.GPUCount), Cloud: string(d.Cloud), DataCenter: d.DataCenter, Cuda: d.CUDA,
		DiskGb: int32(d.DiskGB), VolumeId: d.VolumeID, CreatedAt: timeTo(d.CreatedAt),
		PersistentGb: int32(d.PersistentGB),
	}
	if d.SSH != nil {
		p.Ssh = &providerpb.Endpoint{Host: d.SSH.Host, Port: int32(d.SSH.Port), User: d.SSH.User}
	}
	return p
}

func podFrom(p *providerpb.Pod) providers.Pod {
	d := providers.Pod{
		ID: p.GetId(), Name: p.GetName(), Marker: markerFrom(p.GetMarker()), Status: podStatusFrom(p.GetStatus()),
		RatePerHour: p.GetRatePerHour(), GPUType: p.GetGpuType(), GPUCount: int(p.GetGpuCount()),
		Cloud: providers.Cloud(p.GetCloud()), DataCenter: p.GetDataCenter(), CUDA: p.GetCuda(), DiskGB: int(p.GetDiskGb()),
		VolumeID: p.GetVolumeId(), CreatedAt: timeFrom(p.GetCreatedAt()),
		PersistentGB: int(p.GetPersistentGb()),
	}
	if s := p.GetSsh(); s != nil {
		d.SSH = &providers.Endpoint{Host: s.GetHost(), Port: int(s.GetPort()), User: s.GetUser()}
	}
	return d
}

// podStatusFrom maps a status that this version does not know to UnknownStatus.
func podStatusFrom(s string) providers.PodStatus {
	switch st := providers.PodStatus(s); st {
	case providers.Provisioning, providers.Starting, providers.Running, providers.Exited, providers.Errored, providers.Terminated:
		return st
	}
	return providers.UnknownStatus
}

func lineTo(l providers.LogLine) *providerpb.PodLogsResponse {
	return &providerpb.PodLogsResponse{Cursor: valid(l.Cursor), Time: valid(l.Time), Source: string(l.Source), Text: valid(l.Text)}
}

func lineFrom(p *providerpb.PodLogsResponse) providers.LogLine {
	return providers.LogLine{Cursor: p.GetCursor(), Time: p.GetTime(), Source: providers.LogSource(p.GetSource()), Text: p.GetText()}
}
