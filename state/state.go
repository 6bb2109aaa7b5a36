// Package state is the record of everything that overbrainer has made and not
// yet proven gone: runs with their pods, strays and secrets, volumes, claims,
// spend, outputs and the catalog last used. It defines the format, its versions
// and the Store that keeps it. It imports nothing of ours.
//
// docs/state.md tells the invariants; whoever makes an effect keeps them:
// the intent is in the state before the call, the answer before the next one.
package state

import "time"

// Version is the format this program reads and writes. A newer one is refused,
// an older one upgraded after a copy was made.
const Version = 1

// State is the whole document.
type State struct {
	Version            int    `json:"version"`
	OverbrainerVersion string `json:"overbrainer_version"`
	// Lineage is made once and never changes: it tells this project's pods and
	// secrets from another's.
	Lineage string `json:"lineage"`
	// Serial grows by one with every write.
	Serial uint64 `json:"serial"`
	// Journal is the ID of the file beside a document that has its newest
	// changes; "" but in such a document.
	Journal string `json:"journal,omitempty"`
	// Writes are the IDs of the last writes to a remote backend and of copies
	// that were pushed, newest last: whoever lost an answer finds out whether its
	// own was done.
	Writes []string `json:"writes,omitempty"`
	// Resources by address: run.sft["low"], volume.cache.
	Resources map[string]*Resource `json:"resources"`
	// Claims by address, or by a name in angle brackets that is none.
	Claims map[string]Claim `json:"claims,omitempty"`
	// Catalogs is what the last apply used, by provider scope.
	Catalogs map[string]Catalog `json:"catalog,omitempty"`
	// Spend by cap address: what ended runs have cost.
	Spend   map[string]Spend  `json:"spend,omitempty"`
	Outputs map[string]Output `json:"outputs,omitempty"`
}

// Resource is one entry. Exactly one of Run and Volume is set.
type Resource struct {
	Type     string       `json:"type"` // "run" or "volume"
	Provider string       `json:"provider"`
	Run      *RunResource `json:"run,omitempty"`
	Volume   *Volume      `json:"volume,omitempty"`
}

// RunResource holds the runs of one address, oldest first. Older ones stay as
// long as they hold a pod, stray, secret or uncollected result.
type RunResource struct {
	Current string `json:"current"` // run ID
	Runs    []*Run `json:"runs"`
}

// CurrentRun gives the run that the address stands for, nil if there is none.
func (r *RunResource) CurrentRun() *Run { return r.Find(r.Current) }

// Find gives the run with the ID, nil if it is not there.
func (r *RunResource) Find(id string) *Run {
	for _, run := range r.Runs {
		if run.ID == id {
			return run
		}
	}
	return nil
}

// Phase is where a run is. The first two are alive, the others are its end.
type Phase string

// Phases.
const (
	Preparing Phase = "preparing" // a pod is being made ready for it
	Running   Phase = "running"   // the job was started
	Succeeded Phase = "succeeded"
	Failed    Phase = "failed"
	Cancelled Phase = "cancelled"
	Stopped   Phase = "stopped" // ended by itself after a snapshot
)

// Ended reports whether the phase is one of the ends.
func (p Phase) Ended() bool { return p != Preparing && p != Running && p != "" }

// Reason says why a run ended as it did.
type Reason string

// Reasons.
const (
	NoReason          Reason = ""
	ExitCode          Reason = "exit_code"
	NoOutputs         Reason = "no_outputs"
	NoMetrics         Reason = "no_metrics"
	InvalidSnapshot   Reason = "invalid_snapshot" // its proof is not valid
	TimeLimit         Reason = "time_limit"
	CostCap           Reason = "cost_cap"
	StalledOut        Reason = "stalled"
	Lost              Reason = "lost" // gone, and nobody can tell why
	Interrupted       Reason = "interrupted"
	Bootstrap         Reason = "bootstrap"
	WatchdogRefused   Reason = "watchdog"
	NotReady          Reason = "not_ready"
	NoCapacity        Reason = "no_capacity"
	TakenAway         Reason = "taken_away" // ended by the provider
	Unanswered        Reason = "unanswered" // no create was answered clearly
	RequestRefused    Reason = "request_refused"
	NoCredits         Reason = "no_credits"
	UserCancelled     Reason = "cancelled"
	UserStopped       Reason = "requested"
	DiskFull          Reason = "disk"
	PlacementMismatch Reason = "placement_mismatch" // dearer, elsewhere or smaller than asked
	LaunchFailed      Reason = "launch_failed"
	Destroyed         Reason = "destroyed"
)

