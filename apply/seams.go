package apply

import (
	"context"
	"io"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/overbrainer/overbrainer/internal/remote"
	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/state"
)

// Rented is a configured provider.
type Rented struct {
	Provider    providers.Provider
	Description providers.Description
	Configured  providers.Configured
}

// RunResult is what a run that ended left, for those who depend on it.
type RunResult struct {
	ID        string
	State     string
	Dir       string // relative to the project
	OutputDir string // relative to the project
	CostUSD   float64
	CostOpen  bool // not known yet: a pod of it bills, or may
	Seconds   float64
	GPUType   string
	Metrics   map[string]float64
}

// Check is a condition that was decided after the plan was executed.
type Check struct {
	Name    string
	Status  string // pass, fail, undecided, error
	Message string
	Where   string
}

// Evaluator gives the values that hang on runs which have ended. Whoever has
// the configuration's text builds it; the engine never parses any.
type Evaluator interface {
	// Run completes the specification of a run with late attributes.
	Run(addr string, done map[string]RunResult) (plan.RunSpec, error)
	// Outputs gives the outputs that are known now.
	Outputs(done map[string]RunResult) (map[string]state.Output, error)
	// Checks decides the conditions that the plan left undecided.
	Checks(done map[string]RunResult) []Check
}

// KeySource makes the two key pairs of a run.
type KeySource interface {
	// Kind is "file" or "derived", for the state.
	Kind() string
	// Make gives a new client key, keeping it where ClientKey finds it.
	Make(dir, lineage, runID string) (ssh.Signer, error)
	// ClientKey gives the key made before; an error matching ErrNoKey when it
	// is not here.
	ClientKey(dir, lineage, runID string) (ssh.Signer, error)
	// HostKey gives the pair that a pod's sshd proves itself with: the public
	// key and the private one as an OpenSSH file. A source that cannot make
	// the same one again makes a new one at each call.
	HostKey(lineage, runID string) (ssh.PublicKey, []byte, error)
	// Forget removes what Make kept.
	Forget(dir string) error
}

// Dialer opens the connection to a pod's run directory.
type Dialer func(ctx context.Context, to Target) (Machine, error)

// Target is what a connection is made to.
type Target struct {
	Host    string
	Port    int
	User    string
	Signer  ssh.Signer
	HostKey ssh.PublicKey
	RunID   string
	RunDir  string // on the pod
	Metrics string // the job's metrics file, relative to RunDir
	Connect time.Duration
	// LeaseEvery is how often a transfer renews the pod's lease, Stall how long
	// one may move no byte.
	LeaseEvery, Stall time.Duration
}

// DialStage says how far a failed connection came.
type DialStage string

// Stages.
const (
	StageConnect   DialStage = "connect"   // nothing listens, or no route
	StageBanner    DialStage = "banner"    // something listens and says nothing
	StageHandshake DialStage = "handshake" // it broke off
	StageHostKey   DialStage = "host_key"  // it is another machine
	StageAuth      DialStage = "auth"      // it refuses the run's key
)

// DialError is why a connection failed.
type DialError struct {
	Stage DialStage
	// Fingerprint is that of the host key that was shown (StageHostKey); "" where
	// it is of another kind.
	Fingerprint string
	Err         error
}

func (e *DialError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *DialError) Unwrap() error { return e.Err }

