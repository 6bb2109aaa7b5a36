package job

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
)

// MarkRetrieved tells the watchdog that everything is safe at home, which lets
// it delete the pod at once. It is called only after everything was verified.
func (p *Pod) MarkRetrieved(ctx context.Context) error {
	return p.write(ctx, ".pod/retrieved", "retrieved")
}

// RenewLease tells the watchdog that somebody is here and makes progress, for
// the length of a lease.
func (p *Pod) RenewLease(ctx context.Context) error {
	return p.write(ctx, ".pod/lease", "lease")
}

// MarkSeen lets the watchdog of a failed bootstrap delete its pod at once.
func (p *Pod) MarkSeen(ctx context.Context) error {
	return p.write(ctx, ".pod/seen", "seen")
}

// SetVolumeGB tells the watchdog the network volume's present size.
func (p *Pod) SetVolumeGB(ctx context.Context, gb int) error {
	return p.write(ctx, ".pod/volume_gb", strconv.Itoa(gb))
}

// SetKeepUntil lets keep_pod end at a time, in Unix seconds. It can only end it
// earlier than the pod was created with.
func (p *Pod) SetKeepUntil(ctx context.Context, at int64) error {
	return p.write(ctx, ".pod/keep_until", strconv.FormatInt(at, 10))
}

// ArmCost writes when a snapshot is asked for and when the pod is deleted
// because of its cost, in Unix seconds; 0 leaves one out. Both only tighten
// what the pod was created with. A run whose cap cannot be armed is not started.
func (p *Pod) ArmCost(ctx context.Context, snapshotAt, capAt int64) error {
	if snapshotAt > 0 {
		if err := p.write(ctx, ".pod/snapshot_at", strconv.FormatInt(snapshotAt, 10)); err != nil {
			return err
		}
	}
	if capAt > 0 {
		return p.write(ctx, ".pod/cost_cap_at", strconv.FormatInt(capAt, 10))
	}
	return nil
}

// RemoveRunDir removes the run's directory from a network volume. The watchdog
// of an ended job takes that as retrieved.
func (p *Pod) RemoveRunDir(ctx context.Context) error {
	_, err := p.run(ctx, call{
		what:   "removing the run directory",
		script: `rm -rf "$ob_run"`,
	})
	return err
}

// holdLease renews the lease until stop is called, so that a pod with which
// somebody works is not taken for an abandoned one. What may hang ends by itself:
// a transfer when no byte moves, a connection when nothing answers. renewed, which
// may be nil, is called after each time.
func (p *Pod) holdLease(ctx context.Context, renewed func()) (stop func()) {
	if p.LeaseEvery <= 0 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var renewing sync.WaitGroup
	renewing.Go(func() {
		tick := time.NewTicker(p.LeaseEvery)
		defer tick.Stop()
		for {
			// Where it fails, the next tick tries again.
			if p.RenewLease(ctx) == nil && renewed != nil {
				renewed()
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
	return func() { cancel(); renewing.Wait() }
}

// Disk is what the pod measured, in bytes; -1: not known.
type Disk struct {
	Checkpoint     int64 // the newest checkpoint, by its step
	CheckpointStep int64
	Volume         int64 // everything on the network volume
}

// Disk measures the newest checkpoint under pattern ({step} for the step) and,
// where volumeDir is not empty, the network volume. It may take a minute and is
// not part of Poll for that reason.
func (p *Pod) Disk(ctx context.Context, pattern, volumeDir string) (Disk, error) {
	vars := []string{"ob_checkpoint", "", "ob_before", "", "ob_after", "", "ob_volume", volumeDir}
	if before, after, found := strings.Cut(pattern, "{step}"); found && safePath(pattern) {
		vars = []string{"ob_checkpoint", "1", "ob_before", before, "ob_after", after, "ob_volume", volumeDir}
	}
	out, err := p.run(ctx, call{
		what:   "measuring the disk",
		vars:   vars,
		script: compact(libText) + compact(diskText),
	})
	if err != nil {
		return Disk{}, err
	}
	return parseDisk(string(out))
}

func parseDisk(out string) (Disk, error) {
	disk := Disk{Checkpoint: -1, CheckpointStep: -1, Volume: -1}
	head, rest, _ := strings.Cut(out, "\n")
	if head != "overbrainer-disk 1" {
		return disk, &ProtocolError{What: "measuring the disk", Detail: "it has no beginning"}
	}
	number := func(text string, scale int64) int64 {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			return -1
		}
		return n * scale
	}
	for line := range strings.Lines(rest) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 3 && fields[0] == "checkpoint":
			disk.CheckpointStep, disk.Checkpoint = number(fields[1], 1), number(fields[2], 1024)
		case len(fields) == 2 && fields[0] == "volume":
			disk.Volume = number(fields[1], 1024)
		}
	}
	return disk, nil
}

// Log is one of the logs that the pod's scripts keep.
type Log string

// Logs of a pod.
const (
	WatchdogLog  Log = "watchdog.log"
	BootstrapLog Log = "bootstrap.log"
)

// ReadLog gives the end of one of the scripts' logs, at most 4 MiB. A missing
// one is empty.
func (p *Pod) ReadLog(ctx context.Context, log Log) ([]byte, error) {
	if log != WatchdogLog && log != BootstrapLog {
		return nil, fmt.Errorf("there is no log %q on a pod", log)
	}
	return p.read(ctx, ".pod/"+string(log), maxLog, true)
}

const maxLog = 4 << 20

// Tail gives the end of job.log, at most limit bytes.
func (p *Pod) Tail(ctx context.Context, limit int64) ([]byte, error) {
	return p.read(ctx, "job.log", limit, true)
}
