package plan

import (
	"context"
	"io/fs"
	"time"

	"github.com/overbrainer/overbrainer/config"
	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/state"
)

// Input is everything that a plan is made of.
type Input struct {
	Config  *config.Config
	State   *state.State
	Version string // of overbrainer
	// Now goes into the plan's timestamp, and tells a pod that was just made
	// from one that is gone.
	Now time.Time

	// Catalog reads what a provider offers. It is asked once for each
	// provider, cloud, GPU count and CUDA floor. Nil: the plan has no offers.
	Catalog func(ctx context.Context, provider string, q providers.CatalogQuery) (providers.Catalog, error)
	// Pods and Pod read the account, to compare the state with what exists.
	// Nil: not refreshed.
	Pods func(ctx context.Context, provider string) (providers.PodList, error)
	Pod  func(ctx context.Context, provider, id string) (providers.Pod, error)
	// Reread gives the state as it is when it is asked, which is after the
	// account was read. Nil: State is as it is.
	Reread func(ctx context.Context) (*state.State, error)
	// Holder is who plans. What others work on is theirs to end.
	Holder state.ClaimHolder
	// FreshPod is how young a pod of a provider must be for its absence from
	// the account to mean nothing yet, in real time. Nil: a minute.
	FreshPod func(provider string) time.Duration
	// Secrets reads the names of the account's secrets. Nil: not looked at.
	Secrets func(ctx context.Context, provider string) ([]providers.Secret, error)
	// Volumes and Templates read those of the account. Nil: what hangs on them
	// is unknown.
	Volumes   func(ctx context.Context, provider string) ([]providers.Volume, error)
	Templates func(ctx context.Context, provider string) ([]providers.Template, error)
	// Shapes finds the size of a target's model. Nil: min_vram_gb = "model" is
	// an error where it is needed.
	Shapes ShapeReader
	// Files is the project's directory, to look at results and inputs of
	// earlier runs. Nil: not looked at.
	Files fs.FS
	// Hash gives the SHA-256 in hex of a file of the project. Nil: files of up
	// to 64 MiB are read, larger ones compared by size.
	Hash func(path string) (string, error)

	// Destroy plans the end of everything; DestroyVolumes lets volumes with
	// retain = false go, too.
	Destroy        bool
	DestroyVolumes bool
	// RefreshOnly plans nothing but bringing the state in line with what
	// exists.
	RefreshOnly bool
	// Targets limits the plan to these addresses and what they depend on;
	// Replace runs these again whatever the state says. An address without a
	// key stands for every instance.
	Targets []string
	Replace []string
	// Seen is the catalog that the last plan saw, by scope.
	Seen map[string]CatalogSeen
	// Simulated: no real machine is rented.
	Simulated bool
}
