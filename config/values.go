package config

import (
	"fmt"
	"math"
	"time"

	"github.com/zclconf/go-cty/cty"
)

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
