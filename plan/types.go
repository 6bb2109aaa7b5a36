// Package plan turns a configuration, the state and the live catalog into a
// Plan: what would be done, why, with which offers, at what most and expected
// cost, and what moved in the catalog since the last time. A Plan is data and
// complete: package apply needs nothing else to execute it.
//
// Building a plan changes nothing. The same input gives the same bytes.
package plan

import (
	"encoding/json"
	"time"

	"github.com/overbrainer/overbrainer/config"
)

// FormatVersion is that of the JSON form. A minor bump only adds.
const FormatVersion = "1.1"

// Action is what a step does.
type Action string

// Actions.
const (
	NoOp    Action = "noop"
	Run     Action = "run"     // start the first time
	Rerun   Action = "rerun"   // start again, the old directory is kept
	Resume  Action = "resume"  // start from a snapshot
	Attach  Action = "attach"  // follow a run that goes on
	Collect Action = "collect" // bring home what has ended
	Hold    Action = "hold"    // ended by a user or a limit: not again by itself
	Create  Action = "create"
	Grow    Action = "grow"
	Forget  Action = "forget" // leaves the state, exists on
	Destroy Action = "destroy"
	Sweep   Action = "sweep"   // pods past their deadline, secrets nobody needs
	Adopt   Action = "adopt"   // an existing object enters the state
	Refresh Action = "refresh" // the state is brought in line with what exists
)

// There reports whether a step goes on with a pod that exists.
func (a Action) There() bool { return a == Attach || a == Collect }

// Changes reports whether the action counts as a change for
// -detailed-exitcode.
func (a Action) Changes() bool { return a != NoOp && a != Attach && a != Hold }

// Plan is the whole document.
type Plan struct {
	FormatVersion      string    `json:"format_version"`
	OverbrainerVersion string    `json:"overbrainer_version"`
	Timestamp          time.Time `json:"timestamp"`
	Project            Project   `json:"project"`
	// Destroying says that everything of the project is to go.
	Destroying bool `json:"destroying,omitempty"`
	// RefreshOnly says that the state was compared with what exists, and nothing
	// else.
	RefreshOnly bool `json:"refresh_only,omitempty"`

	// Moves are done before the steps.
	Moves       []Move                `json:"moved,omitempty"`
	Steps       []*Step               `json:"resource_changes"`
	Offers      map[string][]Offer    `json:"offers"` // by run address, in order
	CatalogDiff []CatalogChange       `json:"catalog_diff"`
	Cost        Cost                  `json:"cost"`
	Checks      []CheckResult         `json:"checks"`
	Outputs     map[string]OutputPlan `json:"outputs"`
	// Leftovers are pods, strays, secrets and unanswered creates that exist
	// outside the steps, with what they cost.
	Leftovers   []Leftover   `json:"leftovers"`
	Diagnostics []Diagnostic `json:"diagnostics"`
	Applyable   bool         `json:"applyable"`

	// Catalogs is what the plan saw at its Timestamp, for apply to store.
	Catalogs map[string]CatalogSeen `json:"catalogs,omitempty"`
}

// Move is an entry of the state that gets another address.
type Move struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Project is what a plan belongs to.
type Project struct {
	Name    string `json:"name"`
	Lineage string `json:"lineage,omitempty"` // "" before the first apply
	Serial  uint64 `json:"serial"`
	// StateDigest is the SHA-256 of what was decided from in the state; see
	// Basis.
	StateDigest string `json:"state_digest"`
	// ConfigDigest is the SHA-256 over the configuration's files.
	ConfigDigest string `json:"config_digest"`
	Simulated    bool   `json:"simulated"`
}

// Step is one action on one address.
type Step struct {
	Address string `json:"address"`
	Type    string `json:"type"` // run, volume
	Name    string `json:"name"`
	Index   any    `json:"index,omitempty"` // string or number
	Action  Action `json:"action"`
	// Actions is Action as a list, for readers of the JSON form.
	Actions   []Action `json:"actions"`
	Reason    string   `json:"reason"`
	DependsOn []string `json:"depends_on,omitempty"`

	Before        json.RawMessage `json:"before"`
	After         json.RawMessage `json:"after"`
	AfterUnknown  []string        `json:"after_unknown"`
	ChangedInputs []string        `json:"changed_inputs"`

	// Run is what to do for a run; nil where only its state matters.
	Run *RunSpec `json:"run,omitempty"`
	// RunID is the run in the state that the step is about: the one to attach
	// to, collect, resume, destroy, or that runs again.
	RunID  string      `json:"run_id,omitempty"`
	Volume *VolumeSpec `json:"volume,omitempty"`
	Cost   RunCost     `json:"cost"`
}

