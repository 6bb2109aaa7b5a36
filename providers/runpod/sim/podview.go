package sim

import (
	"fmt"
	"time"
)

// view is a pod as the API shows it. mu is held.
func (p *pod) view() map[string]any {
	v := map[string]any{
		"id": p.id, "name": p.req.Name, "status": p.status, "actions": p.actions(), "image": p.req.Image,
		"args": p.argsText(), "disk": p.req.Disk, "mounts": p.req.Mounts, "ports": orEmpty(p.req.Ports),
		"env": p.req.Env, "registry": p.req.Registry, "cloud": p.req.Cloud, "dataCenterId": p.center,
		"cudaVersion": nil, "template": nil, "cost": p.cost, "locked": p.locked, "runtime": p.runtime(),
		"createdAt": stamp(p.created), "startedAt": nil, "ssh": p.ssh(),
		"globalNetworking": map[string]any{"enabled": p.req.Global},
		"machineId":        "m" + p.id[:7], "tags": []any{},
	}
	if p.req.Env == nil {
		v["env"] = map[string]string{}
	}
	if len(p.req.Cmd) > 0 {
		v["cmd"] = p.req.Cmd
	}
	if len(p.req.Entrypoint) > 0 {
		v["entrypoint"] = p.req.Entrypoint
	}
	if p.cuda != "" {
		v["cudaVersion"] = p.cuda
	}
	if p.started != nil {
		v["startedAt"] = stamp(*p.started)
	}
	if p.req.GPU != nil {
		n := p.req.GPU.Count
		if p.gpus < n && p.knobs.tellGPUs {
			n = p.gpus
		}
		v["gpu"] = map[string]any{"id": p.req.GPU.ID, "count": n, "vcpuCount": 8 * n, "memory": 48 * n}
	}
	if p.req.CPU != nil {
		v["cpu"] = map[string]any{"id": p.req.CPU.ID, "vcpuCount": p.req.CPU.VCPUs, "memory": 4 * p.req.CPU.VCPUs}
	}
	return v
}

func (p *pod) ssh() map[string]any {
	user := p.id + "-64411eb2"
	out := map[string]any{
		"proxy": map[string]any{"host": "ssh.runpod.io", "port": 22, "username": user,
			"command": "ssh " + user + "@ssh.runpod.io"},
		"direct": nil,
	}
	if p.running() && p.port != 0 && !p.knobs.noSSH {
		out["direct"] = map[string]any{"host": "127.0.0.1", "port": p.port, "username": "root",
			"command": fmt.Sprintf("ssh root@127.0.0.1 -p %d", p.port)}
	}
	return out
}

// running reports whether the container was started, which is more than the
// status says.
func (p *pod) running() bool { return p.status == statusRunning && p.started != nil }

func (p *pod) runtime() any {
	if !p.running() {
		return nil
	}
	ports := []any{map[string]any{"private": 19123, "public": nil, "type": "http", "ip": "100.65.12.7"}}
	if p.port != 0 && !p.knobs.noSSH {
		ports = append(ports, map[string]any{"private": 22, "public": p.port, "type": "tcp", "ip": "127.0.0.1"})
	}
	gpus := []any{}
	for range p.gpus {
		gpus = append(gpus, map[string]any{"util": 87, "memoryUtil": 61})
	}
	return map[string]any{
		"uptime": int(time.Since(*p.started).Seconds()), "gpus": gpus,
		"cpu": map[string]any{"util": 12}, "memory": map[string]any{"util": 18}, "ports": ports,
	}
}
