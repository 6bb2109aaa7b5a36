package job

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

// Spec is what a pod is told about its run when it is created. Times are Unix
// seconds on the provider's clock, 0 for none. A duration of 0 leaves the
// watchdog's own default where the field names one; durations are rounded to
// whole seconds, at least one.
type Spec struct {
	RunID   string
	Lineage string // the state's
	// Attempt is the name of this pod among the run's pods. It tells a restarted
	// container from a new pod on the same volume.
	Attempt string
	WorkDir string // where runs live on the pod: /workspace or on the volume
	RunDir  string // the run's own directory in it
	Version string

	AuthorizedKey string // the run's public client key, one line
	Claim         string // the run's public host key, one line
	// HostKeyPlaceholder is what the provider replaces by the host key: its
	// private part as an OpenSSH PEM file, in base64 without line breaks.
	HostKeyPlaceholder string

	Deadline   int64 // the job's time is over
	SnapshotAt int64 // ask for a snapshot because of the cost
	CostCapAt  int64 // the money is spent

	Overrun       time.Duration // how far past Deadline a fresh lease carries
	BootGrace     time.Duration // 30 m: to start a job
	RetrieveGrace time.Duration // 60 m: to collect after the end
	Interval      time.Duration // 1 m: between two looks of the watchdog
	ProbeWait     time.Duration // 10 s: between two tries to reach the API
	ProbeLimit    time.Duration // 165 s: how long it is tried
	LeaseTTL      time.Duration // 15 m
	SnapshotLead  time.Duration // 15 m: asked so long before the deadline
	SnapshotWait  time.Duration // 15 m: to answer a request
	SeenWait      time.Duration // 3 m: a failed bootstrap may be read for so long
	InstallWait   time.Duration // 3 m: to install openssh-server
	DiskEvery     time.Duration // 1 m: between two measurements of the volume

	// KeepPod is how long the pod stays after its job ended; below 0: until it
	// is deleted.
	KeepPod time.Duration
	// NoSnapshots: the job does not understand requests, so none are made.
	NoSnapshots bool

	VolumeDir string // mount of a network volume, empty without one
	VolumeGB  int

	GPUType  string
	GPUCount int

	// NoInstallSSHD: an image without sshd fails instead of getting one.
	NoInstallSSHD bool

	// GuardEnv is what the provider's shell functions need. It holds no secret.
	GuardEnv map[string]string
}

// MaxEnv is how many variables a create call may carry.
const MaxEnv = 50

// Check says what is missing.
func (s Spec) Check() error {
	switch {
	case s.RunID == "":
		return errors.New("a pod needs its run's ID")
	case !strings.HasPrefix(s.RunDir, "/") || s.RunDir == "/":
		return errors.New("a pod needs an absolute run directory")
	case s.AuthorizedKey == "" || s.Claim == "" || s.HostKeyPlaceholder == "":
		return errors.New("a pod needs its keys")
	case strings.ContainsAny(s.AuthorizedKey+s.Claim+s.RunDir, "\n\x00"):
		return errors.New("a pod's keys and paths are single lines")
	case s.Deadline <= 0 && s.CostCapAt <= 0 && s.KeepPod >= 0:
		return errors.New("a pod needs a deadline")
	}
	return nil
}

// Env is the environment of the create call.
func (s Spec) Env() map[string]string {
	env := map[string]string{
		"OVERBRAINER_RUN_ID":         s.RunID,
		"OVERBRAINER_LINEAGE":        s.Lineage,
		"OVERBRAINER_ATTEMPT":        s.Attempt,
		"OVERBRAINER_WORKDIR":        s.WorkDir,
		"OVERBRAINER_RUN_DIR":        s.RunDir,
		"OVERBRAINER_VERSION":        s.Version,
		"OVERBRAINER_AUTHORIZED_KEY": s.AuthorizedKey,
		"OVERBRAINER_CLAIM":          s.Claim,
		"OVERBRAINER_HOST_KEY":       s.HostKeyPlaceholder,
		"OVERBRAINER_GPU_TYPE":       s.GPUType,
		"OVERBRAINER_VOLUME_DIR":     s.VolumeDir,
		"JUPYTER_DISABLE":            "1",
	}
	for name, value := range map[string]int64{
		"OVERBRAINER_DEADLINE":    s.Deadline,
		"OVERBRAINER_SNAPSHOT_AT": s.SnapshotAt,
		"OVERBRAINER_COST_CAP_AT": s.CostCapAt,
		"OVERBRAINER_VOLUME_GB":   int64(s.VolumeGB),
		"OVERBRAINER_GPU_COUNT":   int64(s.GPUCount),
	} {
		if value > 0 {
			env[name] = strconv.FormatInt(value, 10)
		}
	}
	for name, d := range map[string]time.Duration{
		"OVERBRAINER_OVERRUN":        s.Overrun,
		"OVERBRAINER_BOOT_GRACE":     s.BootGrace,
		"OVERBRAINER_RETRIEVE_GRACE": s.RetrieveGrace,
		"OVERBRAINER_INTERVAL":       s.Interval,
		"OVERBRAINER_PROBE_WAIT":     s.ProbeWait,
		"OVERBRAINER_PROBE_LIMIT":    s.ProbeLimit,
		"OVERBRAINER_LEASE_TTL":      s.LeaseTTL,
		"OVERBRAINER_SNAPSHOT_LEAD":  s.SnapshotLead,
		"OVERBRAINER_SNAPSHOT_WAIT":  s.SnapshotWait,
		"OVERBRAINER_SEEN_WAIT":      s.SeenWait,
		"OVERBRAINER_INSTALL_WAIT":   s.InstallWait,
		"OVERBRAINER_DU_EVERY":       s.DiskEvery,
	} {
		if d > 0 {
			env[name] = seconds(d)
		}
	}
	switch {
	case s.KeepPod < 0:
		env["OVERBRAINER_KEEP_POD_SECONDS"] = "-1"
	case s.KeepPod > 0:
		env["OVERBRAINER_KEEP_POD_SECONDS"] = seconds(s.KeepPod)
	}
	if s.NoSnapshots {
		env["OVERBRAINER_SNAPSHOTS"] = "0"
	}
	if s.NoInstallSSHD {
		env["OVERBRAINER_INSTALL_SSHD"] = "0"
	}
	for name, value := range s.GuardEnv {
		env[name] = value
	}
	for name, value := range env {
		if value == "" {
			delete(env, name)
		}
	}
	return env
}

// seconds is a duration in whole seconds, at least one.
func seconds(d time.Duration) string {
	return strconv.FormatInt(max(1, int64(math.Round(d.Seconds()))), 10)
}
