package apply

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/state"
)

// Shares of a disk in percent.
const (
	diskWarn     = 85
	diskWarnStep = 5
	diskAct      = 92
	// volumeUsable is what of a network volume's size can be written.
	volumeUsable = 94
)

// diskWatch keeps a job from failing because its disk is full: it grows a
// network volume as far as the cap allows, else has the job save itself.
type diskWatch struct {
	warned     int
	asked      bool
	noGrow     bool
	measuredAt time.Time
	measuring  chan Disk
	unmeasured int
	last       Disk
	known      bool

	pendingGB   int
	pendingFrom time.Time
	blind       int
}

// usage is one look at a disk in bytes.
type usage struct{ used, capacity, checkpoint int64 }

// percent is how full it is; 0 where nothing can be said.
func (u usage) percent() float64 {
	if u.capacity <= 0 {
		return 0
	}
	return float64(u.used) / float64(u.capacity) * 100
}

// full reports whether something must be done: nearly full, or no room for
// the next checkpoint.
func (u usage) full() bool {
	if u.capacity <= 0 {
		return false
	}
	if u.used*100 >= diskAct*u.capacity {
		return true
	}
	return u.checkpoint > 0 && (u.capacity-u.used)*10 < u.checkpoint*15
}

// warnLevel is the threshold to warn of now, 0 for none.
func (u usage) warnLevel(before int) int {
	// A volume may hold more than is reckoned to be usable.
	level := min(100, int(u.percent())/diskWarnStep*diskWarnStep)
	if level < diskWarn || level <= before {
		return 0
	}
	return level
}

// grownSize is the next size of a volume in GB: half as much again, at least
// 50 GB more, at most limit; 0 when it cannot grow.
func grownSize(current, limit int) int {
	next := min(limit, max(current+(current+1)/2, current+50))
	if next <= current {
		return 0
	}
	return next
}

// poll takes in what a look at the job says of the container's disk.
func (d *diskWatch) poll(f *follower, p Poll) {
	if u := f.r.containerUsage(p); !f.observing && u.capacity > 0 {
		u.checkpoint = d.last.Checkpoint
		d.judge(f, u, f.r.now())
	}
}

// containerUsage is how full the container's disk is where the run lies on it. A disk
// that is far larger than what was rented is not the pod's own.
func (r *runner) containerUsage(p Poll) usage {
	if p.DiskUsed < 0 || p.DiskFree < 0 || r.run.Pod.VolumeID != "" || r.spec == nil {
		return usage{}
	}
	total, rented := p.DiskUsed+p.DiskFree, int64(r.spec.Target.DiskGB)*1e9
	if rented == 0 || total > rented*5/4 {
		return usage{}
	}
	return usage{used: p.DiskUsed, capacity: total}
}

// fullWords says of a job that failed that its disk is full, "" where it is not or
// nobody knows.
func (r *runner) fullWords(p Poll) string {
	u := r.containerUsage(p)
	if !u.full() {
		return ""
	}
	return fmt.Sprintf("; %s is %.0f %% full (%s of %s), which may be why: raise container_disk_gb of %s", r.diskName(), u.percent(), size(u.used), size(u.capacity), r.run.Target)
}

// look measures checkpoints and the network volume, beside everything else.
func (d *diskWatch) look(f *follower, now time.Time) {
	r := f.r
	if d.measuring != nil {
		select {
		case m, ok := <-d.measuring:
			d.measuring = nil
			d.take(f, m, ok, now)
		default:
		}
		return
	}
	onVolume := r.run.Pod.VolumeID != ""
	if now.Sub(d.measuredAt) < r.t.DiskLook || !onVolume && r.run.Job.SnapshotPath == "" {
		return
	}
	d.measuredAt = now
	volumeDir := ""
	if onVolume {
		volumeDir = r.rented.Description.VolumeMount
	}
	d.measuring = make(chan Disk, 1)
	go func(out chan<- Disk, m Machine, pattern string) {
		defer close(out)
		ctx, cancel := context.WithTimeout(f.ctx, 2*r.t.Call)
		defer cancel()
		if measured, err := m.Disk(ctx, pattern, volumeDir); err == nil {
			out <- measured
		}
	}(d.measuring, r.machine, r.run.Job.SnapshotPath)
}

func (d *diskWatch) take(f *follower, m Disk, ok bool, now time.Time) {
	r := f.r
	if !ok || r.run.Pod.VolumeID != "" && m.VolumeUsed < 0 {
		if d.unmeasured++; d.unmeasured == 3 {
			r.warnf("%s cannot be measured", r.diskName())
		}
		return
	}
	d.unmeasured, d.last, d.known = 0, m, true
	if r.run.Pod.VolumeID == "" {
		return
	}
	gb := d.volumeGB(f)
	if gb <= 0 {
		return
	}
	d.judge(f, usage{used: m.VolumeUsed, capacity: int64(gb) * 1e9 * volumeUsable / 100, checkpoint: max(0, m.Checkpoint)}, now)
}

// volumeGB is the size of the run's volume as last known.
func (d *diskWatch) volumeGB(f *follower) int {
	if gb := f.r.volumeSize(); gb > 0 {
		return gb
	}
	v, err := f.r.rented.Provider.GetVolume(f.ctx, f.r.run.Pod.VolumeID)
	if err != nil {
		return 0
	}
	f.r.setVolumeSize(v)
	return v.SizeGB
}

