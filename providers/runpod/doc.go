// Package runpod is the provider contract on Runpod's REST API, version 2.
//
// It decides what every answer means (see answer.go and create.go), retries
// what may be retried (retry.go), and shows nothing of an answer that is not
// redacted and printable. It holds the account's key in memory and sends it in
// one header to one host.
package runpod

import "time"

// DefaultURL is where the API answers.
const DefaultURL = "https://api.runpod.io/v2"

// Bounds of one exchange.
const (
	connectTimeout = 10 * time.Second
	requestTimeout = 30 * time.Second
	createTimeout  = 60 * time.Second
	keepAlive      = 30 * time.Second

	maxAnswer      = 8 << 20   // bytes of an answer
	maxPods        = 1000      // of one answer, the most that the API gives
	maxPod         = 128 << 10 // bytes of each; its start command is in it twice, some 70 KB in all
	maxStreamError = 64 << 10  // bytes of an answer in a log stream's place
	maxBody        = 64 << 10  // bytes of a create request; the API refuses 100 KB
	maxEnv         = 50        // entries of a create request's environment
	maxDetail      = 300       // characters shown of what the API said
)

// Where things are on a pod, and what its environment tells.
const (
	volumeMount = "/workspace/data"
	envRunID    = "OVERBRAINER_RUN_ID"
	envLineage  = "OVERBRAINER_LINEAGE"
)
