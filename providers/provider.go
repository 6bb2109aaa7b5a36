// Package providers is the contract between overbrainer and whoever rents the
// machines: an interface, the values that cross it and the kinds of error. It
// holds no behaviour of its own and imports nothing of ours, so that the core,
// the plugin transport and every provider can share it.
//
// The provider decides what an answer means (the Kind of an Error), the core
// decides what to do about it. A provider keeps no state between calls other
// than its configuration, and never sees the state file.
package providers

import (
	"context"
	"time"
)

// Provider rents machines that answer SSH. Every method may be called
// concurrently. Errors are *Error values; anything else counts as Unknown.
//
// Methods of a part that Description.Capabilities does not list return an
// error of kind Unimplemented.
//
// A method that has an effect finishes a request that it has sent even when ctx
// ends, since the answer says what now exists; it only begins nothing more and
// waits for nothing more. Reads end with ctx.
type Provider interface {
	// Describe says who the provider is. It needs no configuration, no network
	// and no credentials.
	Describe(ctx context.Context) (Description, error)
	// Configure checks the provider's block and gets ready to answer. It is
	// called once, before any call but Describe. Faults of the configuration
	// come back as Problems, not as an error.
	Configure(ctx context.Context, req ConfigureRequest) (Configured, error)

	// Catalog reads what can be rented now.
	Catalog(ctx context.Context, q CatalogQuery) (Catalog, error)

	// CreatePod rents one machine. A kind of Ambiguous means that the machine
	// may exist: the caller looks for Marker in ListPods before it asks again.
	CreatePod(ctx context.Context, req CreatePod) (Pod, error)
	// GetPod reads one pod; kind NotFound only when the provider itself says
	// that it does not know the pod.
	GetPod(ctx context.Context, id string) (Pod, error)
	// ListPods reads every pod of the account, ours or not.
	ListPods(ctx context.Context) (PodList, error)
	// DeletePod ends a pod. It succeeds with existed=false when the provider
	// says that it does not know the pod. Success is not yet proof of absence.
	DeletePod(ctx context.Context, id string) (existed bool, err error)
	// PodLogs streams a pod's log into sink until ctx ends, sink fails or the
	// provider refuses for good.
	PodLogs(ctx context.Context, req LogRequest, sink func(LogLine) error) error

	VolumeService
	SecretService

	// ListTemplates reads the account's pod templates.
	ListTemplates(ctx context.Context) ([]Template, error)
}

// VolumeService manages network volumes (capability CapVolumes).
type VolumeService interface {
	ListVolumes(ctx context.Context) ([]Volume, error)
	GetVolume(ctx context.Context, id string) (Volume, error)
	CreateVolume(ctx context.Context, req CreateVolume) (Volume, error)
	// ResizeVolume grows a volume to sizeGB. Volumes never shrink.
	ResizeVolume(ctx context.Context, id string, sizeGB int) (Volume, error)
	DeleteVolume(ctx context.Context, id string) (existed bool, err error)
}

// SecretService manages account secrets (capability CapSecrets).
type SecretService interface {
	// ListSecrets reads names and IDs; name filters exactly, "" gives all.
	ListSecrets(ctx context.Context, name string) ([]Secret, error)
	// PutSecret stores value under name, replacing what is there.
	PutSecret(ctx context.Context, name, value string) (Secret, error)
	DeleteSecret(ctx context.Context, id string) (existed bool, err error)
}

// Capability names an optional part of the contract.
type Capability string

// Capabilities known to this version of the contract.
const (
	CapVolumes   Capability = "volumes"
	CapSecrets   Capability = "secrets"
	CapTemplates Capability = "templates"
	CapLogs      Capability = "logs"
	// CapGuard: pods can delete themselves, with the functions of Guard.
	CapGuard Capability = "guard"
)

// Description is what a provider says of itself.
type Description struct {
	Name         string
	Version      string
	Schema       Schema
	Capabilities []Capability
	Guard        Guard
	// SecretPlaceholder is the environment value that the provider replaces by
	// a secret's value when a pod boots; %s stands for the secret's name. Empty
	// without CapSecrets.
	SecretPlaceholder string
	// VolumeMount is where a network volume appears in a pod.
	VolumeMount string
	// Environment names the variables that the provider reads. A provider in a
	// process of its own sees no others besides those every program needs.
	Environment []string
}