// RunSpec is everything that a run needs, in nominal time and USD. Values that
// hang on other runs are absent and listed in Late; the Evaluator gives them
// when those have ended. It holds no secret value.
type RunSpec struct {
	Provider   string                `json:"provider"`
	Target     TargetSpec            `json:"target"`
	Cap        CapSpec               `json:"cap"`
	Command    []string              `json:"command"` // argv; a string became sh -c
	Setup      string                `json:"setup,omitempty"`
	Env        map[string]string     `json:"env,omitempty"`
	Secrets    map[string]SecretSpec `json:"secrets,omitempty"` // by variable
	Uploads    []Upload              `json:"uploads,omitzero"`
	Outputs    []string              `json:"outputs"`
	AllowEmpty bool                  `json:"allow_empty_outputs,omitempty"`
	Metrics    string                `json:"metrics"`
	// MetricsRequired: the run named its metrics file, so none is a failure.
	MetricsRequired bool          `json:"metrics_required,omitempty"`
	Snapshot        *SnapshotSpec `json:"snapshot,omitempty"`
	ResumeFrom      *ResumeSpec   `json:"resume_from,omitempty"`
	// KeepPodS: how long the pod stays after the end; -1 = forever.
	KeepPodS       int  `json:"keep_pod_s,omitempty"`
	PreventDestroy bool `json:"prevent_destroy,omitempty"`
	// Fingerprint is "" while a part hangs on another run.
	Fingerprint string `json:"fingerprint"`
	// Inputs are the named parts of the fingerprint: input → SHA-256.
	Inputs Inputs `json:"inputs"`
	// FilesOf is set in documents only: the run before it whose uploads, and inputs
	// that are files, are this run's as well.
	FilesOf string `json:"files_of,omitempty"`
	// Late are the parts that are absent here and come from the Evaluator:
	// those that hang on other runs, and those that hold a sensitive value.
	Late []string `json:"late,omitempty"`
	// Sensitive are those of Late that hold a sensitive value.
	Sensitive []string `json:"sensitive,omitempty"`
	// Where is file:line of the run's block.
	Where string `json:"where"`
	Try   int    `json:"try"`
}

// TargetSpec is what a pod is.
type TargetSpec struct {
	Address   string   `json:"address"`
	GPUTypes  []string `json:"gpu_types"` // as configured; ["auto"]
	Auto      bool     `json:"auto"`
	MinVRAMGB int      `json:"min_vram_gb,omitempty"`
	// VRAMFloorGB is what the model is estimated to need; it counts where
	// MinVRAMGB is 0. Estimate shows its parts.
	VRAMFloorGB     int       `json:"vram_floor_gb,omitempty"`
	Estimate        *Estimate `json:"vram_estimate,omitempty"`
	MaxPricePerHour float64   `json:"max_price_per_hour,omitempty"`
	GPUCount        int       `json:"gpu_count"`
	DataCenters     []string  `json:"data_centers,omitempty"` // ["auto"], or none = any
	Cloud           string    `json:"cloud"`
	Image           string    `json:"image,omitempty"`
	Template        string    `json:"template,omitempty"`
	Registry        string    `json:"registry,omitempty"`
	DiskGB          int       `json:"container_disk_gb"`
	// DiskFrom says where DiskGB comes from: configuration, template, default.
	DiskFrom      string `json:"container_disk_from"`
	Volume        string `json:"volume,omitempty"`    // address of a volume block
	VolumeID      string `json:"volume_id,omitempty"` // "" until it is created
	VolumeGB      int    `json:"volume_gb,omitempty"`
	MinCUDA       string `json:"min_cuda,omitempty"`
	InstallSSHD   bool   `json:"install_sshd"`
	ReadyTimeoutS int    `json:"ready_timeout_s"`
	WaitForStockS int    `json:"wait_for_stock_s,omitempty"`
	// Free and DiskIncluded are what the catalog says of its prices: a price of
	// 0 is one, and a pod's disk costs nothing besides.
	Free         bool `json:"free,omitempty"`
	DiskIncluded bool `json:"disk_included,omitempty"`
}

