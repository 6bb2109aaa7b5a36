package apply

import (
	"context"
	"errors"
	"fmt"

	"github.com/overbrainer/overbrainer/state"
)

// ErrPodFull says that the disk of a pod on which its run lies has no room left.
var ErrPodFull = errors.New("the pod's disk is full")

// inputsTooLarge ends a run whose inputs found too little room on its pod. No other
// try would find more, and on a volume what came would only take that of others.
func (r *runner) inputsTooLarge(need int64, err error) error {
	if r.s.interrupted() {
		return errInterrupted
	}
	onVolume := r.run.Pod.VolumeID != ""
	if onVolume {
		r.copyPodLogs() // they lie in the run's directory
		remove := func(ctx context.Context, m Machine) error { return m.RemoveRunDir(ctx) }
		if err := r.onPod(2*r.t.Call, remove); err != nil {
			r.warnf("what was uploaded stays on the volume: %v", err)
		}
	}
	_ = r.save(func(st *state.State, run *state.Run) {
		run.FullVolumeGB = st.VolumeGB(run.Pod.VolumeID)
	})
	there, mend := "the image takes room there as well", "raise container_disk_gb of "+r.run.Target
	if onVolume {
		there, mend = "what lies on it already takes room as well", "raise "+r.volumeSizeWords()+", remove files from it"
	}
	return failf("disk_full", "the inputs could not be uploaded: %s is full: they take %s, and %s", r.sizedDiskName(), size(need), there).
		at(r.address).because(errors.Join(err, &endError{state.DiskFull})).hint("%s, or upload less", mend)
}

// volumeSizeWords names what makes the run's volume larger.
func (r *runner) volumeSizeWords() string {
	if v := r.spec.Target.Volume; v != "" {
		return "size_gb of " + v
	}
	return "its size"
}

// sizedDiskName is diskName with what was rented, where that is known.
func (r *runner) sizedDiskName() string {
	gb := r.spec.Target.DiskGB
	if r.run.Pod.VolumeID != "" {
		gb = r.volumeSize()
	}
	if gb == 0 {
		return r.diskName()
	}
	return fmt.Sprintf("%s (%d GB)", r.diskName(), gb)
}