// Has reports whether the provider has the capability.
func (d Description) Has(c Capability) bool {
	for _, have := range d.Capabilities {
		if have == c {
			return true
		}
	}
	return false
}

// Guard is the provider's part of the watchdog on a pod: the text of two POSIX
// shell functions. They use nothing but curl and what the pod's environment
// gives, and never put a key on a command line.
//
//	provider_probe    prints one word: ready, missing_key, no_curl,
//	                  no_certificates, read_only_key, unreachable or http_CODE;
//	                  ready says that the pod may end itself, not only look
//	provider_delete N asks for the deletion of its own pod by every way there
//	                  is, prints one line for each ("DELETE 204"), and returns
//	                  0 when one was accepted; N tries in a row have failed
//	                  before
type Guard struct {
	Functions string
	// Env is set in the create call for these functions. It holds no secret.
	Env map[string]string
}

// Schema is the form of a provider's block.
type Schema struct {
	Attributes []Attribute
}

// Attribute is one argument of a provider's block.
type Attribute struct {
	Name        string
	Type        AttributeType
	Description string
	Required    bool
	// Sensitive values are never shown and may come from a secret block.
	Sensitive bool
}

// AttributeType is the type of an Attribute.
type AttributeType string

// Types of attributes.
const (
	String AttributeType = "string"
	Bool   AttributeType = "bool"
	Number AttributeType = "number"
)

// ConfigureRequest carries a provider's block and its surroundings.
type ConfigureRequest struct {
	// Values holds the attributes that were set: string, bool or float64.
	Values map[string]any
	// Project is the absolute path of the project's directory.
	Project string
	// Environment holds the variables that the provider asked for; the child
	// process sees only an allow-listed environment of its own.
	Environment map[string]string
}

// Configured is the answer to Configure.
type Configured struct {
	Problems []Problem
	// Simulated says that no real machine is rented and no money spent.
	Simulated bool
	// Speed divides every duration that client and watchdog use; 1 for a real
	// provider. Billing runs as much faster.
	Speed float64
}

// Problem is a fault of the configuration, shown at Attribute's line.
type Problem struct {
	Attribute string
	Summary   string
	Detail    string
	Warning   bool
}

// Marker names whose pod this is. It is given to CreatePod and given back by
// GetPod and ListPods, so that what exists can always be found by asking.
type Marker struct {
	RunID   string
	Lineage string
	// Attempt is the pod's name: overbrainer-RUN-N.
	Attempt string
}

// Cloud is the kind of host.
type Cloud string

// Clouds.
const (
	Secure    Cloud = "secure"
	Community Cloud = "community"
)

// CatalogQuery scopes prices and stock. An empty Cloud is the one that the
// provider's block names.
type CatalogQuery struct {
	Cloud    Cloud
	GPUCount int    // on one machine, ≥ 1
	MinCUDA  string // "12.8" or ""
}

// Catalog is what can be rented at one moment, in the order of the provider.
type Catalog struct {
	GPUs        []GPUType
	DataCenters []DataCenter
	// Free says that nothing here costs anything: a price and a rate of 0 are
	// known to be 0 and disks cost nothing, where else 0 is unknown.
	Free bool
	// DiskIncluded says that the price of a pod holds that of its disk.
	DiskIncluded bool
	// ServerTime is the provider's clock at the answer (zero: not told).
	ServerTime time.Time
}

// Stock is a provider's hint of how many machines are free. It promises
// nothing.
type Stock string

// Stock bands. UnknownStock is any value this version does not know.
const (
	UnknownStock Stock = "unknown"
	NoStock      Stock = "none"
	LowStock     Stock = "low"
	MediumStock  Stock = "medium"
	HighStock    Stock = "high"
)

// In reports whether the band says that there is something.
func (s Stock) In() bool { return s == LowStock || s == MediumStock || s == HighStock }

