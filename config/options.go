package config

import (
	"context"
	"encoding/json"
	"time"

	"github.com/overbrainer/overbrainer/providers"
)

// Options is what Load takes from the world around it. The zero value reads
// the directory, knows no provider's schema and no earlier result.
type Options struct {
	// Schema asks a provider for the form of its block. Nil: provider blocks
	// are taken as they are.
	Schema func(ctx context.Context, provider string) (providers.Schema, error)
	// ProviderVersion gives the version of a provider that Schema answered for,
	// which is held against required_providers; "" where it has none. Nil: not
	// checked.
	ProviderVersion func(provider string) string
	// KnownProviders are suggested where Schema does not know a name.
	KnownProviders []string
	Vars           Vars
	// Settled gives the result of an ended run that will not run again. It is
	// called in the order of dependencies, with the run's fingerprint and its
	// lifecycle.rerun; false: the run's attributes are not known yet.
	Settled func(address, fingerprint, rerun string) (RunResult, bool)
	// Volume gives the ID of a volume that exists, by its address.
	Volume func(address string) (id string, ok bool)
	// Hashes remembers digests of files. May be nil. It is called from several
	// goroutines.
	Hashes HashCache
	// Unread leaves files to upload unread, for who plans nothing: it is looked whether
	// they can be. Digests, inputs and fingerprints are empty then.
	Unread bool
	// Version is overbrainer.version and what required_version is held against.
	Version string
	// Sources is the configuration's text by file name. Nil: the files of the
	// directory.
	Sources map[string][]byte
	// Extra is more text of configuration by file name, besides what Sources or
	// the directory holds.
	Extra map[string][]byte
	// Project replaces the name of the directory as the project's name.
	Project string
	// Cwd is path.cwd; "" = the project's directory.
	Cwd string
	// Limit bounds the time of evaluation; 0 = 30 s.
	Limit time.Duration

	steps int   // 0 = maxSteps
	bytes int64 // 0 = maxBytes
	// called is told of each call of a function. May be nil.
	called func(function string)
}

// Vars is where values of variables come from.
type Vars struct {
	// Environ holds NAME=VALUE; only OVERBRAINER_VAR_* is looked at.
	Environ []string
	// Files are the -var-file flags, Flags the -var flags as name=value.
	Files []string
	Flags []string
	// Given holds values as Variable.JSON writes them. They are stronger than
	// everything else, and where it is set the directory's files of variables
	// are not read.
	Given map[string]json.RawMessage
	// MayMiss allows required variables without a value: whatever uses one is
	// checked as far as it goes without it. The Config is then for nothing but
	// its diagnostics.
	MayMiss bool
	// Ask asks a person for a required value; nil: a missing one is an error.
	Ask func(name, description string, sensitive bool) (string, error)
}

// HashKey identifies a file's content without reading it.
type HashKey struct {
	Path    string // absolute
	Size    int64
	MTimeNS int64
	Inode   uint64 // 0 where there is none
}

// HashCache remembers the SHA-256 in hex of files.
type HashCache interface {
	Get(HashKey) (sum string, ok bool)
	Put(HashKey, string)
}

// RunResult is what a run leaves for the expressions of others. Under the
// address of a volume only ID counts.
type RunResult struct {
	ID    string // run ID
	State string
	// Dir and OutputDir are relative to the project, slash-separated.
	Dir       string
	OutputDir string // "": no results are here
	CostUSD   float64
	CostOpen  bool // what it has cost is not known yet: a pod of it bills, or may
	Seconds   float64
	GPUType   string
	Metrics   map[string]float64 // the last value of each key
}
