package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/overbrainer/overbrainer/apply"
	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/state"
)

// instantPods are pods that answer at once and whose job is done as soon as it
// was started.
type instantPods struct {
	last atomic.Int64
	pods sync.Map // port → *instantPod
}

func (p *instantPods) boot(_ providers.CreatePod, pod providers.Pod) providers.Pod {
	port := int(p.last.Add(1))
	p.pods.Store(port, &instantPod{done: make(chan struct{})})
	pod.SSH = &providers.Endpoint{Host: "192.0.2.1", Port: port, User: "root"}
	return pod
}

func (p *instantPods) dial(_ context.Context, to apply.Target) (apply.Machine, error) {
	pod, ok := p.pods.Load(to.Port)
	if !ok {
		return nil, &apply.DialError{Stage: apply.StageConnect, Err: fmt.Errorf("no pod has port %d", to.Port)}
	}
	return pod.(*instantPod), nil
}

// instantPod is one of them, and the connection to it.
type instantPod struct {
	launched atomic.Bool
	done     chan struct{}
}

// What its job leaves.
const (
	instantLog    = "done\n"
	instantResult = "weights"
	resultName    = "output/model.bin"
)

func (m *instantPod) Poll(_ context.Context, from apply.Offsets, _ int64) (apply.Poll, error) {
	p := apply.Poll{State: apply.JobNone, Next: from, DiskUsed: -1, DiskFree: -1, VolumeUsed: -1}
	if m.launched.Load() {
		p.State, p.EndedAt = apply.JobExited, time.Now()
		if from.Log <= 0 {
			p.Log, p.Next.Log = []byte(instantLog), int64(len(instantLog))
		}
	}
	return p, nil
}

func (m *instantPod) Launch(context.Context, apply.LaunchRequest) error {
	m.launched.Store(true)
	return nil
}

func (m *instantPod) Verdict(context.Context) (apply.Verdict, error) {
	return apply.Verdict{State: "ready", GPUCount: -1}, nil
}

func (m *instantPod) Manifest(context.Context, []string, []string) (apply.Manifest, error) {
	list := apply.Manifest{Matched: 1}
	for name, text := range map[string]string{resultName: instantResult, "job.log": instantLog} {
		list.Files = append(list.Files, apply.File{Path: name, Size: int64(len(text)), SHA256: fmt.Sprintf("%x", sha256.Sum256([]byte(text)))})
	}
	return list, nil
}

func (m *instantPod) Collect(ctx context.Context, c apply.CollectRequest) (apply.Manifest, error) {
	for name, text := range map[string]string{resultName: instantResult, "job.log": instantLog} {
		path := filepath.Join(c.Dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return apply.Manifest{}, err
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return apply.Manifest{}, err
		}
	}
	return m.Manifest(ctx, nil, nil)
}

func (m *instantPod) Disk(context.Context, string, string) (apply.Disk, error) {
	return apply.Disk{VolumeUsed: -1, Checkpoint: -1}, nil
}

func (m *instantPod) Proof(context.Context, string) (state.Snapshot, bool, error) {
	return state.Snapshot{}, false, nil
}

// The rest succeeds and leaves nothing.

func (m *instantPod) Reserve(context.Context, string) error             { return nil }
func (m *instantPod) Upload(context.Context, apply.UploadRequest) error { return nil }
func (m *instantPod) Cancel(context.Context) error                      { return nil }
func (m *instantPod) Unfinished(context.Context, bool) (apply.Unfinished, error) {
	return apply.Unfinished{}, nil
}
func (m *instantPod) MarkRetrieved(context.Context) error                 { return nil }
func (m *instantPod) MarkSeen(context.Context) error                      { return nil }
func (m *instantPod) RenewLease(context.Context) error                    { return nil }
func (m *instantPod) RequestSnapshot(context.Context, string, bool) error { return nil }
func (m *instantPod) ArmCost(context.Context, time.Time, time.Time) error { return nil }
func (m *instantPod) VolumeGB(context.Context, int) error                 { return nil }
func (m *instantPod) Checkpoints(context.Context, string) ([]apply.Checkpoint, error) {
	return nil, nil
}
func (m *instantPod) CopyLogs(context.Context, string) error { return nil }
func (m *instantPod) RemoveRunDir(context.Context) error     { return nil }
func (m *instantPod) Done() <-chan struct{}                  { return m.done }
func (m *instantPod) Err() error                             { return nil }
func (m *instantPod) Heard() time.Time                       { return time.Now() }
func (m *instantPod) Close() error                           { return nil }