// CapSpec is what may be spent, in nominal time.
type CapSpec struct {
	Address        string  `json:"address"`
	Where          string  `json:"where"` // file:line
	MaxHours       float64 `json:"max_hours"`
	MaxCostUSD     float64 `json:"max_cost_usd,omitempty"`  // 0 = none
	MaxTotalUSD    float64 `json:"max_total_usd,omitempty"` // 0 = none
	BootGraceS     int     `json:"boot_grace_s"`
	RetrieveGraceS int     `json:"retrieve_grace_s"`
	OverrunHours   float64 `json:"overrun_hours,omitempty"`
	StallAfterS    int     `json:"stall_after_s,omitempty"`
	MaxVolumeGB    int     `json:"max_volume_gb,omitempty"`
	ExpectedHours  float64 `json:"expected_hours,omitempty"`
}

// SecretSpec says where a secret's value is read at launch.
type SecretSpec struct {
	Name    string   `json:"name"` // of the secret block
	Env     string   `json:"env,omitempty"`
	File    string   `json:"file,omitempty"`
	Command []string `json:"command,omitempty"`
}

// Upload is one file that goes to the pod. Runs with the same upload share one
// list, as they do in the configuration.
type Upload = config.Upload

// Inputs are the named parts of a fingerprint. Runs with the same upload share
// their files.
type Inputs = config.Inputs

// SnapshotSpec is how the job is asked to save itself.
type SnapshotSpec struct {
	Path   string `json:"path"` // "output/checkpoint-{step}" unless set
	GraceS int    `json:"grace_s"`
	EveryS int    `json:"every_s,omitempty"`
	Signal string `json:"signal,omitempty"` // SIGUSR1 …
}

// ResumeSpec names a checkpoint to start from.
type ResumeSpec struct {
	Run   string    `json:"run,omitempty"`    // address of the run that left it
	RunID string    `json:"run_id,omitempty"` // of that run
	Dir   string    `json:"dir,omitempty"`    // local checkpoint, relative to the project
	Step  int64     `json:"step,omitempty"`
	At    time.Time `json:"at,omitzero"` // when it was taken
	// SHA256 is that of the list of its files as they were verified.
	SHA256 string `json:"sha256,omitempty"`
}

// Offer is one GPU type that a run could be placed on, in the order tried.
type Offer struct {
	GPUType  string `json:"gpu_type"`
	GPUCount int    `json:"gpu_count"`
	VRAMGB   int    `json:"vram_gb,omitempty"` // of one GPU
	Cloud    string `json:"cloud"`
	// PriceUSD is an hour of all its GPUs as shown: the ceiling at apply. Nil =
	// unknown.
	PriceUSD *float64 `json:"price_usd"`
	Stock    string   `json:"stock"`
	// DataCenters the create call is bound to; empty = any.
	DataCenters []string `json:"data_centers,omitempty"`
	Places      []Place  `json:"places,omitempty"`
	// Chosen is the one that is expected to be placed.
	Chosen bool `json:"chosen,omitempty"`
	// LongShot is not reported in stock, but cheaper than all that are: it is
	// tried before them.
	LongShot bool `json:"long_shot,omitempty"`
	// Reserve is not in stock and not tried unless a later look shows it there.
	Reserve bool `json:"reserve,omitempty"`
}

// Place is a stock band in one data center.
type Place struct {
	DataCenter string `json:"data_center"`
	Stock      string `json:"stock"`
}

// Cost is the plan's totals in USD. Nil means unknown, never zero.
type Cost struct {
	MaxUSD            *float64           `json:"max_usd"`
	ExpectedUSD       *float64           `json:"expected_usd"`
	HourlyUSD         *float64           `json:"hourly_usd"`
	MonthlyStorageUSD *float64           `json:"monthly_storage_usd"`
	SpentUSD          map[string]float64 `json:"spent_usd"` // by cap
	// Unbounded says why there is no maximum.
	Unbounded string `json:"unbounded,omitempty"`
	// Basis says in words what the maximum is made of.
	Basis string `json:"basis,omitempty"`
}

