package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/overbrainer/overbrainer/apply"
	"github.com/overbrainer/overbrainer/state"
)

// dialer connects to pods and logs each connection, and by its name each
// command that is given over it.
func (l *logging) dialer(dial apply.Dialer) apply.Dialer {
	if l.level == "" {
		return dial
	}
	return func(ctx context.Context, to apply.Target) (apply.Machine, error) {
		began := time.Now()
		m, err := dial(ctx, to)
		l.done(slog.LevelDebug, "ssh connect", began, err, "host", to.Host, "port", to.Port, "run", to.RunID)
		if err != nil {
			return nil, err
		}
		return loggedMachine{Machine: m, log: l, run: to.RunID}, nil
	}
}

// loggedMachine logs what is done on a pod: the name, never the text.
type loggedMachine struct {
	apply.Machine
	log *logging
	run string
}

// asked is for what is asked every few seconds, did for what has an effect.
func (m loggedMachine) asked(name string, began time.Time, err error) {
	m.log.done(levelTrace, "ssh command", began, err, "command", name, "run", m.run)
}

func (m loggedMachine) did(name string, began time.Time, err error) {
	m.log.done(slog.LevelDebug, "ssh command", began, err, "command", name, "run", m.run)
}

func (m loggedMachine) Verdict(ctx context.Context) (_ apply.Verdict, err error) {
	defer func(t time.Time) { m.asked("verdict", t, err) }(time.Now())
	return m.Machine.Verdict(ctx)
}

func (m loggedMachine) Reserve(ctx context.Context, claim string) (err error) {
	defer func(t time.Time) { m.did("reserve", t, err) }(time.Now())
	return m.Machine.Reserve(ctx, claim)
}

func (m loggedMachine) Upload(ctx context.Context, u apply.UploadRequest) (err error) {
	defer func(t time.Time) { m.did("upload", t, err) }(time.Now())
	return m.Machine.Upload(ctx, u)
}

func (m loggedMachine) Launch(ctx context.Context, req apply.LaunchRequest) (err error) {
	defer func(t time.Time) { m.did("launch", t, err) }(time.Now())
	return m.Machine.Launch(ctx, req)
}

func (m loggedMachine) Poll(ctx context.Context, from apply.Offsets, most int64) (_ apply.Poll, err error) {
	defer func(t time.Time) { m.asked("poll", t, err) }(time.Now())
	return m.Machine.Poll(ctx, from, most)
}

func (m loggedMachine) Cancel(ctx context.Context) (err error) {
	defer func(t time.Time) { m.did("cancel", t, err) }(time.Now())
	return m.Machine.Cancel(ctx)
}

func (m loggedMachine) Manifest(ctx context.Context, globs, always []string) (_ apply.Manifest, err error) {
	defer func(t time.Time) { m.did("manifest", t, err) }(time.Now())
	return m.Machine.Manifest(ctx, globs, always)
}

func (m loggedMachine) Collect(ctx context.Context, c apply.CollectRequest) (_ apply.Manifest, err error) {
	defer func(t time.Time) { m.did("collect", t, err) }(time.Now())
	return m.Machine.Collect(ctx, c)
}

func (m loggedMachine) MarkRetrieved(ctx context.Context) (err error) {
	defer func(t time.Time) { m.did("mark retrieved", t, err) }(time.Now())
	return m.Machine.MarkRetrieved(ctx)
}

func (m loggedMachine) MarkSeen(ctx context.Context) (err error) {
	defer func(t time.Time) { m.asked("mark seen", t, err) }(time.Now())
	return m.Machine.MarkSeen(ctx)
}

func (m loggedMachine) RenewLease(ctx context.Context) (err error) {
	defer func(t time.Time) { m.asked("renew lease", t, err) }(time.Now())
	return m.Machine.RenewLease(ctx)
}

func (m loggedMachine) RequestSnapshot(ctx context.Context, reason string, overwrite bool) (err error) {
	defer func(t time.Time) { m.did("request snapshot", t, err) }(time.Now())
	return m.Machine.RequestSnapshot(ctx, reason, overwrite)
}

func (m loggedMachine) Proof(ctx context.Context, path string) (_ state.Snapshot, _ bool, err error) {
	defer func(t time.Time) { m.did("proof", t, err) }(time.Now())
	return m.Machine.Proof(ctx, path)
}

func (m loggedMachine) ArmCost(ctx context.Context, snapshotAt, capAt time.Time) (err error) {
	defer func(t time.Time) { m.did("arm cost", t, err) }(time.Now())
	return m.Machine.ArmCost(ctx, snapshotAt, capAt)
}

func (m loggedMachine) VolumeGB(ctx context.Context, gb int) (err error) {
	defer func(t time.Time) { m.did("volume size", t, err) }(time.Now())
	return m.Machine.VolumeGB(ctx, gb)
}

func (m loggedMachine) Disk(ctx context.Context, checkpoint, volumeDir string) (_ apply.Disk, err error) {
	defer func(t time.Time) { m.asked("disk", t, err) }(time.Now())
	return m.Machine.Disk(ctx, checkpoint, volumeDir)
}

func (m loggedMachine) Checkpoints(ctx context.Context, pattern string) (_ []apply.Checkpoint, err error) {
	defer func(t time.Time) { m.asked("checkpoints", t, err) }(time.Now())
	return m.Machine.Checkpoints(ctx, pattern)
}

func (m loggedMachine) CopyLogs(ctx context.Context, dir string) (err error) {
	defer func(t time.Time) { m.did("copy logs", t, err) }(time.Now())
	return m.Machine.CopyLogs(ctx, dir)
}

func (m loggedMachine) RemoveRunDir(ctx context.Context) (err error) {
	defer func(t time.Time) { m.did("remove run directory", t, err) }(time.Now())
	return m.Machine.RemoveRunDir(ctx)
}
