package config

import (
	"fmt"

	"github.com/zclconf/go-cty/cty"
)

// Sizes of network volumes in GB.
const (
	minVolumeGB = 10
	maxVolumeGB = 4096
)

// volumeBlock reads a volume block into its instances.
func (s *session) volumeBlock(d *decl) {
	provider, ok := s.providerOf(d)
	instances, expanded := s.expand(d)
	if !expanded {
		d.failed = true
		return
	}
	ranges := attrRanges(d.block.Body)
	for _, inst := range instances {
		v := &Volume{Address: inst.addr, Block: d.name, Key: inst.key, Provider: provider, Range: d.rng, AttrRanges: ranges}
		s.reading(d, inst, func(r *reader) {
			r.failed = !ok
			s.readVolume(r, v)
		})
		s.p.volumes[d] = append(s.p.volumes[d], v)
		s.p.cfg.Volumes[v.Address] = v
	}
}

func (s *session) readVolume(r *reader, v *Volume) {
	v.ID, _ = r.name("id")
	adopted := r.get("id").set
	name, named := r.name("name")
	if v.Name = name; !named.set && !named.bad {
		v.Name = s.p.cfg.Project + "-" + v.Block
		if v.Key != nil {
			v.Name += fmt.Sprintf("-%v", v.Key)
		}
	}
	size, f := r.integer("size_gb", 0, limits{atLeast: minVolumeGB, atMost: maxVolumeGB, unit: "GB"})
	v.SizeGB = size
	if !f.set && !f.bad && !adopted && !r.misnamed("size_gb") {
		r.fail(r.header, "no size_gb", "%s needs `size_gb`, from %d to %d, such as size_gb = 100; or `id`, to use a volume that exists", v.Address, minVolumeGB, maxVolumeGB)
	}
	place, f := r.name("data_center")
	v.DataCenter = place
	if !f.set && !f.bad && !adopted && !r.misnamed("data_center") {
		r.fail(r.header, "no data_center", "%s needs `data_center`, such as data_center = \"EU-RO-1\": a volume stays where it is made, and so do the pods that use it", v.Address)
	}
	v.Type = r.oneOf("type", "", "standard", "high_performance")
	v.Retain = r.boolean("retain", true)
	if f := r.get("retain"); f.usable() && !v.Retain && adopted {
		s.report(warnAt(f.rng, "no effect", "a volume that is adopted by its `id` is never deleted, whatever `retain` says"))
	}
}

// misnamed: the argument is there under a name that is nearly right, which is
// reported already.
func (r *reader) misnamed(name string) bool { return misnamed(name, r.body, r.schema) }

// sameVolumes refuses two blocks that stand for one volume.
func (s *session) sameVolumes() {
	byID, byName := map[string]*Volume{}, map[string]*Volume{}
	for _, d := range s.p.ofKind("volume") {
		for _, v := range s.p.volumes[d] {
			if v.ID != "" {
				key := v.Provider + "\x00" + v.ID
				if first := byID[key]; first != nil {
					s.report(at(attrOr(v.AttrRanges, "id", v.Range), "one volume twice", fmt.Sprintf("%s adopts the volume %s, and so does %s at %s; use the one block in both places", v.Address, quote(v.ID), first.Address, place(attrOr(first.AttrRanges, "id", first.Range)))))
					continue
				}
				byID[key] = v
				continue
			}
			if v.Name == "" || v.DataCenter == "" {
				continue
			}
			key := v.Provider + "\x00" + v.DataCenter + "\x00" + v.Name
			if first := byName[key]; first != nil {
				s.report(at(attrOr(v.AttrRanges, "name", v.Range), "one name twice", fmt.Sprintf("%s and %s at %s have the name %s in the data center %s; a volume is found by its name, so give them different ones", v.Address, first.Address, place(attrOr(first.AttrRanges, "name", first.Range)), quote(v.Name), v.DataCenter)))
				continue
			}
			byName[key] = v
		}
	}
}

// volumeValue is what expressions see of a volume block. The ID of one that
// does not exist yet comes later.
func (s *session) volumeValue(d *decl) cty.Value {
	instances := s.p.volumes[d]
	values := make([]cty.Value, len(instances))
	keys := make([]any, len(instances))
	for i, v := range instances {
		id := cty.UnknownVal(cty.String).Mark(source{v.Address})
		if v.ID != "" {
			id = cty.StringVal(v.ID)
		} else if known, ok := s.volumeID(v.Address); ok {
			id = cty.StringVal(known).Mark(source{v.Address})
		}
		values[i] = cty.ObjectVal(map[string]cty.Value{
			"address": cty.StringVal(v.Address), "id": id, "name": cty.StringVal(v.Name),
			"size_gb": cty.NumberIntVal(int64(v.SizeGB)), "data_center": cty.StringVal(v.DataCenter),
		})
		keys[i] = v.Key
	}
	return blockValue(d, keys, values)
}

func (s *session) volumeID(addr string) (string, bool) {
	if s.base != nil {
		if r, ok := s.results(addr); ok && r.ID != "" {
			return r.ID, true
		}
	}
	if s.p.opt.Volume != nil {
		return s.p.opt.Volume(addr)
	}
	return "", false
}

// blockValue is one object, or an object or tuple of the instances.
func blockValue(d *decl, keys []any, values []cty.Value) cty.Value {
	if !d.repeated {
		if len(values) == 0 {
			return brokenVal
		}
		return values[0]
	}
	if d.block.Body.Attributes["count"] != nil {
		if len(values) == 0 {
			return cty.EmptyTupleVal
		}
		return cty.TupleVal(values)
	}
	m := make(map[string]cty.Value, len(values))
	for i, v := range values {
		m[fmt.Sprint(keys[i])] = v
	}
	return cty.ObjectVal(m)
}
