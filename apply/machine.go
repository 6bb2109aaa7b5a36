package apply

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/overbrainer/overbrainer/internal/job"
	"github.com/overbrainer/overbrainer/internal/remote"
	"github.com/overbrainer/overbrainer/state"
)

// SSH is the Dialer for real pods.
func SSH(ctx context.Context, to Target) (Machine, error) {
	client, err := remote.Dial(ctx, remote.Config{
		Host: to.Host, Port: to.Port, User: to.User, Signer: to.Signer, HostKey: to.HostKey,
		ConnectTimeout: to.Connect, HandshakeTimeout: to.Connect,
	})
	if err != nil {
		var failed *remote.DialError
		if errors.As(err, &failed) {
			return nil, &DialError{Stage: DialStage(failed.Stage), Fingerprint: failed.Fingerprint, Err: err}
		}
		return nil, err
	}
	pod, err := job.Open(ctx, client, to.RunDir, to.Metrics)
	if err != nil {
		_ = client.Close()
		return nil, err
	}
	if to.LeaseEvery > 0 {
		pod.LeaseEvery = to.LeaseEvery
	}
	pod.Stall = to.Stall
	return &sshMachine{Client: client, pod: pod, runID: to.RunID}, nil
}

// sshMachine is a run's directory on a pod over SSH.
type sshMachine struct {
	*remote.Client
	pod   *job.Pod
	runID string
}

func (m *sshMachine) Verdict(ctx context.Context) (Verdict, error) {
	v, err := m.pod.Verdict(ctx)
	return Verdict{State: string(v.State), Reason: v.Reason, Bootstrap: v.Bootstrap, GPUCount: v.GPUCount}, lackError(err)
}

func (m *sshMachine) Reserve(ctx context.Context, claim string) error {
	err := m.pod.Reserve(ctx, claim)
	if errors.Is(err, job.ErrTaken) {
		return ErrTaken
	}
	return lackError(err)
}

// lackError gives the engine's word for an image that lacks programs.
func lackError(err error) error {
	var lacks *job.LackError
	if errors.As(err, &lacks) {
		return fmt.Errorf("%w: no %s", ErrLacks, strings.Join(lacks.Programs, ", no "))
	}
	return err
}

func (m *sshMachine) Upload(ctx context.Context, u UploadRequest) error {
	err := m.pod.Upload(ctx, u.Files, u.Open, u.Progress)
	var edited *job.EditedError
	var full *remote.FullError
	switch {
	case errors.As(err, &edited):
		err = fmt.Errorf("%w; %w", err, errEdited)
	case errors.As(err, &full):
		err = fmt.Errorf("%w: %w", ErrPodFull, err)
	}
	return err
}

func (m *sshMachine) Launch(ctx context.Context, l LaunchRequest) error {
	_, err := m.pod.Launch(ctx, job.Launch{
		RunID: m.runID, GPUType: l.GPUType, Command: l.Command, Setup: l.Setup, Env: l.Env,
		Secrets: l.Secrets, Metrics: l.Metrics, ResumeDir: l.ResumeDir, Signal: l.Signal, Vars: l.Vars,
	})
	if errors.Is(err, job.ErrStarted) {
		return nil
	}
	return err
}

func (m *sshMachine) Poll(ctx context.Context, from Offsets, most int64) (Poll, error) {
	p, err := m.pod.Poll(ctx, job.Offsets(from), job.Limits{Log: most})
	if err != nil {
		return Poll{}, err
	}
	out := Poll{
		State: JobState(p.Status.State), Exit: p.Status.Exit, EndedBy: p.EndedBy,
		Log: p.Log, Metrics: p.Metrics, Next: Offsets(p.Next), LogSize: p.LogSize, LogAnew: p.LogAnew, MetricsAnew: p.MetricsAnew,
		Proof: p.HasProof, DiskUsed: p.DiskUsed, DiskFree: p.DiskFree, VolumeUsed: p.VolumeUsed,
		More: p.Status.Ended() && !p.Drained() || p.Next.Log < p.LogSize,
	}
	if p.EndedAt > 0 {
		out.EndedAt = time.Unix(p.EndedAt, 0).UTC()
	}
	if p.Requested {
		out.Snapshot = p.SnapshotRequest
		if out.Snapshot == "" {
			out.Snapshot = job.ReasonRequested
		}
	}
	return out, nil
}

func (m *sshMachine) Cancel(ctx context.Context) error {
	_, err := m.pod.Cancel(ctx, m.runID)
	return err
}

func (m *sshMachine) Unfinished(ctx context.Context, anew bool) (Unfinished, error) {
	left, err := m.pod.Left(ctx, m.runID, anew)
	return Unfinished(left), err
}

func (m *sshMachine) Manifest(ctx context.Context, globs, always []string) (Manifest, error) {
	list, err := m.pod.Manifest(ctx, globs, always)
	return manifestOf(list), listError(err)
}

// listError gives the engine's word for a list that no job left.
func listError(err error) error {
	if errors.Is(err, job.ErrNoJob) {
		return ErrNoJob
	}
	return err
}

func manifestOf(list job.Manifest) Manifest {
	return Manifest{Matched: list.Matched, Others: list.Others, Moved: list.Moved, Large: list.Large, Left: list.Left, Files: append([]File{}, list.Files...)}
}

