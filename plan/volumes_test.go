package plan

import (
	"context"
	"strings"
	"testing"

	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/state"
)

const withVolume = `
provider "runpod" {}

volume "cache" {
  data_center = "EU-RO-1"
  size_gb     = 100
}

target "gpu" {
  gpu_types = ["NVIDIA A40"]
  image     = "registry.example/train:1.0"
  volume    = volume.cache
}

cap "small" {
  max_hours     = 2
  max_volume_gb = 300
}

run "train" {
  target  = target.gpu
  cap     = cap.small
  command = ["python", "train.py"]
  outputs = ["output/**"]
}
`

func (p *project) hasVolume(v state.Volume) {
	p.state.Lineage = "0123"
	p.state.Resources["volume.cache"] = &state.Resource{Type: "volume", Provider: "runpod", Volume: &v}
	if v.ID != "" {
		p.vols = []providers.Volume{{ID: v.ID, Name: v.Name, SizeGB: v.SizeGB, DataCenter: v.DataCenter, Type: v.Type}}
	}
}

func TestVolumeIsCreatedFirst(t *testing.T) {
	p := newProject(t, withVolume)
	plan := p.plan()
	quiet(t, plan)
	s, run := one(t, plan, "volume.cache"), one(t, plan, "run.train")
	if s.Action != Create || *s.Cost.MonthlyUSD != 7 || *plan.Cost.MonthlyStorageUSD != 7 {
		t.Errorf("%s %+v", s.Action, s.Cost)
	}
	if !has(run.DependsOn, "volume.cache") || run.Run.Target.Volume != "volume.cache" || run.Run.Target.VolumeID != "" || run.Run.Target.VolumeGB != 100 {
		t.Errorf("after %v, target %+v", run.DependsOn, run.Run.Target)
	}
	if o := plan.Offers["run.train"]; len(o) != 1 || strings.Join(o[0].DataCenters, "") != "EU-RO-1" {
		t.Errorf("the volume does not bind the offers: %+v", o)
	}
	// The ceiling holds the volume at the size it may be grown to.
	if v := run.Cost.VolumeUSD; v == nil || *v != *usd(21.0 / 720 * (20.0/60 + 3)) {
		t.Errorf("volume's part %v", v)
	}
}

func TestVolumeChanges(t *testing.T) {
	have := state.Volume{ID: "v1", Name: "proj-cache", SizeGB: 100, DataCenter: "EU-RO-1", Type: "standard", Managed: true, Retain: true}
	change := func(old, new string) string { return strings.Replace(withVolume, old, new, 1) }
	for _, test := range []struct {
		name, hcl string
		volume    func(*state.Volume)
		live      func(*project)
		want      Action
		words     string // of the reason, or of an error where that is empty
		errors    []string
	}{
		{name: "same", hcl: withVolume, want: NoOp, words: "nothing changed"},
		{name: "grow", hcl: change("= 100", "= 250"), want: Grow, words: "from 100 to 250 GB"},
		{name: "shrink", hcl: change("= 100", "= 50"), want: NoOp, errors: []string{"cannot shrink"},
			live: func(p *project) {
				p.write("overbrainer.hcl", strings.Replace(change("= 100", "= 50"), "max_volume_gb = 300", "", 1))
			}},
		{name: "moved and shrunk", hcl: "", want: NoOp, errors: []string{"cannot be moved", "cannot shrink"},
			live: func(p *project) {
				p.write("overbrainer.hcl", `
provider "runpod" {}
volume "cache" {
  data_center = "US-KS-2"
  size_gb     = 50
}
volume "new" {
  data_center = "EU-RO-1"
  size_gb     = 20
}
`)
			}},
		{name: "grown by a run", hcl: withVolume, want: NoOp, words: "nothing changed", live: func(p *project) { p.vols[0].SizeGB = 200 }},
		{name: "other type", hcl: change("size_gb     = 100", "size_gb = 100\n  type = \"high_performance\""), want: NoOp, errors: []string{"cannot change its type"}},
		{name: "deleted elsewhere", hcl: withVolume, want: Create, words: "deleted elsewhere", live: func(p *project) { p.vols = nil }},
		{name: "retained no more", hcl: change("size_gb     = 100", "size_gb = 100\n  retain = false"), want: Refresh, words: "retain is false now"},
		{name: "create unanswered", hcl: withVolume, want: Create, words: "not answered", volume: func(v *state.Volume) { v.ID, v.Pending = "", "create" }},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newProject(t, test.hcl)
			v := have
			if test.volume != nil {
				test.volume(&v)
			}
			p.hasVolume(v)
			if test.live != nil {
				test.live(p)
			}
			plan := p.plan()
			s := one(t, plan, "volume.cache")
			if s.Action != test.want || !strings.Contains(s.Reason, test.words) {
				t.Errorf("%s %q", s.Action, s.Reason)
			}
			for _, words := range test.errors {
				if d := said(t, plan, "error", words); d.Range == nil || d.Snippet == "" {
					t.Errorf("%q has no place", words)
				}
			}
			if plan.Applyable != (len(test.errors) == 0) {
				t.Errorf("applyable %v: %+v", plan.Applyable, plan.Diagnostics)
			}
			if test.name == "moved and shrunk" && one(t, plan, "volume.new").Action != Create {
				t.Error("the rest is not planned")
			}
			if test.name == "grown by a run" {
				said(t, plan, "warning", "Set size_gb = 200")
			}
		})
	}
}