// RunCost is what one step may cost in USD. Nil means unknown.
type RunCost struct {
	MaxUSD      *float64 `json:"max_usd"`
	ExpectedUSD *float64 `json:"expected_usd"`
	HourlyUSD   *float64 `json:"hourly_usd"` // GPUs and container disk
	// Parts of MaxUSD; GPUs and container disk are absent where a cost cap is
	// what bounds them.
	GPUUSD    *float64 `json:"gpu_usd,omitempty"`
	DiskUSD   *float64 `json:"disk_usd,omitempty"`
	VolumeUSD *float64 `json:"volume_usd,omitempty"`
	// Unbounded says why there is no maximum.
	Unbounded  string   `json:"unbounded,omitempty"`
	MonthlyUSD *float64 `json:"monthly_usd,omitempty"` // of a volume
	ExpectedBy string   `json:"expected_by,omitempty"` // "run RUN", "expected_hours"
}

// CatalogChange is one line of what moved.
type CatalogChange struct {
	GPUType string `json:"gpu_type"`
	Cloud   string `json:"cloud"`
	// GPUCount is what the prices and stocks are for.
	GPUCount int    `json:"gpu_count"`
	Field    string `json:"field"` // price, stock, offered, rank, choice
	// Target whose choice changed (rank, choice).
	Target     string     `json:"target,omitempty"`
	DataCenter string     `json:"data_center,omitempty"`
	Before     any        `json:"before"`
	After      any        `json:"after"`
	Since      *time.Time `json:"since,omitempty"`
}

// CheckResult is the outcome of a check block.
type CheckResult struct {
	Name    string `json:"name"`
	Status  string `json:"status"` // pass, fail, undecided, error
	Message string `json:"message,omitempty"`
	Where   string `json:"where"`
}

// OutputPlan is an output as far as it is known.
type OutputPlan struct {
	Value     any  `json:"value"`
	Type      any  `json:"type,omitempty"`
	Unknown   bool `json:"unknown,omitempty"`
	Sensitive bool `json:"sensitive,omitempty"`
	// Changed: apply would record another value than the state has.
	Changed bool `json:"changed,omitempty"`
}

// Leftover is something that exists, may bill, and is no step's business.
type Leftover struct {
	// Kind: pod (of an ended run, or unknown here), kept, stray, unanswered,
	// secret, stopped, foreign (of another project or checkout).
	Kind    string   `json:"kind"`
	RunID   string   `json:"run_id,omitempty"`
	Address string   `json:"address,omitempty"`
	ID      string   `json:"id,omitempty"`
	Note    string   `json:"note"`
	Hourly  *float64 `json:"hourly_usd"` // nil = unknown
	// MonthlyUSD is set for what costs by the month, such as a stopped pod's
	// disk.
	MonthlyUSD *float64 `json:"monthly_usd,omitempty"`
	// Fix is the command that ends it.
	Fix string `json:"fix,omitempty"`
}

// VolumeSpec is a network volume as configured.
type VolumeSpec struct {
	ID         string `json:"id,omitempty"`
	Name       string `json:"name"`
	SizeGB     int    `json:"size_gb"`
	DataCenter string `json:"data_center"`
	Type       string `json:"type,omitempty"`
	Retain     bool   `json:"retain"`
	Managed    bool   `json:"managed"`
	Provider   string `json:"provider"`
}

// Diagnostic is a warning or error with its place.
type Diagnostic struct {
	Severity string `json:"severity"` // error, warning
	Summary  string `json:"summary"`
	Detail   string `json:"detail,omitempty"`
	Range    *Range `json:"range,omitempty"`
	Snippet  string `json:"snippet,omitempty"`
}

// Range is a place in a file; lines and columns count from 1.
type Range struct {
	Filename string `json:"filename"`
	Start    Pos    `json:"start"`
	End      Pos    `json:"end"`
}

// Pos is a position.
type Pos struct {
	Line   int `json:"line"`
	Column int `json:"column"`
	Byte   int `json:"byte"`
}

// CatalogSeen is a scope's catalog as read by the plan, in state's form.
type CatalogSeen struct {
	// ReadAt is zero in a plan, whose Timestamp tells it.
	ReadAt time.Time `json:"read_at,omitzero"`
	GPUs   []SeenGPU `json:"gpus"`
}

// SeenGPU is one type of it.
type SeenGPU struct {
	ID          string            `json:"id"`
	VRAMGB      int               `json:"vram_gb,omitempty"`
	MaxCount    int               `json:"max_count,omitempty"`
	Offered     bool              `json:"offered"`
	PriceUSD    float64           `json:"price_usd"` // one GPU; 0 = unknown
	Stock       string            `json:"stock"`
	DataCenters map[string]string `json:"data_centers,omitempty"`
}
