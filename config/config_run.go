package config

import (
	"time"
)

// Forever is a KeepPod without end.
const Forever time.Duration = -1

// Upload is one file that goes to the pod.
type Upload struct {
	Path   string `json:"path"`   // on the pod, relative to the run's directory
	Source string `json:"source"` // relative to the project, slash-separated
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"` // hex
	Exec   bool   `json:"exec,omitempty"`
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
