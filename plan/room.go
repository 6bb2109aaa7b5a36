package plan

import (
	"fmt"

	"github.com/overbrainer/overbrainer/config"
)

// checkRoom refuses uploads that are larger than the disk they would lie on. The
// image and what a volume holds take room as well, but how much nobody knows here.
func (b *builder) checkRoom(run *config.Run) {
	d := b.uploadDisk(run)
	if d.gb == 0 || run.UploadBytes <= int64(d.gb)<<30 { // a provider's GB may be a GiB
		return
	}
	b.errorAt(b.attrRange(run.AttrRanges, "upload", run.Range), fmt.Sprintf("the uploads of %s do not fit on its pod", run.Address),
		fmt.Sprintf("They are %.1f GB, and %s has %d GB. %s, or upload less.", float64(run.UploadBytes)/1e9, d.name, d.gb, d.mend))
}

// uploadDisk is where the uploads of a run lie on its pod.
type uploadDisk struct {
	name string
	gb   int    // 0: not known
	mend string // what makes it larger
}

func (b *builder) uploadDisk(run *config.Run) uploadDisk {
	t, spec := run.Target, b.target(run.Target).spec
	d := uploadDisk{gb: spec.VolumeGB}
	switch v := t.Volume; {
	case v != nil:
		d.name, d.mend = v.Address, fmt.Sprintf("Raise its size_gb (%s)", where(b.attrRange(v.AttrRanges, "size_gb", v.Range)))
	case t.VolumeID != "":
		d.name, d.mend = "network volume "+t.VolumeID, "Make it larger"
	default:
		at := b.attrRange(t.AttrRanges, "container_disk_gb", t.Range)
		return uploadDisk{name: "the container disk of " + t.Address, gb: spec.DiskGB, mend: fmt.Sprintf("Raise container_disk_gb (%s)", where(at))}
	}
	if run.Cap.MaxVolumeGB > d.gb {
		d.mend += ": max_volume_gb lets it grow only while a job runs"
	}
	return d
}
