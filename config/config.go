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
	// Inputs are the parts of the fingerprint.
	Inputs     Inputs
	Range      hcl.Range
	AttrRanges map[string]hcl.Range
}