// Run is one execution of a run block, from its first intent to its last trace.
type Run struct {
	ID          string `json:"id"`
	Phase       Phase  `json:"phase"`
	Reason      Reason `json:"reason,omitempty"`
	Message     string `json:"message,omitempty"` // for people; never text of a server
	ExitCode    *int   `json:"exit_code,omitempty"`
	Fingerprint string `json:"fingerprint"`
	// InputsDigest is the SHA-256 of the run's inputs.json.
	InputsDigest string `json:"inputs_digest,omitempty"`
	Try          int    `json:"try"` // 1 for the first with this fingerprint
	Dir          string `json:"dir"` // relative to the project
	Target       string `json:"target"`
	ResumedFrom  string `json:"resumed_from,omitempty"` // run ID

	CreatedAt time.Time  `json:"created_at"`
	StartedAt *time.Time `json:"started_at,omitempty"` // the job's start
	EndedAt   *time.Time `json:"ended_at,omitempty"`
	// Seconds is how long the job took, in nominal time; 0 = take the times.
	Seconds float64 `json:"seconds,omitempty"`
	// EndUnseen says that nobody saw the job end: EndedAt and Seconds are the most
	// that they can be.
	EndUnseen bool `json:"end_unseen,omitempty"`

	Bounds Bounds `json:"bounds"`
	// Job is what following and collecting need to know of the run's block.
	Job Job `json:"job"`

	// HostKey is the public host key, pinned before any pod exists.
	HostKey string `json:"host_key,omitempty"`
	// ClientKey is the fingerprint of the client key that the pod lets in.
	ClientKey string `json:"client_key,omitempty"`
	// KeySource says where the private client key comes from: "file" or
	// "derived".
	KeySource string `json:"key_source,omitempty"`
	// Holder is user@host of who made the client key.
	Holder string `json:"holder,omitempty"`

	Attempts []*Attempt `json:"attempts,omitempty"`
	// Pod is the pod in use, or the last one until it is proven gone.
	Pod     *Pod        `json:"pod,omitempty"`
	Strays  []Stray     `json:"strays,omitempty"`
	Secrets []SecretRef `json:"secrets,omitempty"`

	// ReservedUSD counts against max_total_usd until the pod is proven gone.
	ReservedUSD float64 `json:"reserved_usd,omitempty"`
	// CostUSD is what ended attempts have cost, by estimate unless CostBasis
	// says "billed".
	CostUSD   float64 `json:"cost_usd"`
	CostBasis string  `json:"cost_basis,omitempty"` // "estimated" or "billed"
	// Settled says that the run holds nothing any more and CostUSD is counted
	// in the cap's Spend.
	Settled bool `json:"settled,omitempty"`

	Snapshot *Snapshot `json:"snapshot,omitempty"`
	// From is the checkpoint of an earlier run of this address that the run went
	// on from; nil: it began at its beginning, or from another address's. It stays
	// the newest there is until the run leaves one of its own.
	From *Checkpoint `json:"from,omitempty"`
	// Previous is the one before the newest of Snapshot and From: what is gone on
	// from where a job that started from the newest failed and came no further.
	Previous *Checkpoint `json:"previous,omitempty"`
	// Unproven is the newest checkpoint that came home, while it is not known to
	// be whole. Nothing goes on from it by itself.
	Unproven *Snapshot `json:"unproven,omitempty"`
	// FullVolumeGB is the size of the network volume that was full when the run
	// ended because of that; 0 where it ended otherwise.
	FullVolumeGB int `json:"full_volume_gb,omitempty"`
	// Retrieved says that verified results are in Dir.
	Retrieved bool `json:"retrieved"`
	// FetchedBy is user@host of who brought them there: Dir is on that machine.
	FetchedBy string `json:"fetched_by,omitempty"`
	// ResultsDigest is the SHA-256 over the verified files' list.
	ResultsDigest string             `json:"results_digest,omitempty"`
	ResultFiles   int                `json:"result_files,omitempty"`
	ResultBytes   int64              `json:"result_bytes,omitempty"`
	Metrics       map[string]float64 `json:"metrics,omitempty"` // last value of each key
	// GPUType and DataCenter are what was rented.
	GPUType    string `json:"gpu_type,omitempty"`
	DataCenter string `json:"data_center,omitempty"`
	PodID      string `json:"pod_id,omitempty"` // of the pod that ran the job
}

