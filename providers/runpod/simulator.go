package runpod

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"strings"
	"time"

	"github.com/overbrainer/overbrainer/providers"
)

const (
	// simulatorKey is what the simulator takes for a key.
	simulatorKey = "sim-key"
	// simulatorStart is how long a simulator may take until it answers.
	simulatorStart = 20 * time.Second
	simulatorPoll  = 50 * time.Millisecond
)

// simulatorAddress is what a running simulator says of itself in its home.
type simulatorAddress struct {
	URL   string  `json:"url"`
	PID   int     `json:"pid"`
	Build string  `json:"build"`
	Speed float64 `json:"speed"`
}

// useSimulator connects to the project's simulator, which outlives this
// process as a cloud would.
func (p *Provider) useSimulator(ctx context.Context, project string, env func(string) string, cloud providers.Cloud, inBlock bool) (providers.Configured, error) {
	configured := providers.Configured{Simulated: true, Speed: 1}
	attribute := ""
	if inBlock {
		attribute = "simulator"
	} else {
		configured.Problems = append(configured.Problems, providers.Problem{
			Summary: "pods are simulated", Detail: simulatorVariable + "=1 is set, so nothing is rented and nothing costs anything", Warning: true,
		})
	}
	s := &simulator{exe: p.options.Exe, build: p.options.Build, home: simulatorHome(env, project), env: env}
	address, err := s.findOrStart(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return configured, interrupted("start the simulator")
		}
		configured.Problems = append(configured.Problems, providers.Problem{Attribute: attribute, Summary: "the simulator cannot be used", Detail: err.Error()})
		return configured, nil
	}
	base := strings.TrimRight(address.URL, "/")
	if !strings.HasSuffix(base, "/v2") {
		base += "/v2"
	}
	c, err := newClient(base, simulatorKey, "the simulator", p.options.Version, func(string) string { return "" })
	if err != nil {
		return configured, err
	}
	p.use(c, cloud)
	if address.Speed > 0 {
		configured.Speed = address.Speed
	}
	return configured, nil
}

// simulatorHome is the directory of a project's simulator: not a part of the
// project, which may be copied and thrown away.
func simulatorHome(env func(string) string, project string) string {
	base := env("XDG_STATE_HOME")
	if base == "" {
		base = filepath.Join(env("HOME"), ".local", "state")
	}
	if resolved, err := filepath.EvalSymlinks(project); err == nil {
		project = resolved
	}
	sum := sha256.Sum256([]byte(filepath.Clean(project)))
	return filepath.Join(base, "overbrainer", "sim", hex.EncodeToString(sum[:])[:12])
}

// simulator finds or starts one server.
type simulator struct {
	exe, build, home string
	env              func(string) string
}