// GPUType is one row of a catalog, scoped to the query's cloud and count.
type GPUType struct {
	ID       string
	Name     string
	VRAMGB   int
	Offered  bool    // in the query's cloud; unknown counts as offered
	Price    float64 // USD an hour for ONE GPU; 0 = unknown, but see Catalog.Free
	MaxCount int
	Stock    Stock
	// DataCenters lists where the asked configuration is offered.
	DataCenters []PlaceStock
}

// PlaceStock is a stock band in one data center.
type PlaceStock struct {
	DataCenter string
	Stock      Stock
}

// DataCenter is one place.
type DataCenter struct {
	ID          string
	Name        string
	Region      string
	VolumeTypes []string // "standard", "high_performance"; empty: no volumes
	GPUs        []GPUStock
}

// GPUStock is a stock band of one type.
type GPUStock struct {
	GPUType string
	Stock   Stock
}

// CreatePod asks for one machine. Zero values leave a field out; an empty Cloud
// is the one that the provider's block names. The provider adds the Env of its
// Guard and the marker's variables to Env.
type CreatePod struct {
	Marker      Marker
	Image       string
	Template    string // ID
	Registry    string // ID of a registry credential
	Cloud       Cloud
	GPUType     string
	GPUCount    int
	MinCUDA     string
	DiskGB      int
	DataCenters []string
	VolumeID    string
	Env         map[string]string
	Command     []string // exec form
}

// PodStatus is the life of a pod as the provider tells it.
type PodStatus string

// Statuses. UnknownStatus is any value this version does not know.
const (
	UnknownStatus PodStatus = "UNKNOWN"
	Provisioning  PodStatus = "PROVISIONING"
	Starting      PodStatus = "STARTING"
	Running       PodStatus = "RUNNING"
	Exited        PodStatus = "EXITED"
	Errored       PodStatus = "ERROR"
	Terminated    PodStatus = "TERMINATED"
)

// Dead reports whether the pod will not run again by itself.
func (s PodStatus) Dead() bool { return s == Exited || s == Errored || s == Terminated }

// Pod is one machine of the account.
type Pod struct {
	ID          string
	Name        string
	Marker      Marker // zero: not ours
	Status      PodStatus
	RatePerHour float64 // USD for the whole pod; 0 = not told
	GPUType     string
	GPUCount    int
	Cloud       Cloud
	DataCenter  string
	CUDA        string
	DiskGB      int
	// PersistentGB is a disk of the pod's own that outlives a stop; 0 = none.
	PersistentGB int
	VolumeID     string
	SSH          *Endpoint // nil until there is a direct one
	CreatedAt    time.Time
}

// Endpoint is where a pod's sshd answers.
type Endpoint struct {
	Host string
	Port int
	User string
}

// PodList is every pod of the account at one moment.
type PodList struct {
	Pods       []Pod
	ServerTime time.Time // zero: not told
}

// LogSource is the origin of a log line.
type LogSource string

// Sources.
const (
	LogContainer LogSource = "container"
	LogSystem    LogSource = "system"
	LogOwn       LogSource = "overbrainer"
	LogRaw       LogSource = "raw"
)

// LogRequest asks for a pod's log.
type LogRequest struct {
	PodID string
	// Cursor resumes after the line that carried it; "" replays the longest
	// tail the provider has.
	Cursor string
	// Follow keeps the stream open; otherwise it ends when the replay does.
	Follow bool
}

// LogLine is one line. A line with an empty Text only moves the cursor.
type LogLine struct {
	Cursor string
	Time   string // RFC 3339, or ""
	Source LogSource
	Text   string
}

// Volume is a network volume.
type Volume struct {
	ID         string
	Name       string
	SizeGB     int
	DataCenter string
	Type       string // "standard" or "high_performance"
	// MonthlyUSD is what it costs a month; 0 = not known.
	MonthlyUSD float64
}

// CreateVolume asks for a network volume.
type CreateVolume struct {
	Name       string
	SizeGB     int
	DataCenter string
	Type       string // "" = the data center's own
}

// Secret is an account secret; its value is never read back.
type Secret struct {
	ID        string
	Name      string
	CreatedAt time.Time
}

// Template is a pod template.
type Template struct {
	ID     string
	Name   string
	Image  string
	DiskGB int
}