// Holds reports whether the run still has something that must not be
// forgotten: a pod, a stray, a secret, an unanswered create or results that
// were not brought home.
func (r *Run) Holds() bool {
	if len(r.Strays) > 0 || len(r.Secrets) > 0 || r.Pod != nil && !r.Pod.Gone() {
		return true
	}
	return r.Unanswered() || !r.Phase.Ended()
}

// BeingDeleted reports whether the run's pod is being deleted, and was not proven
// gone so far.
func (r *Run) BeingDeleted() bool { return r.Pod != nil && r.Pod.State == PodDeleting }

// DeletedEnd is how a run has ended that goes on by the state, and whose pod was
// deleted before its end was written down.
func (r *Run) DeletedEnd() (Phase, Reason) {
	if r.Pod != nil && r.Pod.DeletingFor == string(Destroyed) {
		return Cancelled, Destroyed
	}
	return Failed, Lost
}

// Unanswered reports whether a create call of the run has no clear answer: what
// its pod may cost is not known.
func (r *Run) Unanswered() bool {
	for _, a := range r.Attempts {
		if a.Result == AttemptSent || a.Result == AttemptAmbiguous {
			return true
		}
	}
	return false
}

// Job is what following and collecting a run need to know of its block, so
// that the state alone is enough to end it well.
type Job struct {
	Outputs    []string `json:"outputs,omitempty"` // globs
	AllowEmpty bool     `json:"allow_empty_outputs,omitempty"`
	Metrics    string   `json:"metrics,omitempty"`
	// MetricsRequired: a job that exits 0 without a metric has failed.
	MetricsRequired bool `json:"metrics_required,omitempty"`
	// SnapshotPath is "" for a job that cannot save itself.
	SnapshotPath   string `json:"snapshot_path,omitempty"`
	SnapshotGraceS int    `json:"snapshot_grace_s,omitempty"`
	SnapshotEveryS int    `json:"snapshot_every_s,omitempty"`
	SnapshotSignal string `json:"snapshot_signal,omitempty"`
	PreventDestroy bool   `json:"prevent_destroy,omitempty"`
}

// Bounds is what bounds a run's time and money, in nominal hours and USD.
type Bounds struct {
	Cap           string  `json:"cap"`       // address
	Where         string  `json:"where"`     // file:line of the cap
	MaxHours      float64 `json:"max_hours"` // from the pod's creation
	OverrunHours  float64 `json:"overrun_hours,omitempty"`
	MaxCostUSD    float64 `json:"max_cost_usd,omitempty"`  // 0 = none
	MaxTotalUSD   float64 `json:"max_total_usd,omitempty"` // 0 = none
	BootGraceS    int     `json:"boot_grace_s"`
	ReadyTimeoutS int     `json:"ready_timeout_s,omitempty"`
	RetrieveGrace int     `json:"retrieve_grace_s"`
	StallAfterS   int     `json:"stall_after_s,omitempty"`
	MaxVolumeGB   int     `json:"max_volume_gb,omitempty"`
	// KeepPodS is how long the pod stays after the job's end; -1 = forever.
	KeepPodS int `json:"keep_pod_s,omitempty"`
}

// AttemptResult is what became of one create call.
type AttemptResult string

