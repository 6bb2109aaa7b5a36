package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// account is what outlives the process. Pods are in it only for a Status that
// is read while nothing runs; they are never started again.
type account struct {
	Spend     float64              `json:"spend_usd"`
	Requests  int64                `json:"requests"`
	Pods      []podStatus          `json:"pods"`
	Volumes   []*volume            `json:"volumes"`
	Secrets   []*secret            `json:"secrets"`
	Templates []*template          `json:"templates"`
	Registry  map[string]string    `json:"registries"`
	SSHKeys   []string             `json:"ssh_keys"`
	Balance   *float64             `json:"balance_usd"`
	Bills     map[string]*billItem `json:"bills"`
	Saved     time.Time            `json:"saved_at"`
}

func (s *server) load() error {
	data, err := os.ReadFile(filepath.Join(s.opt.Home, stateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var a account
	if err := json.Unmarshal(data, &a); err != nil {
		return fmt.Errorf("%s: %w (remove it to start with an empty account)", filepath.Join(s.opt.Home, stateFile), err)
	}
	values := map[string]string{}
	if data, err := os.ReadFile(filepath.Join(s.opt.Home, secretsFile)); err == nil {
		if err := json.Unmarshal(data, &values); err != nil {
			return fmt.Errorf("%s: %w", filepath.Join(s.opt.Home, secretsFile), err)
		}
	}
	s.requests, s.balance, s.sshKeys = a.Requests, a.Balance, a.SSHKeys
	for _, v := range a.Volumes {
		s.volumes[v.ID] = v
		s.bills.start(v.ID, v.rates(), a.Saved)
	}
	for _, x := range a.Secrets {
		x.value = values[x.ID]
		s.secrets[x.ID] = x
	}
	for _, t := range a.Templates {
		s.templates[t.ID] = t
	}
	for id, name := range a.Registry {
		s.registry[id] = name
	}
	for id, item := range a.Bills {
		s.bills.restore(id, item)
	}
	return nil
}

// save writes the account where something changed.
func (s *server) save() {
	s.mu.Lock()
	if !s.dirty && len(s.pods) == 0 {
		s.mu.Unlock()
		return
	}
	s.dirty = false
	now := time.Now()
	s.bills.settle(now, s.speed)
	a := account{
		Spend: s.bills.total(), Requests: s.requests, Pods: s.podStatuses(),
		Registry: s.registry, SSHKeys: s.sshKeys, Balance: s.balance, Bills: s.bills.items, Saved: now,
	}
	values := map[string]string{}
	for _, v := range s.volumes {
		a.Volumes = append(a.Volumes, v)
	}
	for _, x := range s.secrets {
		a.Secrets = append(a.Secrets, x)
		values[x.ID] = x.value
	}
	for _, t := range s.templates {
		a.Templates = append(a.Templates, t)
	}
	err := errors.Join(
		writeFile(filepath.Join(s.opt.Home, stateFile), a),
		writeFile(filepath.Join(s.opt.Home, secretsFile), values))
	s.mu.Unlock()
	if err != nil {
		s.logf("cannot save the account: %v", err)
	}
}