// Machine is a pod's run directory over one connection.
type Machine interface {
	// Verdict is what the guard on the pod says of itself; ErrLacks where the
	// image lacks what reading it takes.
	Verdict(ctx context.Context) (Verdict, error)
	// Reserve claims the run directory; ErrTaken when it is another run's, and
	// ErrLacks where the image lacks programs that a run takes.
	Reserve(ctx context.Context, claim string) error
	// Upload brings the inputs there and verifies them; ErrPodFull where they find no
	// room.
	Upload(ctx context.Context, u UploadRequest) error
	// Launch starts the job. It is not repeated without looking at Poll first.
	Launch(ctx context.Context, l LaunchRequest) error
	// Poll reads in one round trip what is new since the offsets, and the
	// job's status; of the log at most so many bytes, 0 = as many as one poll takes.
	Poll(ctx context.Context, from Offsets, most int64) (Poll, error)
	// Cancel ends the job's process group.
	Cancel(ctx context.Context) error
	// Unfinished looks for what a job that has ended left running, and whether
	// anything in the run's directory changed since the look before; anew: as if
	// there were none.
	Unfinished(ctx context.Context, anew bool) (Unfinished, error)
	// Manifest lists the files that match globs, and those in always, with
	// their digests; ErrNoJob where no job was ever started.
	Manifest(ctx context.Context, globs, always []string) (Manifest, error)
	// Collect brings the files home and verifies them; nothing gets its final
	// name before everything was verified. Errors match ErrNoSpace, ErrMismatch
	// or ErrNoJob where another try would not help.
	Collect(ctx context.Context, c CollectRequest) (Manifest, error)
	MarkRetrieved(ctx context.Context) error
	MarkSeen(ctx context.Context) error
	RenewLease(ctx context.Context) error
	// RequestSnapshot asks the job to save itself and stop. A request that is
	// there stays, unless overwrite.
	RequestSnapshot(ctx context.Context, reason string, overwrite bool) error
	// Proof gives the snapshot that ended the job; found is false without one,
	// an error matching ErrBadProof when it is not valid for path.
	Proof(ctx context.Context, path string) (s state.Snapshot, found bool, err error)
	// ArmCost writes when the money asks for a snapshot and when it ends.
	ArmCost(ctx context.Context, snapshotAt, capAt time.Time) error
	VolumeGB(ctx context.Context, gb int) error
	// Disk measures, which may take a minute; checkpoint is the pattern of
	// checkpoints, volumeDir where the network volume is, each "" for none.
	Disk(ctx context.Context, checkpoint, volumeDir string) (Disk, error)
	// Checkpoints lists what lies at a pattern of checkpoints, by step. Nothing of
	// it is read.
	Checkpoints(ctx context.Context, pattern string) ([]Checkpoint, error)
	// CopyLogs brings the pod's own logs into a local directory.
	CopyLogs(ctx context.Context, dir string) error
	// RemoveRunDir frees the run's directory on a network volume.
	RemoveRunDir(ctx context.Context) error

	// Done is closed when the connection is lost; Err says why.
	Done() <-chan struct{}
	Err() error
	// Heard is when something last came from the pod.
	Heard() time.Time
	Close() error
}

// Verdict of the guard on a pod.
type Verdict struct {
	State     string // none, ready, failed
	Reason    string
	Bootstrap bool // it failed before the guard's own proof
	GPUCount  int  // -1: it cannot tell
}

// File is one file of a run.
type File = remote.File

// UploadRequest is a transfer to the pod.
type UploadRequest struct {
	Files    []File
	Open     func(File) (io.ReadSeekCloser, error)
	Progress remote.Progress
}

// LaunchRequest is the job.
type LaunchRequest struct {
	Command   []string
	Setup     string
	Env       map[string]string
	Secrets   map[string][]byte
	Metrics   string
	ResumeDir string
	Signal    string
	GPUType   string
	// Vars are the OVERBRAINER_* variables that the job sees.
	Vars map[string]string
}

// Offsets are how far a job's log and metrics were read, in bytes; below zero:
// from so many bytes before the end.
type Offsets struct {
	Log     int64 `json:"log"`
	Metrics int64 `json:"metrics"`
}

// JobState is where a job is.
type JobState string

// States of a job. JobNone: it was never started.
const (
	JobNone      JobState = "none"
	JobRunning   JobState = "running"
	JobExited    JobState = "exited"
	JobCancelled JobState = "cancelled"
	JobLost      JobState = "lost"
)