// Results. AttemptSent and AttemptAmbiguous are unfinished: the pod may exist.
const (
	AttemptSent        AttemptResult = "sent"
	AttemptAmbiguous   AttemptResult = "ambiguous"
	AttemptCreated     AttemptResult = "created"
	AttemptAdopted     AttemptResult = "adopted"
	AttemptUnavailable AttemptResult = "unavailable"
	AttemptForbidden   AttemptResult = "forbidden"
	AttemptNotReady    AttemptResult = "not_ready"
	AttemptRefused     AttemptResult = "refused"
	AttemptRejected    AttemptResult = "rejected"
	// AttemptAbsent: looked for long enough and proven not to exist.
	AttemptAbsent AttemptResult = "absent"
)

// Attempt is one create call, in the state before it is sent.
type Attempt struct {
	Name     string        `json:"name"` // the pod's name: overbrainer-RUN-N
	GPUType  string        `json:"gpu_type"`
	SentAt   time.Time     `json:"sent_at"`
	Deadline *time.Time    `json:"deadline,omitempty"`
	Result   AttemptResult `json:"result"`
	Detail   string        `json:"detail,omitempty"`
	PodID    string        `json:"pod_id,omitempty"`
	// RateUSD is the most an hour may cost: the offer's price, disk included.
	RateUSD float64    `json:"rate_usd,omitempty"`
	EndedAt *time.Time `json:"ended_at,omitempty"`
	CostUSD float64    `json:"cost_usd,omitempty"`
}

// PodState is what we know of a pod.
type PodState string

// States of a pod record.
const (
	PodProvisioning PodState = "provisioning"
	PodReady        PodState = "ready"
	// PodLaunching: the job's start was sent and not answered; only the pod
	// knows whether it runs.
	PodLaunching PodState = "launching"
	PodRunning   PodState = "running"
	PodAwaiting  PodState = "awaiting_retrieval"
	PodKept      PodState = "kept"
	PodDeleting  PodState = "deleting"
	PodDeleted   PodState = "deleted"
)

// Pod is a rented machine.
type Pod struct {
	ID         string   `json:"id"`
	Attempt    string   `json:"attempt"`
	State      PodState `json:"state"`
	GPUType    string   `json:"gpu_type"`
	GPUCount   int      `json:"gpu_count"`
	DataCenter string   `json:"data_center,omitempty"`
	Cloud      string   `json:"cloud,omitempty"`
	// RateUSD is USD an hour as the provider told it, DiskUSD what its
	// container disk adds; RateUSD 0 = not told, but for a Free one.
	RateUSD float64 `json:"rate_usd,omitempty"`
	DiskUSD float64 `json:"disk_usd,omitempty"`
	Free    bool    `json:"free,omitempty"` // costs nothing
	// Speed is how many times as fast as real ones a simulator's hours pass;
	// 0 as 1.
	Speed     float64    `json:"speed,omitempty"`
	CreatedAt time.Time  `json:"created_at"`
	ReadyAt   *time.Time `json:"ready_at,omitempty"`
	Deadline  *time.Time `json:"deadline,omitempty"` // nil: none
	CostCapAt *time.Time `json:"cost_cap_at,omitempty"`
	KeptUntil *time.Time `json:"kept_until,omitempty"`
	SSH       *Endpoint  `json:"ssh,omitempty"`
	VolumeID  string     `json:"volume_id,omitempty"`
	// WorkDir is the run's directory on the pod.
	WorkDir string `json:"work_dir,omitempty"`
	// LeasedUntil is until when a transfer may have renewed the pod's lease, written
	// ahead of time: an upload to a pod without a job, nil once one may have been
	// started, or results that come home past their grace.
	LeasedUntil *time.Time `json:"leased_until,omitempty"`
	// SeenAt is when the provider last did not answer while the pod's end was due, so
	// that its own guard cannot have ended it before, or when it was last heard of
	// later than its bounds let expect.
	SeenAt *time.Time `json:"seen_at,omitempty"`
	// DeletingFor is why its deletion was begun, in a word or a few.
	DeletingFor string     `json:"deleting_for,omitempty"`
	DeletedAt   *time.Time `json:"deleted_at,omitempty"`
	DeletedBy   string     `json:"deleted_by,omitempty"` // client, watchdog, pod_rm, unknown
	SpendUSD    float64    `json:"spend_usd,omitempty"`
}

