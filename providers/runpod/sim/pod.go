package sim

import (
	"encoding/json"
	"time"
)

// Statuses of a pod.
const (
	statusProvisioning = "PROVISIONING"
	statusStarting     = "STARTING"
	statusRunning      = "RUNNING"
	statusExited       = "EXITED"
	statusError        = "ERROR"
	statusTerminated   = "TERMINATED"
)

// podKeyPrefix begins the keys that pods get; the pod's ID follows.
const podKeyPrefix = "rpa_pod_"

// podRequest is the body of a create call, templates laid under it.
type podRequest struct {
	Name       string            `json:"name"`
	Image      string            `json:"image"`
	Args       string            `json:"args"`
	Cmd        []string          `json:"cmd"`
	Entrypoint []string          `json:"entrypoint"`
	Disk       int               `json:"disk"`
	Env        map[string]string `json:"env"`
	Ports      []string          `json:"ports"`
	Registry   *string           `json:"registry"`
	Cloud      string            `json:"cloud"`
	GPU        *struct {
		ID       string   `json:"id"`
		Count    int      `json:"count"`
		Allowed  []string `json:"allowedCudaVersions"`
		Min      string   `json:"minCudaVersion"`
		MinRAM   int      `json:"minRamPerGpu"`
		MinVCPUs int      `json:"minVcpuCountPerGpu"`
	} `json:"gpu"`
	CPU *struct {
		ID    string `json:"id"`
		VCPUs int    `json:"vcpuCount"`
	} `json:"cpu"`
	Centers    []string `json:"dataCenterIds"`
	Global     bool     `json:"globalNetworking"`
	Mounts     mounts   `json:"mounts"`
	StartSSH   bool     `json:"startSsh"`
	Jupyter    bool     `json:"startJupyter"`
	TemplateID string   `json:"templateId"`
}

type mounts struct {
	Persistent *persistentMount `json:"persistent,omitempty"`
	Network    []networkMount   `json:"network,omitempty"`
}

type persistentMount struct {
	Size int    `json:"size"`
	Path string `json:"path"`
}

type networkMount struct {
	VolumeID string `json:"volumeId"`
	Path     string `json:"path"`
}

// pod is one rented machine. The server's lock guards it, but for its log.
type pod struct {
	id      string
	serial  int64
	key     string
	req     podRequest
	status  string
	locked  bool
	created time.Time
	started *time.Time // the container's first start since the pod was started
	cost    float64    // USD an hour
	center  string
	cuda    string
	gpus    int // as the host really has
	port    int // public SSH port, 0: not mapped
	boots   int // starts of the main process
	log     *podLog
	dir     string
	knobs   knobs
	fwd     *forwarder
	proc    *process
	gone    bool

	// run is the pod's present life: cancelled and waited for to end it.
	run *podRun
}

type podRun struct {
	cancel func()
	done   chan struct{}
}

func (p *pod) persistentGB() int {
	if p.req.Mounts.Persistent == nil {
		return 0
	}
	return p.req.Mounts.Persistent.Size
}

func (p *pod) volumeID() string {
	if len(p.req.Mounts.Network) == 0 {
		return ""
	}
	return p.req.Mounts.Network[0].VolumeID
}

// wantsSSH reports whether the pod asked for its SSH port to be mapped.
func (p *pod) wantsSSH() bool {
	for _, port := range p.req.Ports {
		if port == "22/tcp" {
			return true
		}
	}
	return false
}

func (p *pod) actions() []string {
	switch p.status {
	case statusRunning:
		return []string{"stop", "restart", "terminate"}
	case statusProvisioning, statusStarting:
		return []string{"stop", "terminate"}
	case statusExited, statusError:
		return []string{"start", "terminate"}
	}
	return []string{}
}

// argsText is the one string into which the API folds an exec form.
func (p *pod) argsText() string {
	if len(p.req.Cmd) == 0 && len(p.req.Entrypoint) == 0 {
		return p.req.Args
	}
	form := map[string][]string{}
	if len(p.req.Entrypoint) > 0 {
		form["entrypoint"] = p.req.Entrypoint
	}
	if len(p.req.Cmd) > 0 {
		form["cmd"] = p.req.Cmd
	}
	data, _ := json.Marshal(form)
	return string(data)
}

// command is the main process of the container.
func (p *pod) command() []string {
	argv := append(append([]string(nil), p.req.Entrypoint...), p.req.Cmd...)
	switch {
	case len(argv) > 0:
		return argv
	case p.req.Args != "":
		return []string{"/bin/sh", "-c", p.req.Args}
	}
	return []string{"sleep", "infinity"}
}