// Poll is one look at a job.
type Poll struct {
	State JobState
	Exit  int
	// EndedAt is when the job ended, on the pod's clock; zero: not told.
	EndedAt time.Time
	// EndedBy is "deadline" where the pod's own guard ended the job.
	EndedBy string
	// Log is new bytes of the job's log, Metrics new whole lines.
	Log, Metrics []byte
	Next         Offsets
	LogSize      int64
	// LogAnew and MetricsAnew: the file is shorter than it was and is read from
	// its beginning.
	LogAnew, MetricsAnew bool
	More                 bool // there is more to read at once
	// Snapshot is the reason of a snapshot request that is there, "" without.
	Snapshot string
	Proof    bool // the job left its proof
	// DiskUsed and DiskFree are bytes of the container's disk, VolumeUsed of
	// the network volume; -1: not known.
	DiskUsed, DiskFree, VolumeUsed int64
}

// Unfinished is what a job that has ended left running.
type Unfinished struct {
	Processes int
	// Open are files in the run's directory that one of them may write to; the log
	// and the metrics do not count.
	Open    []string
	Changed bool // something there changed since the look before
}

// Manifest is what there is on the pod.
type Manifest struct {
	Files []File
	// Matched counts the files that a glob gave, the job's log not among them.
	Matched int
	// Others names files that matched nothing.
	Others []string
	// Moved is the directory here that takes results whose names are taken in
	// the run's local directory; "" where there are none.
	Moved string
	// Large are those of Files that are large, with what their pod keeps them
	// apart by; it goes back with a Known list as it came.
	Large map[string]string
	// Left are links that the globs may have meant and that lead to nothing that
	// can be fetched, each with why.
	Left []string
}

// CollectRequest is a transfer home.
type CollectRequest struct {
	Dir string // the run's local directory, absolute
	// Globs select the results; Always names further files that are brought
	// along where they exist. The job's log and metrics come along by
	// themselves unless Running.
	Globs    []string
	Always   []string
	Running  bool // the job still runs
	Progress remote.Progress
	// Digests is told of how many files the pod has computed the digests, Renewed
	// that the lease was renewed, which it is until the end. They may be nil and
	// may be called while Progress is.
	Digests func(done, total int)
	Renewed func()
	// Known is the list of an earlier try at an ended job's results; nil has
	// one made.
	Known *Manifest
}

// Disk is a measurement on the pod, in bytes; below 0 = not known.
type Disk struct {
	VolumeUsed     int64
	Checkpoint     int64 // the newest
	CheckpointStep int64
}

// Checkpoint is one that lies on the pod.
type Checkpoint struct {
	Step int64
	Path string // relative to the run's directory
	// Files and Bytes are what it holds, and Stamp changes with that; known of the
	// two newest only.
	Files int
	Bytes int64
	Stamp string
}

// PodProgram is what a pod starts with: the command of the create call and its
// environment.
type PodProgram func(spec PodSpec) (command []string, env map[string]string, err error)

// PodSpec is what the program on the pod is told in the create call. Times are
// real, already scaled.
type PodSpec struct {
	RunID, Lineage string
	Attempt        string
	// RunDir is the run's directory on the pod.
	RunDir string
	// Snapshots: the job understands requests to save itself.
	Snapshots          bool
	AuthorizedKey      string
	Claim              string
	HostKeyPlaceholder string
	Version            string
	Deadline           time.Time // zero: none
	Overrun            time.Duration
	SnapshotAt         time.Time     // zero: none
	CostCapAt          time.Time     // zero: none
	SnapshotLead       time.Duration // asked so long before Deadline
	BootGrace          time.Duration
	RetrieveGrace      time.Duration
	Keep               time.Duration // after the end; -1 = for ever
	VolumeDir          string
	VolumeGB           int
	GPUCount           int
	GPUType            string
	InstallSSHD        bool
	Timing             Timing
	Guard              providers.Guard
}
