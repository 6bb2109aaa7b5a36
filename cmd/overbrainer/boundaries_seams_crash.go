//go:build crash

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/overbrainer/overbrainer/apply"
	"github.com/overbrainer/overbrainer/internal/remote"
	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/state"
)

// boundedStore has a boundary before each write, where the transaction is
// locked and its change made, and one after it.
type boundedStore struct {
	state.Store
	b *boundaries
}

func (s boundedStore) Update(ctx context.Context, change func(*state.State) error) (*state.State, error) {
	after := func() {}
	first := true
	st, err := s.Store.Update(ctx, func(st *state.State) error {
		before := digests(st)
		if err := change(st); err != nil {
			return err
		}
		if first { // a change may be made more than once
			first = false
			after = s.b.effect(changed(before, digests(st)), "state write")
		}
		return nil
	})
	after()
	return st, err
}

// Session keeps a journal of the smallest state, so that each boundary is met
// with one.
func (s boundedStore) Session() func(context.Context) error {
	store := s.Store.(*projectStore)
	if at, err := store.open(); err == nil {
		if local, ok := at.(*state.LocalStore); ok {
			state.JournalFrom(0)(local)
		}
	}
	return store.Session()
}

func digests(st *state.State) map[string][]byte {
	out := map[string][]byte{}
	for address, r := range st.Resources {
		out[address], _ = json.Marshal(r)
	}
	for address, c := range st.Claims {
		text, _ := json.Marshal(c)
		out[address] = append(out[address], text...)
	}
	return out
}

// changed names the one address that differs.
func changed(a, b map[string][]byte) string {
	owner := ""
	for _, m := range []map[string][]byte{a, b} {
		for address := range m {
			if bytes.Equal(a[address], b[address]) || address == owner {
				continue
			}
			if owner != "" {
				return everybody
			}
			owner = address
		}
	}
	if owner == "" {
		return everybody
	}
	return owner
}

type boundedProvider struct {
	providers.Provider
	b *boundaries
}

func (p boundedProvider) CreatePod(ctx context.Context, req providers.CreatePod) (providers.Pod, error) {
	owner := runOf(req.Marker.RunID)
	defer p.b.effect(owner, "create pod")()
	pod, err := p.Provider.CreatePod(ctx, req)
	p.b.own(pod.ID, owner)
	return pod, err
}

func (p boundedProvider) GetPod(ctx context.Context, id string) (providers.Pod, error) {
	defer p.b.look(p.b.owner(id), "read pod")()
	return p.Provider.GetPod(ctx, id)
}

func (p boundedProvider) ListPods(ctx context.Context) (providers.PodList, error) {
	defer p.b.look(everybody, "list pods")()
	list, err := p.Provider.ListPods(ctx)
	for _, pod := range list.Pods {
		p.b.own(pod.ID, runOf(pod.Marker.RunID))
	}
	return list, err
}

func (p boundedProvider) DeletePod(ctx context.Context, id string) (bool, error) {
	defer p.b.effect(p.b.owner(id), "delete pod")()
	return p.Provider.DeletePod(ctx, id)
}

func (p boundedProvider) PodLogs(ctx context.Context, req providers.LogRequest, sink func(providers.LogLine) error) error {
	defer p.b.look(p.b.owner(req.PodID), "read log")()
	return p.Provider.PodLogs(ctx, req, sink)
}

func (p boundedProvider) ListSecrets(ctx context.Context, name string) ([]providers.Secret, error) {
	owner := everybody
	if name != "" {
		owner = runOf(name)
	}
	defer p.b.look(owner, "list secrets")()
	list, err := p.Provider.ListSecrets(ctx, name)
	for _, s := range list {
		p.b.own(s.ID, runOf(s.Name))
	}
	return list, err
}

func (p boundedProvider) PutSecret(ctx context.Context, name, value string) (providers.Secret, error) {
	owner := runOf(name)
	defer p.b.effect(owner, "put secret")()
	s, err := p.Provider.PutSecret(ctx, name, value)
	p.b.own(s.ID, owner)
	return s, err
}

