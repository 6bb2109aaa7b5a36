package config

import (
	"github.com/overbrainer/overbrainer/providers"
	"github.com/zclconf/go-cty/cty"
)

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