// judge warns, and acts where it must.
func (d *diskWatch) judge(f *follower, u usage, now time.Time) {
	r := f.r
	if level := u.warnLevel(d.warned); level > 0 {
		d.warned = level
		r.warnf("%s is %.0f %% full (%s of %s)", r.diskName(), u.percent(), size(u.used), size(u.capacity))
	}
	if d.pendingGB > 0 {
		d.settle(f, now)
		return
	}
	if !u.full() || d.asked {
		return
	}
	if r.run.Pod.VolumeID != "" && r.run.Bounds.MaxVolumeGB > 0 && !d.noGrow && d.grow(f, now) {
		return
	}
	d.stop(f)
}

// grow asks for a larger volume. It reports whether the job may go on.
func (d *diskWatch) grow(f *follower, now time.Time) bool {
	r := f.r
	v, err := r.rented.Provider.GetVolume(f.ctx, r.run.Pod.VolumeID)
	if err != nil {
		return false
	}
	if v.SizeGB != r.volumeSize() { // changed elsewhere
		d.sized(f, v)
		return true
	}
	next := grownSize(v.SizeGB, r.run.Bounds.MaxVolumeGB)
	if next == 0 || r.s.mayBegin() != nil {
		return false
	}
	r.warnf("the volume %s is nearly full and is grown from %d to %d GB, for good, at the volume's price", v.ID, v.SizeGB, next)
	ctx, cancel := r.s.effect(r.t.CreateLimit)
	defer cancel()
	grown, err := r.rented.Provider.ResizeVolume(ctx, v.ID, next)
	if err != nil {
		r.warnf("the volume could not be grown: %s", reasonOf(err))
		d.noGrow = true
		return false
	}
	d.pendingGB, d.pendingFrom, d.blind = next, now, 0
	if grown.SizeGB < next { // it may still show what it had
		grown.SizeGB, grown.MonthlyUSD = next, 0
	}
	grown.Type = cmp.Or(grown.Type, v.Type)
	d.sized(f, grown)
	return true
}

// settle waits until a grown volume shows its size.
func (d *diskWatch) settle(f *follower, now time.Time) {
	r := f.r
	v, err := r.rented.Provider.GetVolume(f.ctx, r.run.Pod.VolumeID)
	waited := now.Sub(d.pendingFrom)
	switch {
	case err == nil && v.SizeGB >= d.pendingGB:
		d.pendingGB, d.warned = 0, 0
		r.emit(Event{Kind: EventPhase, Message: fmt.Sprintf("the volume has %d GB now", v.SizeGB)})
	case err == nil && waited >= r.t.GrowWait, err != nil && waited >= time.Duration(r.t.GrowLooks)*r.t.GrowWait:
		d.pendingGB, d.noGrow = 0, true
		d.stop(f)
	}
}

// sized tells the pod's guard, and everybody who reads the state, the size.
func (d *diskWatch) sized(f *follower, v providers.Volume) {
	f.r.setVolumeSize(v)
	_ = f.call(func(ctx context.Context) error { return f.r.machine.VolumeGB(ctx, v.SizeGB) })
}

// stop has the job save itself before its disk is full.
func (d *diskWatch) stop(f *follower) {
	r := f.r
	if r.run.Job.SnapshotPath == "" {
		if !d.asked {
			d.asked = true
			r.warnf("%s is nearly full and the job cannot save itself; it may fail", r.diskName())
		}
		return
	}
	if f.snapshots.ask(f, "disk", false) == nil {
		d.asked = true
		r.emit(Event{Kind: EventSnapshot, Message: "asked for a snapshot: the disk is nearly full"})
	}
}

// diskName names the disk that the run's directory is on.
func (r *runner) diskName() string {
	if r.run.Pod != nil && r.run.Pod.VolumeID != "" {
		return "the network volume " + r.run.Pod.VolumeID
	}
	return "the container disk of its pod"
}

// diskWords says which disk was nearly full, and what gives the next run room.
func (r *runner) diskWords() string {
	b := r.run.Bounds
	switch gb := r.volumeSize(); {
	case r.run.Pod == nil || r.run.Pod.VolumeID == "":
		return "ended because the container's disk was nearly full; raise container_disk_gb of " + r.run.Target
	case b.MaxVolumeGB > 0:
		return fmt.Sprintf("ended because its volume %s of %d GB was nearly full and may not grow beyond max_volume_gb = %d (%s); raise that or the volume's size_gb, or remove files from it", r.run.Pod.VolumeID, gb, b.MaxVolumeGB, b.Where)
	default:
		return fmt.Sprintf("ended because its volume %s of %d GB was nearly full; raise its size_gb, let it grow by max_volume_gb (%s), or remove files from it", r.run.Pod.VolumeID, gb, b.Where)
	}
}

// volumeSize is the size in GB of the volume that the pod uses, 0 = unknown.
func (r *runner) volumeSize() int {
	if r.volumeGB == 0 && r.spec != nil {
		r.volumeGB = r.spec.Target.VolumeGB
	}
	return r.volumeGB
}

// setVolumeSize takes in a volume as the provider shows it: its size, and what
// it costs since.
func (r *runner) setVolumeSize(v providers.Volume) {
	gb := v.SizeGB
	if gb <= 0 || gb > math.MaxInt32 {
		return
	}
	r.volumeGB = gb
	id := r.run.Pod.VolumeID
	_, _ = r.s.update(func(st *state.State) error {
		if r.claim != nil && !st.Holds(r.claim.id, r.address) {
			return errClaimLost
		}
		for _, res := range st.Resources {
			if res.Volume != nil && res.Volume.ID == id && res.Volume.SizeGB < gb {
				res.Volume.SizeGB, res.Volume.MonthlyUSD = gb, v.MonthlyUSD
				if m := plan.VolumeMonthly(gb, cmp.Or(v.Type, res.Volume.Type)); v.MonthlyUSD == 0 && m != nil {
					res.Volume.MonthlyUSD = *m
				}
			}
		}
		return nil
	})
}
