// Package config turns the HCL of a project into a validated Config: blocks,
// variables, functions, references between blocks, and the fingerprint of each
// run with the inputs that it is made of. Every fault is a diagnostic with its
// place and a hint, and all faults of one pass are reported together.
//
// It reads the project's files and nothing else: no network, no clock, no
// environment, no state. What the state knows comes in through Options.
package config

import (
	"sync"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/overbrainer/overbrainer/providers"
	"github.com/zclconf/go-cty/cty"
)

// Config is a project's configuration. Its exported parts do not change once
// Load has returned.
type Config struct {
	// Dir is the project's directory, absolute.
	Dir string
	// Project is the project's name: that of its directory, unless Options says
	// otherwise.
	Project  string
	Settings Settings
	// Providers, Variables, Secrets and Outputs by name.
	Providers map[string]*Provider
	Variables map[string]*Variable
	Secrets   map[string]*Secret
	Outputs   map[string]*OutputBlock
	// Volumes, Targets and Caps by address: volume.cache, target.gpu["big"].
	Volumes map[string]*Volume
	Targets map[string]*Target
	Caps    map[string]*Cap
	// Runs by address, instances of a block in the order of their keys.
	Runs    []*Run
	Checks  []*CheckBlock
	Moved   []Move
	Removed []Removal

	// Sources is the text of the configuration's files by name. Files of
	// variables are not in it.
	Sources map[string][]byte
	// Digest is the SHA-256 in hex over Sources.
	Digest string

	files map[string]*hcl.File
	prog  *program
	mu    sync.Mutex // one evaluation at a time
}

// Files gives every parsed file by name, for excerpts in diagnostics. It works
// on the Config of a Load that failed, too.
func (c *Config) Files() map[string]*hcl.File { return c.files }

// Run finds a run by its address; nil if there is none.
func (c *Config) Run(address string) *Run {
	for _, run := range c.Runs {
		if run.Address == address {
			return run
		}
	}
	return nil
}

// Settings is the overbrainer block.
type Settings struct {
	RequiredVersion string
	// RequiredProviders by local name.
	RequiredProviders map[string]ProviderRequirement
	Backend           Backend
	Range             hcl.Range
}

// ProviderRequirement is one entry of required_providers.
type ProviderRequirement struct {
	Version string // constraint; "" = any
	Source  string
}

// Backend says where the state is kept.
type Backend struct {
	Type  string // "local" unless configured
	Range hcl.Range
}

// Provider is a provider block.
type Provider struct {
	Name string
	// Values of the attributes that are set: string, bool or float64. Sensitive
	// ones are in it, those that come from a secret block are not.
	Values map[string]any
	// Secrets by attribute: values that are read when the provider is
	// configured.
	Secrets    map[string]*Secret
	Range      hcl.Range
	AttrRanges map[string]hcl.Range
}

// Variable is a variable block with its value.
type Variable struct {
	Name        string
	Description string
	Type        cty.Type
	Sensitive   bool
	Nullable    bool
	// Value has no marks. It is null where nothing was given and null allowed.
	Value cty.Value
	// From says where the value comes from: "default", "OVERBRAINER_VAR_x",
	// "-var", "asked for", or the name of a file.
	From  string
	Range hcl.Range
}

// Secret is a secret block: where a value is read when it is needed. The value
// itself is never in a Config. Exactly one of Env, File and Command is set.
type Secret struct {
	Name string
	Env  string
	// File is absolute, or relative to the project.
	File       string
	Command    []string
	Range      hcl.Range
	AttrRanges map[string]hcl.Range
}

// Volume is one network volume.
type Volume struct {
	Address  string
	Block    string // the block's name
	Key      any    // string, int or nil
	Provider string
	// ID of an existing volume that is adopted; "" = ours to create.
	ID   string
	Name string // at the provider
	// SizeGB and DataCenter are 0 and "" where an adopted volume leaves them
	// out.
	SizeGB     int
	DataCenter string
	Type       string // "standard", "high_performance", "" = the data center's own
	Retain     bool
	Range      hcl.Range
	AttrRanges map[string]hcl.Range
}

// Managed reports whether the volume is created by overbrainer.
func (v *Volume) Managed() bool { return v.ID == "" }

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

// Forever is a KeepPod without end.
const Forever time.Duration = -1

// Run is one run: a run block, or an instance of one.
type Run struct {
	Address string
	Name    string // the block's
	Key     any    // string, int or nil
	Target  *Target
	Cap     *Cap
	// Command is an argv; a string became sh -c.
	Command []string
	Setup   string
	Env     map[string]string
	Secrets map[string]*Secret // by variable
	// Uploads by Path. Runs with the same upload share one slice: do not change
	// it.
	Uploads     []Upload
	UploadBytes int64
	Outputs     []string
	AllowEmpty  bool
	// Metrics is the JSON-lines file, relative to the run's directory;
	// MetricsSet: the configuration names it.
	Metrics    string
	MetricsSet bool
	Snapshot   *Snapshot // nil: no snapshot block
	// ResumeFrom is the address of the run whose snapshot is uploaded.
	ResumeFrom string
	KeepPod    time.Duration // after the job's end; Forever = without end
	Triggers   map[string]string
	// DependsOn holds the addresses of runs and volumes that come first,
	// whether named in depends_on or only referred to. Sorted.
	DependsOn []string
	Lifecycle Lifecycle
	// Late names the parts that hang on runs that have not ended, or on volumes
	// that do not exist yet: "command", "env LR", "setup", "triggers x",
	// "resume_from". They are absent here; Config.Late gives them. Sorted.
	Late []string
	// Sensitive names the parts that hold a sensitive value, in the same words.
	// They are here, and must not be shown or stored. Sorted.
	Sensitive []string
	// Fingerprint is the SHA-256 in hex over everything that decides what the
	// run does; "" while Late is not empty.
	Fingerprint string
	// Inputs are the parts of the fingerprint: name → SHA-256 in hex. Names:
	// "command", "setup", "env X", "secret X", "file PATH", "image",
	// "template", "gpu_count", "resume_from", "trigger X"; with very many files
	// "files DIR/" stands for all below a directory.
	Inputs     map[string]string
	Range      hcl.Range
	AttrRanges map[string]hcl.Range
}

// Upload is one file that goes to the pod.
type Upload struct {
	Path   string // on the pod, relative to the run's directory
	Source string // relative to the project, slash-separated
	Size   int64
	SHA256 string // hex
	Exec   bool
}

// Snapshot is how a job is asked to save itself.
type Snapshot struct {
	Path   string        // where it leaves a checkpoint; {step} stands for the step
	Grace  time.Duration // from the request to the signal's last word
	Every  time.Duration // how often the newest checkpoint is brought home; 0 = never
	Signal string        // "SIGUSR1"; "" = none, the request file only
}

// Lifecycle is a run's lifecycle block.
type Lifecycle struct {
	Rerun          string // "on_failure", "on_change", "manual"
	PreventDestroy bool
}

// OutputBlock is an output block; EvalOutputs gives its value.
type OutputBlock struct {
	Name        string
	Description string
	Sensitive   bool
	Range       hcl.Range
}

// CheckBlock is a check block; EvalChecks decides it.
type CheckBlock struct {
	Name  string
	Range hcl.Range
}

// Move is a moved block. Addresses may lack a key.
type Move struct {
	From, To string
	Range    hcl.Range
}

// Removal is a removed block.
type Removal struct {
	From string
	// Destroy: end what is there; otherwise it is only forgotten.
	Destroy bool
	Range   hcl.Range
}