// Gone reports whether the pod was proven gone.
func (p *Pod) Gone() bool { return p.State == PodDeleted }

// Endpoint is where the pod's sshd answered last.
type Endpoint struct {
	Host string `json:"host"`
	Port int    `json:"port"`
	User string `json:"user"`
}

// Stray is a pod of the run whose deletion was not confirmed.
type Stray struct {
	PodID   string    `json:"pod_id"`
	Name    string    `json:"name,omitempty"`
	RateUSD float64   `json:"rate_usd,omitempty"`
	Since   time.Time `json:"since"`
}

// SecretRef is an account secret of ours. It is in the state before it is
// written; its ID may not be known yet.
type SecretRef struct {
	Name string `json:"name"`
	ID   string `json:"id,omitempty"`
}

// Snapshot is a checkpoint that a job left.
type Snapshot struct {
	Path   string    `json:"path"` // relative to the run's directory
	Step   int64     `json:"step"`
	Reason string    `json:"reason"`
	At     time.Time `json:"at"`
	// Local says that the checkpoint is in the run's local directory, verified.
	Local bool `json:"local"`
	// SHA256 is that of the list of its verified files; "" where it is not known.
	SHA256 string `json:"sha256,omitempty"`
}

// Checkpoint is a snapshot that is here, and whose it is.
type Checkpoint struct {
	RunID  string    `json:"run_id"`
	Dir    string    `json:"dir"` // relative to the project
	Step   int64     `json:"step"`
	At     time.Time `json:"at,omitzero"`
	SHA256 string    `json:"sha256,omitempty"` // as the Snapshot's
}

// Volume is a network volume, ours (Managed) or adopted by its ID.
type Volume struct {
	ID         string  `json:"id,omitempty"` // "" while a create is unanswered
	Name       string  `json:"name"`
	SizeGB     int     `json:"size_gb"`
	DataCenter string  `json:"data_center"`
	Type       string  `json:"type,omitempty"`
	Managed    bool    `json:"managed"`
	Retain     bool    `json:"retain"`
	Pending    string  `json:"pending,omitempty"` // create, grow, delete: sent, not answered
	MonthlyUSD float64 `json:"monthly_usd,omitempty"`
}

// Claim says who works on an address.
type Claim struct {
	ID        string `json:"id"`
	Operation string `json:"operation"` // apply, destroy, attach, …
	Who       string `json:"who"`       // user name
	Host      string `json:"host"`
	PID       int    `json:"pid"`
	// Process tells the process from a later one with the same number.
	Process string    `json:"process,omitempty"`
	Since   time.Time `json:"since"`
	Expires time.Time `json:"expires"`
}

// Spend is what the ended runs of a cap have cost.
type Spend struct {
	USD  float64 `json:"usd"`
	Runs int     `json:"runs"`
}

// Output is a value of an output block as of the last apply.
type Output struct {
	Value     any  `json:"value"`
	Type      any  `json:"type,omitempty"` // cty's JSON form
	Sensitive bool `json:"sensitive,omitempty"`
	// Withheld: the value is sensitive and was not written.
	Withheld bool `json:"withheld,omitempty"`
}

// Catalog is what was offered when it was last used.
type Catalog struct {
	ReadAt time.Time    `json:"read_at"`
	GPUs   []CatalogGPU `json:"gpus"`
}

// CatalogGPU is one type of a Catalog.
type CatalogGPU struct {
	ID          string            `json:"id"`
	VRAMGB      int               `json:"vram_gb,omitempty"`
	MaxCount    int               `json:"max_count,omitempty"`
	Offered     bool              `json:"offered"`
	PriceUSD    float64           `json:"price_usd"` // one GPU, one hour; 0 = unknown
	Stock       string            `json:"stock"`
	DataCenters map[string]string `json:"data_centers,omitempty"` // place → stock
}
