package apply

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/state"
)

// TestInputsThatFillThePod end the run at the first try, with the disk, what was
// needed and what gives it room; the pod goes, and what came leaves a volume.
func TestInputsThatFillThePod(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(s *plan.RunSpec)
		says   string
		volume bool
		held   int // the size below which it is not tried again, in GB
	}{
		{name: "container disk", change: func(*plan.RunSpec) {},
			says: "the container disk of its pod (50 GB) is full: they take 1.0 kB, and the image takes room there as well (raise container_disk_gb of target.gpu, or upload less)"},
		{name: "volume", volume: true, held: 200, change: func(s *plan.RunSpec) { s.Target.Volume, s.Target.VolumeID, s.Target.VolumeGB = "volume.v", "vol1", 200 },
			says: "the network volume vol1 (200 GB) is full: they take 1.0 kB, and what lies on it already takes room as well (raise size_gb of volume.v, remove files from it, or upload less)"},
		{name: "volume of which nothing is known", volume: true, held: 200, change: func(s *plan.RunSpec) { s.Target.VolumeID = "vol1" },
			says: "the network volume vol1 is full: they take 1.0 kB, and what lies on it already takes room as well (raise its size, remove files from it, or upload less)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				tries := 0
				w.boot = func(_ int, p *fakePod) {
					p.upload = func(u UploadRequest) error {
						tries++
						u.Progress(100*int64(tries), 1000, 1) // more comes each time
						return fmt.Errorf("%w: write \"data.bin\" on the machine: exit 2", ErrPodFull)
					}
				}
				if err := os.WriteFile(filepath.Join(w.dir, "data.bin"), make([]byte, 1000), 0o600); err != nil {
					t.Fatal(err)
				}
				w.mem.AddVolume(providers.Volume{ID: "vol1", SizeGB: 200})
				if _, err := w.store.Update(t.Context(), func(st *state.State) error {
					st.Resources["volume.v"] = &state.Resource{Type: "volume", Provider: "memory", Volume: &state.Volume{ID: "vol1", Name: "v", SizeGB: 200}}
					return nil
				}); err != nil {
					t.Fatal(err)
				}
				s := spec()
				s.Uploads = []plan.Upload{{Path: "data.bin", Source: "data.bin", Size: 1000}}
				tt.change(s)
				out := w.apply(oneRun(s), Options{})
				run, pod := w.run("run.train"), w.pod(1)
				if out.Class != Failure || tries != 1 || CodeOf(out.Runs[0].Err) != "disk_full" {
					t.Errorf("class %d after %d tries: %v", out.Class, tries, out.Runs[0].Err)
				}
				if text := out.Runs[0].Err.Error(); !strings.HasSuffix(text, "the inputs could not be uploaded: "+tt.says) {
					t.Error(text)
				}
				if run.Phase != state.Failed || run.Reason != state.DiskFull || run.FullVolumeGB != tt.held {
					t.Errorf("%s %s, full at %d GB", run.Phase, run.Reason, run.FullVolumeGB)
				}
				if removed := pod.marks["remove run dir"] > 0; removed != tt.volume {
					t.Errorf("removed what came: %v", removed)
				}
				w.clean()
			})
		})
	}
}

// TestAFailedJobOnAFullDisk is told that its disk is full, where it is the pod's own.
func TestAFailedJobOnAFullDisk(t *testing.T) {
	const full = "; the container disk of its pod is 99 % full (49.5 GB of 50.0 GB), which may be why: raise container_disk_gb of target.gpu"
	for _, tt := range []struct {
		name   string
		exit   int
		df     [2]int64 // used and free, in GB
		volume string
		says   string
	}{
		{name: "full", exit: 1, df: [2]int64{495, 5}, says: "the job exited with 1" + full},
		{name: "with room", exit: 1, df: [2]int64{300, 200}, says: "the job exited with 1"},
		{name: "its machine's", exit: 1, df: [2]int64{19900, 100}, says: "the job exited with 1"},
		{name: "on a volume", exit: 1, df: [2]int64{495, 5}, volume: "vol1", says: "the job exited with 1"},
		{name: "succeeded", df: [2]int64{495, 5}, says: succeededWords},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				w.job = fakeJob{length: time.Minute, exit: tt.exit, files: map[string]string{"output/x": "x"}}
				w.boot = func(_ int, p *fakePod) { p.df = [2]int64{tt.df[0] * 1e8, tt.df[1] * 1e8} }
				w.mem.AddVolume(providers.Volume{ID: "vol1", SizeGB: 200})
				s := spec()
				s.Target.VolumeID = tt.volume
				w.apply(oneRun(s), Options{})
				if got := w.run("run.train").Message; got != tt.says {
					t.Errorf("%q", got)
				}
			})
		})
	}
}
