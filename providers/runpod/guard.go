package runpod

import (
	_ "embed"

	"github.com/overbrainer/overbrainer/providers"
)

//go:embed guard.sh
var guardFunctions string

// guard is the provider's part of the watchdog. On a pod the platform sets
// RUNPOD_API_KEY, a key for this pod alone, and RUNPOD_POD_ID.
func guard(apiURL, version string) providers.Guard {
	return providers.Guard{
		Functions: guardFunctions,
		Env:       map[string]string{"OVERBRAINER_API_URL": apiURL, "OVERBRAINER_VERSION": version},
	}
}
