package config

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/overbrainer/overbrainer/providers"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// Bounds and defaults of a target.
const (
	minDiskGB           = 20
	defaultDiskGB       = 50
	defaultReadyTimeout = 15 * time.Minute
	auto                = "auto"
)

// targetBlock reads a target block into its instances.
func (s *session) targetBlock(d *decl) {
	provider, ok := s.providerOf(d)
	instances, expanded := s.expand(d)
	if !expanded {
		d.failed = true
		return
	}
	ranges := attrRanges(d.block.Body)
	for _, inst := range instances {
		t := &Target{Address: inst.addr, Block: d.name, Key: inst.key, Provider: provider, Range: d.rng, AttrRanges: ranges}
		s.reading(d, inst, func(r *reader) {
			r.failed = !ok
			s.readTarget(r, t)
		})
		s.p.targets[d] = append(s.p.targets[d], t)
		s.p.cfg.Targets[t.Address] = t
	}
}

func (s *session) readTarget(r *reader, t *Target) {
	s.readGPUs(r, t)
	t.GPUCount, _ = r.integer("gpu_count", 1, limits{atLeast: 1, atMost: 64})
	t.DataCenters, _ = r.namesOrAuto("data_centers", "data center IDs", `["EU-RO-1"]`)
	t.Cloud = s.readCloud(r, t)
	s.readImage(r, t)
	t.MinCUDA = r.cuda()
	t.InstallSSHD = r.boolean("install_sshd", true)
	t.ReadyTimeout = r.duration("ready_timeout", defaultReadyTimeout, time.Minute, 24*time.Hour)
	t.WaitForStock = r.duration("wait_for_stock", 0, 0, maxDuration)
	s.readTargetVolume(r, t)
}

func (s *session) readGPUs(r *reader, t *Target) {
	var f field
	t.GPUTypes, f = r.namesOrAuto("gpu_types", "GPU type IDs", `["NVIDIA A40", "NVIDIA L40S"]`)
	t.Auto = len(t.GPUTypes) == 1 && t.GPUTypes[0] == auto
	if f.usable() && len(t.GPUTypes) == 0 {
		r.fail(f.rng, "no GPU types", "`gpu_types` is empty: name the types to try in order, or write \"auto\" for the cheapest that fits")
	}
	t.Model, _ = r.name("model")
	least := r.get("min_vram_gb")
	switch {
	case !least.usable():
	case least.val.Type() == cty.String && least.val.AsString() == "model":
		t.MinVRAMFromModel = true
		if m := r.get("model"); !m.set && !m.bad {
			r.fail(least.rng, "no model", "min_vram_gb = \"model\" needs `model`, a Hugging Face name or a directory, such as model = \"Qwen/Qwen3-4B\"")
		}
	default:
		n, err := convert.Convert(least.val, cty.Number)
		if err != nil {
			r.fail(least.rng, "wrong type", "`min_vram_gb` is a number of GB, or \"model\" for as much as `model` needs; this is %s", friendly(least.val))
			break
		}
		lim := limits{atLeast: 1, atMost: 100_000, whole: true, unit: "GB"}
		gb, ok := lim.ok(n.AsBigFloat())
		if !ok {
			r.fail(least.rng, "out of range", "`min_vram_gb` must be %s; this is %s", lim, showNumber(n.AsBigFloat()))
		}
		t.MinVRAMGB = int(gb)
	}
	price, fp := r.number("max_price_per_hour", 0, limits{above: true, atMost: 10_000, unit: "USD"})
	t.MaxPricePerHour = price
	if f.usable() && !t.Auto {
		for _, only := range []field{least, fp} {
			if only.set {
				r.fail(only.rng, "only with auto", "`%s` chooses among types, so it goes with gpu_types = \"auto\"; here %s lists them", only.name, place(f.rng))
			}
		}
	}
	if m := r.get("model"); m.usable() && !t.MinVRAMFromModel && !least.bad {
		s.report(warnAt(m.rng, "no effect", "`model` tells how much memory is needed, and is looked at only with min_vram_gb = \"model\""))
	}
}