func (m *sshMachine) Collect(ctx context.Context, c CollectRequest) (Manifest, error) {
	request := job.Collect{
		Dir: c.Dir, Globs: c.Globs, Always: c.Always, Running: c.Running, AllowEmpty: true, Progress: c.Progress,
		Digests: c.Digests, Renewed: c.Renewed,
	}
	if c.Known != nil {
		request.Known = &job.Manifest{Matched: c.Known.Matched, Others: c.Known.Others, Moved: c.Known.Moved, Large: c.Known.Large, Left: c.Known.Left, Files: c.Known.Files}
	}
	list, err := m.pod.Collect(ctx, request)
	var full *job.SpaceError
	var wrong *remote.VerifyError
	var changed *job.ChangedError
	var unread *job.UnreadError
	switch {
	case errors.As(err, &unread):
		err = &changedError{paths: unread.Paths, unread: true, error: err}
	case errors.As(err, &changed):
		err = &changedError{paths: changed.Paths, error: err}
	case errors.As(err, &wrong):
		err = fmt.Errorf("%w: %w", ErrMismatch, err)
	case errors.As(err, &full):
		err = fmt.Errorf("%w: %w", ErrNoSpace, err)
	}
	return manifestOf(list), listError(err)
}

func (m *sshMachine) MarkRetrieved(ctx context.Context) error { return m.pod.MarkRetrieved(ctx) }
func (m *sshMachine) MarkSeen(ctx context.Context) error      { return m.pod.MarkSeen(ctx) }
func (m *sshMachine) RenewLease(ctx context.Context) error    { return m.pod.RenewLease(ctx) }
func (m *sshMachine) RemoveRunDir(ctx context.Context) error  { return m.pod.RemoveRunDir(ctx) }

func (m *sshMachine) RequestSnapshot(ctx context.Context, reason string, overwrite bool) error {
	_, _, err := m.pod.RequestSnapshot(ctx, reason, overwrite)
	return err
}

// badProof tells what is wrong with a proof, in the words of who read it.
type badProof struct{ error }

func (b *badProof) Is(target error) bool { return target == ErrBadProof }

func (m *sshMachine) Proof(ctx context.Context, path string) (state.Snapshot, bool, error) {
	p, found, err := m.pod.Proof(ctx, path)
	var bad *job.ProofError
	if errors.As(err, &bad) {
		return state.Snapshot{}, false, &badProof{err}
	}
	s := state.Snapshot{Path: p.Checkpoint, Step: p.Step, Reason: p.Reason}
	if p.Time > 0 {
		s.At = time.Unix(int64(p.Time), 0).UTC()
	}
	return s, found, err
}

func (m *sshMachine) ArmCost(ctx context.Context, snapshotAt, capAt time.Time) error {
	return m.pod.ArmCost(ctx, unix(snapshotAt), unix(capAt))
}

func (m *sshMachine) VolumeGB(ctx context.Context, gb int) error { return m.pod.SetVolumeGB(ctx, gb) }

func (m *sshMachine) Disk(ctx context.Context, checkpoint, volumeDir string) (Disk, error) {
	d, err := m.pod.Disk(ctx, checkpoint, volumeDir)
	return Disk{VolumeUsed: d.Volume, Checkpoint: d.Checkpoint, CheckpointStep: d.CheckpointStep}, err
}

func (m *sshMachine) Checkpoints(ctx context.Context, pattern string) ([]Checkpoint, error) {
	list, err := m.pod.Checkpoints(ctx, pattern)
	out := make([]Checkpoint, len(list))
	for i, c := range list {
		out[i] = Checkpoint(c)
	}
	return out, err
}

func (m *sshMachine) CopyLogs(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	var first error
	for _, name := range []job.Log{job.WatchdogLog, job.BootstrapLog} {
		data, err := m.pod.ReadLog(ctx, name)
		if err == nil && len(data) > 0 {
			err = replaceFile(filepath.Join(dir, string(name)), data)
		}
		if err != nil && first == nil {
			first = err
		}
	}
	return first
}

func unix(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

// Bootstrap is the PodProgram of real pods: our bootstrap with its watchdog.
func Bootstrap(spec PodSpec) (command []string, env map[string]string, err error) {
	script, err := job.Script(spec.Guard.Functions)
	if err != nil {
		return nil, nil, err
	}
	t := spec.Timing
	s := job.Spec{
		RunID: spec.RunID, Lineage: spec.Lineage, Attempt: spec.Attempt, RunDir: spec.RunDir,
		WorkDir: filepath.ToSlash(filepath.Dir(spec.RunDir)), Version: spec.Version,
		AuthorizedKey: spec.AuthorizedKey, Claim: spec.Claim, HostKeyPlaceholder: spec.HostKeyPlaceholder,
		Deadline: unix(spec.Deadline), SnapshotAt: unix(spec.SnapshotAt), CostCapAt: unix(spec.CostCapAt),
		Overrun: spec.Overrun, BootGrace: spec.BootGrace, RetrieveGrace: spec.RetrieveGrace,
		Interval: t.GuardInterval, ProbeWait: t.GuardProbeWait, ProbeLimit: t.GuardProbeLimit, LeaseTTL: t.LeaseTTL,
		SnapshotLead: spec.SnapshotLead, SnapshotWait: t.GuardSnapshotWait, SeenWait: t.SeenWait,
		DiskEvery: t.DiskLook, KeepPod: spec.Keep, NoSnapshots: !spec.Snapshots,
		VolumeDir: spec.VolumeDir, VolumeGB: spec.VolumeGB, GPUType: spec.GPUType, GPUCount: spec.GPUCount,
		NoInstallSSHD: !spec.InstallSSHD, GuardEnv: spec.Guard.Env,
	}
	if err := s.Check(); err != nil {
		return nil, nil, err
	}
	return []string{"bash", "-c", script}, s.Env(), nil
}
