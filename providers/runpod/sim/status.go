package sim

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"
)

// Status is what a simulator holds.
type Status struct {
	Running bool           `json:"running"`
	URL     string         `json:"url,omitempty"`
	PID     int            `json:"pid,omitempty"`
	Build   string         `json:"build,omitempty"`
	Speed   float64        `json:"speed,omitempty"`
	Form    string         `json:"form,omitempty"`
	Home    string         `json:"home,omitempty"`
	Pods    []podStatus    `json:"pods"`
	Secrets []SecretStatus `json:"secrets"`
	Volumes []VolumeStatus `json:"volumes"`
	// SpendUSD is what everything has cost since the account was made.
	SpendUSD float64 `json:"spend_usd"`
	// BalanceUSD is what is left; nil: the account has no end.
	BalanceUSD *float64 `json:"balance_usd,omitempty"`
	// Requests counts the requests of the API, refused ones included.
	Requests int64    `json:"requests"`
	Faults   []string `json:"faults,omitempty"`
}

// PodStatus is a pod of a Status.
type PodStatus = podStatus

type podStatus struct {
	ID         string  `json:"id"`
	Name       string  `json:"name"`
	Status     string  `json:"status"`
	GPUType    string  `json:"gpu_type,omitempty"`
	GPUCount   int     `json:"gpu_count,omitempty"`
	DataCenter string  `json:"data_center,omitempty"`
	HourlyUSD  float64 `json:"hourly_usd"`
	SpendUSD   float64 `json:"spend_usd"`
	CreatedAt  string  `json:"created_at"`
	Port       int     `json:"port,omitempty"`
	// Starts counts the starts of the container's main process.
	Starts int `json:"starts"`
	// SentBytes and TakenBytes went over its SSH port.
	SentBytes  int64  `json:"sent_bytes"`
	TakenBytes int64  `json:"taken_bytes"`
	Dir        string `json:"dir"`
}

// SecretStatus is a secret of a Status; its value is never told.
type SecretStatus struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	CreatedAt string `json:"created_at"`
}

// VolumeStatus is a volume of a Status.
type VolumeStatus struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	SizeGB     int    `json:"size_gb"`
	DataCenter string `json:"data_center"`
	Dir        string `json:"dir"`
}

func (s *server) status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bills.settle(time.Now(), s.speed)
	st := Status{
		Running: true, URL: s.url, PID: os.Getpid(), Build: s.opt.Build, Speed: s.speed, Form: s.form, Home: s.opt.Home,
		Pods: s.podStatuses(), Secrets: []SecretStatus{}, Volumes: []VolumeStatus{},
		SpendUSD: s.bills.total(), Requests: s.requests, Faults: s.faults.list(),
	}
	for _, x := range s.secretList() {
		st.Secrets = append(st.Secrets, SecretStatus{ID: x.ID, Name: x.Name, CreatedAt: stamp(x.Created)})
	}
	for _, v := range s.volumeList() {
		st.Volumes = append(st.Volumes, v.status(s.opt.Home))
	}
	if s.balance != nil {
		left := s.left()
		st.BalanceUSD = &left
	}
	return st
}

func (v *volume) status(home string) VolumeStatus {
	return VolumeStatus{ID: v.ID, Name: v.Name, SizeGB: v.Size, DataCenter: v.Center, Dir: filepath.Join(home, volumesDir, v.ID)}
}

// podStatuses is the pods' part of a status. mu is held.
func (s *server) podStatuses() []podStatus {
	out := []podStatus{}
	for _, p := range s.podList() {
		st := podStatus{
			ID: p.id, Name: p.req.Name, Status: p.status, DataCenter: p.center, HourlyUSD: p.rates().sum(),
			SpendUSD: s.bills.item(p.id).total(), CreatedAt: stamp(p.created), Port: p.port, Starts: p.boots, Dir: p.dir,
		}
		if p.req.GPU != nil {
			st.GPUType, st.GPUCount = p.req.GPU.ID, p.req.GPU.Count
		}
		if p.fwd != nil {
			st.SentBytes, st.TakenBytes = p.fwd.sent.Load(), p.fwd.taken.Load()
		}
		out = append(out, st)
	}
	return out
}

// LastStatus reads what a simulator that is not running left in its home: no
// pods, since they ended with it. A home without any is an empty account.
func LastStatus(home string) (Status, error) {
	st := Status{Home: home, Pods: []podStatus{}, Secrets: []SecretStatus{}, Volumes: []VolumeStatus{}}
	data, err := os.ReadFile(filepath.Join(home, stateFile))
	if os.IsNotExist(err) {
		return st, nil
	}
	if err != nil {
		return st, err
	}
	var a account
	if err := json.Unmarshal(data, &a); err != nil {
		return st, err
	}
	st.SpendUSD, st.Requests = a.Spend, a.Requests
	for _, x := range a.Secrets {
		st.Secrets = append(st.Secrets, SecretStatus{ID: x.ID, Name: x.Name, CreatedAt: stamp(x.Created)})
	}
	for _, v := range a.Volumes {
		st.Volumes = append(st.Volumes, v.status(home))
	}
	return st, nil
}