func TestVolumesThatLeave(t *testing.T) {
	only := `provider "runpod" {}` + "\n"
	v := state.Volume{ID: "v1", SizeGB: 500, DataCenter: "EU-RO-1", Managed: true, Retain: true}
	p := newProject(t, only)
	p.hasVolume(v)
	if s := one(t, p.plan(), "volume.cache"); s.Action != Forget || !strings.Contains(s.Reason, "costs $35.00 a month") {
		t.Errorf("%s %q", s.Action, s.Reason)
	}
	v.Retain = false
	p.hasVolume(v)
	if s := one(t, p.plan(), "volume.cache"); s.Action != NoOp || !strings.Contains(s.Reason, "destroy -volumes") {
		t.Errorf("%s %q", s.Action, s.Reason)
	}
	if s := one(t, p.plan(func(in *Input) { in.DestroyVolumes = true }), "volume.cache"); s.Action != Destroy {
		t.Errorf("%s %q", s.Action, s.Reason)
	}
	p.write("overbrainer.hcl", only+"removed {\n  from    = volume.cache\n  destroy = false\n}\n")
	if s := one(t, p.plan(), "volume.cache"); s.Action != Forget {
		t.Errorf("%s %q", s.Action, s.Reason)
	}
}

func TestAdoptedVolume(t *testing.T) {
	p := newProject(t, strings.Replace(withVolume, "  data_center = \"EU-RO-1\"\n  size_gb     = 100", "  id = \"v9\"", 1))
	said(t, p.plan(), "error", `there is no network volume "v9"`)
	p.vols = []providers.Volume{{ID: "v9", Name: "data", SizeGB: 1500, DataCenter: "EU-RO-1", Type: "standard"}}
	plan := p.plan()
	s := one(t, plan, "volume.cache")
	if s.Action != Adopt || s.Volume.SizeGB != 1500 || *s.Cost.MonthlyUSD != 95 {
		t.Errorf("%s %+v %v", s.Action, s.Volume, s.Cost)
	}
	if target := one(t, plan, "run.train").Run.Target; target.VolumeID != "v9" || strings.Join(target.DataCenters, "") != "EU-RO-1" {
		t.Errorf("target %+v", target)
	}
}

func TestHighPerformanceVolumeHasNoKnownPrice(t *testing.T) {
	p := newProject(t, strings.Replace(withVolume, "size_gb     = 100", "size_gb = 100\n  type = \"high_performance\"", 1))
	plan := p.plan()
	if plan.Cost.MonthlyStorageUSD != nil || plan.Cost.MaxUSD != nil {
		t.Errorf("cost %+v", plan.Cost)
	}
}

func TestVolumeByItsIDOnly(t *testing.T) {
	hcl := strings.Replace(withVolume, "volume.cache", `"v7"`, 1)
	hcl = hcl[:strings.Index(hcl, "volume \"cache\"")] + hcl[strings.Index(hcl, "target \"gpu\""):]
	p := newProject(t, hcl)
	said(t, p.plan(), "error", `there is no network volume "v7"`)
	p.vols = []providers.Volume{{ID: "v7", SizeGB: 50, DataCenter: "US-KS-2"}}
	if target := one(t, p.plan(), "run.train").Run.Target; target.VolumeGB != 50 || strings.Join(target.DataCenters, "") != "US-KS-2" {
		t.Errorf("target %+v", target)
	}
}

func TestTemplatesDisk(t *testing.T) {
	hcl := strings.Replace(base, "  image             = \"registry.example/train:1.0\"\n  container_disk_gb = 50\n", "  template = \"tpl_1\"\n", 1)
	p := newProject(t, hcl)
	p.input = func(in *Input) {
		in.Templates = func(context.Context, string) ([]providers.Template, error) {
			return []providers.Template{{ID: "tpl_1", Image: "registry.example/t:2", DiskGB: 200}}, nil
		}
	}
	if target := one(t, p.plan(), "run.train").Run.Target; target.DiskGB != 200 || target.DiskFrom != "template" {
		t.Errorf("target %+v", target)
	}
	p.write("overbrainer.hcl", strings.Replace(hcl, "tpl_1\"", "tpl_1\"\n  container_disk_gb = 80", 1))
	if target := one(t, p.plan(), "run.train").Run.Target; target.DiskGB != 80 || target.DiskFrom != "configuration" {
		t.Errorf("target %+v", target)
	}
	p.write("overbrainer.hcl", strings.Replace(hcl, "tpl_1", "tpl_2", 1))
	said(t, p.plan(), "error", `there is no template "tpl_2"`)
	// Unknown disk: unknown cost, but for the cap.
	p.write("overbrainer.hcl", strings.Replace(hcl, "  max_cost_usd = 3\n", "", 1))
	p.input = nil
	if plan := p.plan(); plan.Cost.MaxUSD != nil {
		t.Errorf("max %v", *plan.Cost.MaxUSD)
	}
}

func TestVRAMFromTheModel(t *testing.T) {
	hcl := strings.Replace(base, `["NVIDIA GeForce RTX 4090", "NVIDIA A40"]`, "\"auto\"\n  min_vram_gb = \"model\"\n  model = \"Qwen/Qwen3-8B\"", 1)
	p := newProject(t, hcl)
	said(t, p.plan(), "error", "the model's size is not known")
	p.input = func(in *Input) {
		in.Shapes = func(context.Context, string) (ModelShape, error) { return qwen8, nil }
	}
	plan := p.plan()
	quiet(t, plan)
	target := one(t, plan, "run.train").Run.Target
	if target.MinVRAMGB != 0 || target.VRAMFloorGB != 32 || target.Estimate == nil || target.Estimate.Weights != 2*qwen8.Params {
		t.Errorf("target %+v", target)
	}
	if o := plan.Offers["run.train"]; len(o) != 2 || o[0].GPUType != "NVIDIA A40" {
		t.Errorf("offers %+v", o)
	}
}