func (p boundedProvider) DeleteSecret(ctx context.Context, id string) (bool, error) {
	defer p.b.effect(p.b.owner(id), "delete secret")()
	return p.Provider.DeleteSecret(ctx, id)
}

func (p boundedProvider) Catalog(ctx context.Context, q providers.CatalogQuery) (providers.Catalog, error) {
	defer p.b.look(everybody, "read catalog")()
	return p.Provider.Catalog(ctx, q)
}

// dial has boundaries around each connection and everything done over it.
func (b *boundaries) dial(dial apply.Dialer) apply.Dialer {
	return func(ctx context.Context, to apply.Target) (apply.Machine, error) {
		owner := runOf(to.RunID)
		defer b.look(owner, "connect")()
		m, err := dial(ctx, to)
		if err != nil {
			return nil, err
		}
		return boundedMachine{m, b, owner}, nil
	}
}

// boundedMachine names what is done on a pod by the method that does it.
type boundedMachine struct {
	apply.Machine
	b     *boundaries
	owner string
}

func (m boundedMachine) act(ctx context.Context, method string) context.Context {
	return remote.WithMarks(ctx, func(what string) func() { return m.b.effect(m.owner, method+" "+what) })
}

func (m boundedMachine) look(ctx context.Context, method string) context.Context {
	return remote.WithMarks(ctx, func(what string) func() { return m.b.look(m.owner, method+" "+what) })
}

func (m boundedMachine) Verdict(ctx context.Context) (apply.Verdict, error) {
	return m.Machine.Verdict(m.look(ctx, "verdict"))
}

func (m boundedMachine) Reserve(ctx context.Context, claim string) error {
	return m.Machine.Reserve(m.act(ctx, "reserve"), claim)
}

func (m boundedMachine) Upload(ctx context.Context, u apply.UploadRequest) error {
	return m.Machine.Upload(m.act(ctx, "upload"), u)
}

func (m boundedMachine) Launch(ctx context.Context, l apply.LaunchRequest) error {
	return m.Machine.Launch(m.act(ctx, "launch"), l)
}

func (m boundedMachine) Poll(ctx context.Context, from apply.Offsets, most int64) (apply.Poll, error) {
	return m.Machine.Poll(m.look(ctx, "poll"), from, most)
}

func (m boundedMachine) Cancel(ctx context.Context) error {
	return m.Machine.Cancel(m.act(ctx, "cancel"))
}

func (m boundedMachine) Manifest(ctx context.Context, globs, always []string) (apply.Manifest, error) {
	return m.Machine.Manifest(m.look(ctx, "manifest"), globs, always)
}

func (m boundedMachine) Collect(ctx context.Context, c apply.CollectRequest) (apply.Manifest, error) {
	return m.Machine.Collect(m.act(ctx, "collect"), c)
}

func (m boundedMachine) MarkRetrieved(ctx context.Context) error {
	return m.Machine.MarkRetrieved(m.act(ctx, "mark retrieved"))
}

func (m boundedMachine) MarkSeen(ctx context.Context) error {
	return m.Machine.MarkSeen(m.act(ctx, "mark seen"))
}

func (m boundedMachine) RenewLease(ctx context.Context) error {
	return m.Machine.RenewLease(m.look(ctx, "renew lease"))
}

func (m boundedMachine) Proof(ctx context.Context, path string) (state.Snapshot, bool, error) {
	return m.Machine.Proof(m.look(ctx, "proof"), path)
}

func (m boundedMachine) ArmCost(ctx context.Context, snapshotAt, capAt time.Time) error {
	return m.Machine.ArmCost(m.act(ctx, "arm cost"), snapshotAt, capAt)
}

func (m boundedMachine) Disk(ctx context.Context, checkpoint, volumeDir string) (apply.Disk, error) {
	return m.Machine.Disk(m.look(ctx, "disk"), checkpoint, volumeDir)
}

func (m boundedMachine) Checkpoints(ctx context.Context, pattern string) ([]apply.Checkpoint, error) {
	return m.Machine.Checkpoints(m.look(ctx, "checkpoints"), pattern)
}

func (m boundedMachine) CopyLogs(ctx context.Context, dir string) error {
	return m.Machine.CopyLogs(m.look(ctx, "copy logs"), dir)
}
