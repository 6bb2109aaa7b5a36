package plan

import (
	"errors"
	"fmt"
	"strings"

	"github.com/overbrainer/overbrainer/config"
)

// resolved is a target with what it can be placed on.
type resolved struct {
	provider string
	spec     TargetSpec
	volume   *VolumeSpec
	scope    *scope
	offers   []Offer
	config   *config.Target
	err      error
	reported bool
	// unsized: the VRAM that its model needs is not known, so that nothing can
	// be offered for it.
	unsized bool
}

// target resolves a target once for all runs that use it.
func (b *builder) target(t *config.Target) *resolved {
	if r := b.targets[t.Address]; r != nil {
		return r
	}
	r := &resolved{provider: t.Provider, spec: b.targetSpec(t), config: t}
	r.unsized = t.MinVRAMFromModel && r.spec.Estimate == nil
	b.targets[t.Address] = r
	b.resolved = append(b.resolved, r)
	if v, ok := b.volumes[r.spec.Volume]; ok && r.spec.Volume != "" {
		r.volume = &v
	} else if r.spec.VolumeID != "" {
		r.volume = b.foreignVolume(t, r)
	}
	r.scope = b.scope(t.Provider, r.spec.Query())
	if r.scope.err != nil {
		r.err = r.scope.err
		return r
	}
	r.spec.Free, r.spec.DiskIncluded = r.scope.catalog.Free, r.scope.catalog.DiskIncluded
	if !r.unsized {
		r.offers, r.err = Resolve(r.spec, r.scope.catalog)
	}
	return r
}

func (b *builder) targetSpec(t *config.Target) TargetSpec {
	spec := TargetSpec{
		Address: t.Address, GPUTypes: t.GPUTypes, Auto: t.Auto, MinVRAMGB: t.MinVRAMGB, MaxPricePerHour: t.MaxPricePerHour,
		GPUCount: max(t.GPUCount, 1), DataCenters: t.DataCenters, Cloud: string(t.Cloud), Image: t.Image, Template: t.Template,
		Registry: t.Registry, DiskGB: t.DiskGB, DiskFrom: t.DiskFrom, VolumeID: t.VolumeID, MinCUDA: t.MinCUDA,
		InstallSSHD: t.InstallSSHD, ReadyTimeoutS: int(t.ReadyTimeout.Seconds()), WaitForStockS: int(t.WaitForStock.Seconds()),
	}
	if t.Template != "" {
		b.applyTemplate(t, &spec)
	}
	if t.MinVRAMFromModel {
		b.estimate(t, &spec)
	}
	if t.Volume != nil {
		spec.Volume = t.Volume.Address
		if v, ok := b.volumes[spec.Volume]; ok {
			spec.VolumeID, spec.VolumeGB = v.ID, v.SizeGB
			if len(spec.DataCenters) == 0 && v.DataCenter != "" {
				spec.DataCenters = []string{v.DataCenter}
			}
		}
	}
	return spec
}

// applyTemplate takes the container disk from the template where the
// configuration does not say it, so that what is sent is what is shown.
func (b *builder) applyTemplate(t *config.Target, spec *TargetSpec) {
	tpl, known := b.template(t.Provider, t.Template)
	switch {
	case tpl == nil && known:
		b.errorAt(b.attrRange(t.AttrRanges, "template", t.Range), fmt.Sprintf("there is no template %q", t.Template),
			"The account has no template of that ID; overbrainer pod templates lists those it has.")
	case tpl != nil && spec.DiskGB == 0:
		spec.DiskGB, spec.DiskFrom = tpl.DiskGB, "template"
	}
}

// estimate sets the VRAM floor that the target's model needs.
func (b *builder) estimate(t *config.Target, spec *TargetSpec) {
	rng := b.attrRange(t.AttrRanges, "model", t.Range)
	if b.in.Shapes == nil {
		b.errorAt(rng, "the model's size is not known", `min_vram_gb = "model" needs to look at the model, and nothing can do that here.`)
		return
	}
	shape, err := b.in.Shapes(b.ctx, t.Model)
	if err == nil && shape.Params == 0 {
		err = errors.New("its number of parameters is not known")
	}
	if err != nil {
		b.errorAt(rng, fmt.Sprintf("the size of model %q is not known", t.Model), err.Error()+". Give min_vram_gb as a number instead.")
		return
	}
	e := EstimateVRAM(t.Model, shape, DefaultTraining())
	spec.VRAMFloorGB, spec.Estimate = e.FloorGB, &e
}

// foreignVolume looks up a volume that no block names, and holds the target to
// its data center.
func (b *builder) foreignVolume(t *config.Target, r *resolved) *VolumeSpec {
	rng := b.attrRange(t.AttrRanges, "volume", t.Range)
	a := b.account(t.Provider)
	v := a.volume(r.spec.VolumeID)
	if v == nil {
		if a.hasVolumes {
			b.errorAt(rng, fmt.Sprintf("there is no network volume %q", r.spec.VolumeID), "overbrainer pod volumes lists those that the account has.")
		}
		return &VolumeSpec{ID: r.spec.VolumeID, Provider: t.Provider}
	}
	r.spec.VolumeGB = v.SizeGB
	listed := r.spec.listedPlaces()
	switch {
	case len(listed) == 0:
		r.spec.DataCenters = []string{v.DataCenter}
	case len(listed) > 1 || listed[0] != v.DataCenter:
		b.errorAt(b.attrRange(t.AttrRanges, "data_centers", rng), "the volume is in another data center",
			fmt.Sprintf("Network volume %s is in %s, and only pods there can use it; data_centers says %s.", v.ID, v.DataCenter, strings.Join(listed, ", ")))
	}
	return &VolumeSpec{ID: v.ID, Name: v.Name, SizeGB: v.SizeGB, DataCenter: v.DataCenter, Type: v.Type, Provider: t.Provider}
}
