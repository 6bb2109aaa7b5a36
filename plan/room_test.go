package plan

import (
	"strings"
	"testing"

	"github.com/overbrainer/overbrainer/providers"
)

// TestUploadsThatDoNotFit are an error of the plan where a run is to begin, at the
// upload, with the disk that they would lie on.
func TestUploadsThatDoNotFit(t *testing.T) {
	onVolume := strings.Replace(withVolume, `command = ["python", "train.py"]`, "command = [\"python\", \"train.py\"]\n  upload  = [\"train.py\"]", 1)
	byID := strings.Replace(onVolume, "volume.cache", `"v7"`, 1)
	byID = byID[:strings.Index(byID, "volume \"cache\"")] + byID[strings.Index(byID, "target \"gpu\""):]
	tests := []struct {
		name, hcl string
		gib       float64
		says      []string // nil: nothing
	}{
		{"fit on the disk", base, 50, nil},
		{"larger than the disk", base, 50.01, []string{"the uploads of run.train do not fit on its pod", "They are 53.7 GB, and the container disk of target.gpu has 50 GB. Raise container_disk_gb (overbrainer.hcl:8), or upload less."}},
		{"larger than the disk by default", strings.Replace(base, "  container_disk_gb = 50\n", "", 1), 60, []string{"has 50 GB. Raise container_disk_gb (overbrainer.hcl:4)"}},
		{"fit on the volume", onVolume, 99, nil},
		{"larger than the volume", onVolume, 101, []string{"They are 108.4 GB, and volume.cache has 100 GB. Raise its size_gb (overbrainer.hcl:6): max_volume_gb lets it grow only while a job runs, or upload less."}},
		{"larger than a volume that is named", byID, 101, []string{"and network volume v7 has 50 GB. Make it larger: max_volume_gb"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newProject(t, tt.hcl)
			p.vols = []providers.Volume{{ID: "v7", SizeGB: 50, DataCenter: "EU-RO-1"}}
			large := func(in *Input) {
				in.Config = p.load()
				in.Config.Runs[0].UploadBytes = int64(tt.gib * (1 << 30))
			}
			plan := p.plan(large)
			if tt.says == nil {
				quiet(t, plan)
				return
			}
			d := said(t, plan, "error", tt.says...)
			if d.Range == nil || strings.TrimSpace(d.Snippet) != `upload  = ["train.py"]` {
				t.Errorf("it points to %+v, %q", d.Range, d.Snippet)
			}
			p.did("run.train", nil)
			for _, d := range p.plan(large).Diagnostics {
				if d.Severity == "error" {
					t.Errorf("a run that is done has its inputs: %+v", d)
				}
			}
		})
	}
}