// namesOrAuto reads a list of names, or "auto".
func (r *reader) namesOrAuto(name, what, example string) ([]string, field) {
	f := r.get(name)
	if !f.usable() {
		return nil, f
	}
	if f.val.Type() == cty.String {
		if f.val.AsString() == auto {
			return []string{auto}, f
		}
		r.fail(f.rng, "wrong type", "`%s` is a list of %s, such as %s = %s, or \"auto\"; write %s = [%s]", name, what, name, example, name, quote(f.val.AsString()))
		f.bad = true
		return nil, f
	}
	names, ok := r.strings(f)
	if !ok || f.val.Type().IsMapType() || f.val.Type().IsObjectType() {
		r.fail(f.rng, "wrong type", "`%s` is a list of %s, such as %s = %s, or \"auto\"; this is %s", name, what, name, example, friendly(f.val))
		f.bad = true
		return nil, f
	}
	for i, n := range names {
		switch {
		case strings.TrimSpace(n) == "" || strings.TrimSpace(n) != n:
			r.fail(f.rng, "not usable", "`%s` holds %s, which is empty or has spaces around it", name, quote(n))
			f.bad = true
		case n == auto:
			r.fail(f.rng, "auto in a list", "\"auto\" stands alone: write %s = \"auto\"", name)
			f.bad = true
		case slices.Contains(names[:i], n):
			r.fail(f.rng, "named twice", "`%s` holds %s twice", name, quote(n))
			f.bad = true
		}
	}
	return names, f
}

func (s *session) readCloud(r *reader, t *Target) providers.Cloud {
	otherwise := string(providers.Secure)
	if p := s.p.cfg.Providers[t.Provider]; p != nil {
		if cloud, ok := p.Values["cloud"].(string); ok && (cloud == string(providers.Secure) || cloud == string(providers.Community)) {
			otherwise = cloud
		}
	}
	return providers.Cloud(r.oneOf("cloud", otherwise, string(providers.Secure), string(providers.Community)))
}

func (s *session) readImage(r *reader, t *Target) {
	image, fi := r.name("image")
	template, ft := r.name("template")
	t.Image, t.Template = image, template
	t.Registry, _ = r.name("registry")
	if !fi.set && !ft.set && !fi.bad && !ft.bad && !r.misnamed("image") && !r.misnamed("template") {
		r.fail(r.header, "no image", "%s needs `image`, such as image = \"runpod/pytorch:1.0.2-cu1281-torch280-ubuntu2404\", or `template`", t.Address)
	}
	if fi.usable() && (strings.ContainsAny(image, " \t") || strings.HasPrefix(image, "http")) {
		r.fail(fi.rng, "not an image", "`image` is the name of a container image, such as \"runpod/pytorch:1.0.2-cu1281-torch280-ubuntu2404\"")
	}
	disk, f := r.integer("container_disk_gb", 0, limits{atLeast: minDiskGB, atMost: 100_000, unit: "GB"})
	switch {
	case f.set:
		t.DiskGB, t.DiskFrom = disk, "configuration"
	case ft.set:
		t.DiskFrom = "template"
	default:
		t.DiskGB, t.DiskFrom = defaultDiskGB, "default"
	}
}

var cudaVersion = regexp.MustCompile(`^\d{1,2}(\.\d{1,2})?$`)

func (r *reader) cuda() string {
	v, f := r.str("min_cuda")
	if !f.usable() {
		return ""
	}
	if !cudaVersion.MatchString(v) {
		r.fail(f.rng, "not a version", "`min_cuda` is a CUDA version, such as \"12.8\"; this is %s", quote(v))
		return ""
	}
	if !strings.Contains(v, ".") {
		v += ".0"
	}
	return v
}
