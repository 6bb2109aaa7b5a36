package config

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

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
	Source  string // where people get it; "" = not told
	Range   hcl.Range
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
