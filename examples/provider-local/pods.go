//go:build linux

package main

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/overbrainer/overbrainer/providers"
)

// killPatience is how long a holder gets to end its pod.
const killPatience = 15 * time.Second

// CreatePod makes the pod's directory and starts its holder.
func (l *local) CreatePod(_ context.Context, req providers.CreatePod) (providers.Pod, error) {
	const op = "create pod"
	if err := l.ready(op); err != nil {
		return providers.Pod{}, err
	}
	if err := l.refuse(op, req); err != nil {
		return providers.Pod{}, err
	}
	var pod providers.Pod
	err := l.store.locked(func() error {
		have, err := l.store.pods()
		if err != nil {
			return err
		}
		if len(have) >= l.here.maxPods {
			return failed(providers.Capacity, op, "this machine has %d pods, and max_pods is %d", len(have), l.here.maxPods)
		}
		r, err := l.record(req)
		if err != nil {
			return err
		}
		if err := l.start(r); err != nil {
			return err
		}
		pod = l.show(r)
		return nil
	})
	var ours *providers.Error
	if err != nil && !errors.As(err, &ours) {
		// The machine refused, and start left nothing behind.
		err = failed(providers.Rejected, op, "%v", err)
	}
	return pod, err
}

// refuse finds what this provider cannot do.
func (l *local) refuse(op string, req providers.CreatePod) error {
	switch {
	case req.Marker.RunID == "" || req.Marker.Attempt == "":
		return failed(providers.Invalid, op, "a pod without a run and a name could not be found again")
	case len(req.Command) == 0:
		return failed(providers.Invalid, op, "a pod needs a command")
	case req.Template != "":
		return failed(providers.Invalid, op, "there are no templates on this machine")
	case req.VolumeID != "":
		return failed(providers.Invalid, op, "there are no network volumes on this machine")
	case req.Cloud == providers.Community:
		return failed(providers.Rejected, op, "this machine is no community cloud")
	case req.GPUType != l.here.gpuType:
		return failed(providers.Rejected, op, "this machine is called %q, not %q", l.here.gpuType, req.GPUType)
	case req.GPUCount > l.here.gpuCount:
		return failed(providers.Rejected, op, "this machine has %d GPUs, and %d are asked for", l.here.gpuCount, req.GPUCount)
	}
	return nil
}

func (l *local) record(req providers.CreatePod) (record, error) {
	port, err := freePort()
	if err != nil {
		return record{}, err
	}
	count := max(req.GPUCount, 1)
	return record{
		ID: "p" + strings.ToLower(rand.Text())[:13], Marker: req.Marker, GPUType: req.GPUType, GPUCount: count, DiskGB: req.DiskGB,
		Rate: l.here.price * float64(count), CreatedAt: time.Now(), User: l.here.user, Port: port, SSHD: l.here.sshd,
		SearchPath: os.Getenv("PATH"), Env: req.Env, Command: req.Command,
	}, nil
}

// freePort finds a port for the pod's sshd.
func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

// start starts a pod's holder in a session of its own. The lock that tells that
// the pod lives is taken here and inherited, so that there is no moment at
// which a pod looks dead that is not.
func (l *local) start(r record) (err error) {
	dir := l.store.podDir(r.ID)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = discard(dir)
		}
	}()
	alive, err := os.OpenFile(filepath.Join(dir, aliveFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer alive.Close()
	if err := syscall.Flock(int(alive.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(dir, logFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	if err := writeJSON(filepath.Join(dir, recordFile), r); err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(exe, holdCommand, dir)
	cmd.Dir, cmd.Env = "/", []string{"PATH=" + r.SearchPath}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{alive}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }() // where this process outlives it
	return nil
}

// show is a pod as the contract tells it.
func (l *local) show(r record) providers.Pod {
	p := providers.Pod{
		ID: r.ID, Name: r.Marker.Attempt, Marker: r.Marker, Status: providers.Exited, RatePerHour: r.Rate,
		GPUType: r.GPUType, GPUCount: r.GPUCount, Cloud: providers.Secure, DataCenter: dataCenter, DiskGB: r.DiskGB,
		CreatedAt: r.CreatedAt,
	}
	if l.store.holder(r.ID) != 0 {
		p.Status = providers.Running
		p.SSH = &providers.Endpoint{Host: "127.0.0.1", Port: r.Port, User: r.User}
	}
	return p
}

// GetPod reads one pod.
func (l *local) GetPod(ctx context.Context, id string) (providers.Pod, error) {
	const op = "read pod"
	if err := l.mayRead(ctx, op); err != nil {
		return providers.Pod{}, err
	}
	r, err := l.store.pod(id)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return providers.Pod{}, failed(providers.NotFound, op, "there is no pod %s on this machine", id)
	case err != nil:
		return providers.Pod{}, broken(op, err)
	}
	return l.show(r), nil
}

// ListPods reads every pod.
func (l *local) ListPods(ctx context.Context) (providers.PodList, error) {
	const op = "list pods"
	if err := l.mayRead(ctx, op); err != nil {
		return providers.PodList{}, err
	}
	all, err := l.store.pods()
	if err != nil {
		return providers.PodList{}, broken(op, err)
	}
	list := providers.PodList{ServerTime: time.Now()}
	for _, r := range all {
		list.Pods = append(list.Pods, l.show(r))
	}
	return list, nil
}

// DeletePod ends a pod and returns when all of it is gone.
func (l *local) DeletePod(_ context.Context, id string) (bool, error) {
	const op = "delete pod"
	if err := l.ready(op); err != nil {
		return false, err
	}
	_, err := l.store.pod(id)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	// A record that cannot be read is deleted, too.
	dir := l.store.podDir(id)
	if err := end(dir); err != nil {
		return false, failed(providers.Ambiguous, op, "%v", err)
	}
	killAll(func() []int { return marked(id) })
	if err := discard(dir); err != nil {
		return false, failed(providers.Ambiguous, op, "%v", err)
	}
	return true, nil
}

// end asks a pod's holder to end it and waits until it has.
func end(dir string) error {
	alive, err := os.Open(filepath.Join(dir, aliveFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer alive.Close()
	freed := make(chan error, 1)
	go func() { freed <- syscall.Flock(int(alive.Fd()), syscall.LOCK_SH) }()
	patience := time.NewTimer(killPatience)
	defer patience.Stop()
	again := time.NewTicker(50 * time.Millisecond) // a holder that has just begun
	defer again.Stop()
	signal := syscall.SIGTERM
	for {
		select {
		case err := <-freed:
			return err
		case <-patience.C:
			signal = syscall.SIGKILL
		case <-again.C:
			if pid := holderIn(alive); pid > 1 {
				_ = syscall.Kill(pid, signal)
			}
		}
	}
}
