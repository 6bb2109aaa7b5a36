package config

import (
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/overbrainer/overbrainer/providers"
)

// Target is what a pod is.
type Target struct {
	Address  string
	Block    string
	Key      any
	Provider string
	// GPUTypes in the order tried; ["auto"] with Auto.
	GPUTypes []string
	Auto     bool
	// MinVRAMGB of one GPU; 0 = none. MinVRAMFromModel: as much as Model needs.
	MinVRAMGB        int
	MinVRAMFromModel bool
	// Model is a Hugging Face name, or a directory of the project.
	Model           string
	MaxPricePerHour float64 // USD for one GPU; 0 = none
	GPUCount        int
	// DataCenters: empty = any, ["auto"] = those with stock. The volume's where
	// there is one with a known place.
	DataCenters []string
	Cloud       providers.Cloud
	Image       string
	Template    string
	Registry    string
	// DiskGB is 0 where the template's is used. DiskFrom says where it comes
	// from: "configuration", "template" or "default".
	DiskGB   int
	DiskFrom string
	// Volume is a volume block, VolumeID an existing volume that no block
	// names; at most one is set.
	Volume   *Volume
	VolumeID string
	MinCUDA  string // "12.8"; "" = any
	// InstallSSHD: install an SSH server where the image has none.
	InstallSSHD  bool
	ReadyTimeout time.Duration
	WaitForStock time.Duration // 0 = do not wait
	Range        hcl.Range
	AttrRanges   map[string]hcl.Range
}

// Cap is what may be spent. Money in USD, 0 = no limit; times are nominal.
type Cap struct {
	Address       string
	Block         string
	MaxHours      float64 // > 0, ≤ 720
	MaxCostUSD    float64 // one run
	MaxTotalUSD   float64 // all runs of the cap
	BootGrace     time.Duration
	RetrieveGrace time.Duration
	OverrunHours  float64
	StallAfter    time.Duration // 0 = off
	MaxVolumeGB   int           // 0 = a volume is not grown
	ExpectedHours float64       // 0 = not told
	Range         hcl.Range
	AttrRanges    map[string]hcl.Range
}
