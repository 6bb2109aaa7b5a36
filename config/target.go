package config

import (
	"fmt"
	"math"
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
		r := s.reader(d, inst)
		r.failed = !ok
		t := &Target{Address: inst.addr, Block: d.name, Key: inst.key, Provider: provider, Range: d.rng, AttrRanges: ranges}
		s.readTarget(r, t)
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

// readTargetVolume reads the volume, which decides where the pod is.
func (s *session) readTargetVolume(r *reader, t *Target) {
	f := r.get("volume")
	if !f.usable() {
		return
	}
	if f.val.Type() == cty.String {
		t.VolumeID, _ = r.name("volume")
	} else {
		v, ok := s.referenced(r, f, "volume")
		if !ok {
			return
		}
		t.Volume = s.p.cfg.Volumes[v]
	}
	where := place(f.rng)
	if t.Volume != nil {
		where = place(attrOr(t.Volume.AttrRanges, "data_center", t.Volume.Range))
		if t.Provider != "" && t.Volume.Provider != "" && t.Volume.Provider != t.Provider {
			r.fail(f.rng, "another provider's volume", "%s is rented at %s, and %s lies at %s", t.Address, t.Provider, t.Volume.Address, t.Volume.Provider)
		}
	}
	if t.Cloud == providers.Community {
		rng := f.rng
		if c := r.get("cloud"); c.set {
			rng = c.rng
		}
		r.fail(rng, "no volumes there", "community machines cannot mount a network volume, and %s mounts one at %s; use cloud = \"secure\", or no volume", t.Address, place(f.rng))
	}
	centers := r.get("data_centers")
	switch {
	case t.Volume == nil || t.Volume.DataCenter == "":
		if centers.usable() && (len(t.DataCenters) != 1 || t.DataCenters[0] == auto) {
			r.fail(centers.rng, "a volume is in one place", "%s mounts a volume at %s, and pods go where it is: leave `data_centers` out, or name the volume's", t.Address, place(f.rng))
		}
	case centers.usable():
		if len(t.DataCenters) != 1 || t.DataCenters[0] != t.Volume.DataCenter {
			r.fail(centers.rng, "not where the volume is", "%s mounts %s, which lies in %s (%s), and pods go where it is: leave `data_centers` out", t.Address, t.Volume.Address, t.Volume.DataCenter, where)
		}
	default:
		t.DataCenters = []string{t.Volume.DataCenter}
	}
}

// referenced finds the block that a value stands for: target.gpu as a whole,
// not something made of its parts.
func (s *session) referenced(r *reader, f field, kind string) (string, bool) {
	example := r.schema.attr(f.name).example
	addr := ""
	if v := f.val; v.Type().IsObjectType() && v.Type().HasAttribute("address") {
		if a := v.GetAttr("address"); a.Type() == cty.String && a.IsKnown() && !a.IsNull() {
			addr = a.AsString()
		}
	}
	if addr == "" {
		if d := s.p.repeatedRef(r.body.Attributes[f.name].Expr.Variables(), kind); d != nil {
			r.fail(f.rng, "which one?", "%s has for_each or count, so there are several: name one of them, as in %s = %s[each.key]", d.addr(), f.name, d.addr())
			return "", false
		}
		r.fail(f.rng, "not a reference", "`%s` is a reference to a %s block, without quotes, such as %s = %s; this is %s", f.name, kind, f.name, example, friendly(f.val))
		return "", false
	}
	if !strings.HasPrefix(addr, kind+".") {
		r.fail(f.rng, "another kind of block", "`%s` is a reference to a %s block, and this is %s", f.name, kind, addr)
		return "", false
	}
	want, ok := s.whole(addr, kind)
	if !ok {
		// The block has faults, which are reported.
		r.failed = true
		return "", false
	}
	if got, _ := unmark(f.val); !got.RawEquals(want) {
		r.fail(f.rng, "not a whole block", "`%s` is a reference to a %s block as it is declared, and this is made from %s; declare another block instead", f.name, kind, addr)
		return "", false
	}
	return addr, true
}

// whole gives the value of one declared instance by its address.
func (s *session) whole(addr, kind string) (cty.Value, bool) {
	if v, ok := s.wholes[addr]; ok {
		return v, true
	}
	for _, d := range s.p.ofKind(kind) {
		if addr != d.addr() && !strings.HasPrefix(addr, d.addr()+"[") || d.bad || d.failed {
			continue
		}
		v, _ := unmark(s.value(d))
		if !d.repeated {
			s.wholes[addr] = v
			continue
		}
		if v.CanIterateElements() {
			for it := v.ElementIterator(); it.Next(); {
				_, e := it.Element()
				s.wholes[e.GetAttr("address").AsString()] = e
			}
		}
	}
	v, ok := s.wholes[addr]
	return v, ok
}

// targetValue is what expressions see of a target block: what is configured.
func (p *program) targetValue(d *decl) cty.Value {
	var values []cty.Value
	var keys []any
	for _, t := range p.targets[d] {
		values = append(values, t.value())
		keys = append(keys, t.Key)
	}
	return blockValue(d, keys, values)
}

func (t *Target) value() cty.Value {
	volume := t.VolumeID
	if t.Volume != nil {
		volume = t.Volume.Address
	}
	vram := cty.NullVal(cty.String)
	if t.MinVRAMFromModel {
		vram = cty.StringVal("model")
	} else if t.MinVRAMGB > 0 {
		vram = cty.StringVal(fmt.Sprint(t.MinVRAMGB))
	}
	return cty.ObjectVal(map[string]cty.Value{
		"address": cty.StringVal(t.Address), "provider": cty.StringVal(t.Provider),
		"gpu_types": stringsVal(t.GPUTypes), "min_vram_gb": vram, "max_price_per_hour": numberOrNull(t.MaxPricePerHour),
		"gpu_count": cty.NumberIntVal(int64(t.GPUCount)), "data_centers": stringsVal(t.DataCenters),
		"cloud": cty.StringVal(string(t.Cloud)), "image": stringOrNull(t.Image), "template": stringOrNull(t.Template),
		"registry": stringOrNull(t.Registry), "container_disk_gb": numberOrNull(float64(t.DiskGB)), "volume": stringOrNull(volume),
		"min_cuda": stringOrNull(t.MinCUDA), "model": stringOrNull(t.Model), "install_sshd": cty.BoolVal(t.InstallSSHD),
		"ready_timeout": durationOrNull(t.ReadyTimeout), "wait_for_stock": durationOrNull(t.WaitForStock),
	})
}

func stringsVal(list []string) cty.Value {
	if len(list) == 0 {
		return cty.ListValEmpty(cty.String)
	}
	values := make([]cty.Value, len(list))
	for i, s := range list {
		values[i] = cty.StringVal(s)
	}
	return cty.ListVal(values)
}

func stringOrNull(s string) cty.Value {
	if s == "" {
		return cty.NullVal(cty.String)
	}
	return cty.StringVal(s)
}

func numberOrNull(n float64) cty.Value {
	if n == 0 || math.IsNaN(n) || math.IsInf(n, 0) {
		return cty.NullVal(cty.Number)
	}
	return cty.NumberFloatVal(n)
}

func durationOrNull(d time.Duration) cty.Value {
	if d == 0 {
		return cty.NullVal(cty.String)
	}
	return cty.StringVal(formatDuration(d))
}
