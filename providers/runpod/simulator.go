package runpod

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/overbrainer/overbrainer/internal/safetext"
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

func (s *simulator) findOrStart(ctx context.Context) (simulatorAddress, error) {
	if a, err := s.find(ctx); err == nil || !errors.Is(err, errNoSimulator) {
		return a, err
	}
	if err := os.MkdirAll(s.home, 0o700); err != nil {
		return simulatorAddress{}, err
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return simulatorAddress{}, err
	}
	defer unlock()
	// Another process may have started it meanwhile.
	if a, err := s.find(ctx); err == nil || !errors.Is(err, errNoSimulator) {
		return a, err
	}
	return s.start(ctx)
}

var errNoSimulator = errors.New("no simulator answers")

// find reads the address and asks whether somebody answers there.
func (s *simulator) find(ctx context.Context) (simulatorAddress, error) {
	var a simulatorAddress
	data, err := os.ReadFile(filepath.Join(s.home, "address.json"))
	if err != nil || json.Unmarshal(data, &a) != nil || checkURL(a.URL) != nil || !s.answers(ctx, a) {
		return a, errNoSimulator
	}
	if a.Build != s.build {
		return a, fmt.Errorf("the simulator that runs for this project (process %d) is of build %s, this is %s; "+
			"end it with overbrainer sim stop, which ends its pods too", a.PID, safetext.Cell(a.Build, 40), s.build)
	}
	return a, nil
}

func (s *simulator) answers(ctx context.Context, a simulatorAddress) bool {
	if a.PID > 0 && errors.Is(syscall.Kill(a.PID, 0), syscall.ESRCH) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(a.URL, "/")+"/v2/openapi.json", nil)
	if err != nil {
		return false
	}
	req.Header.Set("User-Agent", "overbrainer/"+s.build)
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return false
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, maxAnswer))
	return res.Body.Close() == nil
}

// lock lets one process at a time start a simulator.
func (s *simulator) lock(ctx context.Context) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(s.home, "start.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			_ = f.Close()
			return nil, fmt.Errorf("lock the simulator's directory: %w", err)
		}
		if err := realClock().sleep(ctx, simulatorPoll); err != nil {
			_ = f.Close()
			return nil, err
		}
	}
}

// start launches the server in a session of its own and waits until it answers.
func (s *simulator) start(ctx context.Context) (simulatorAddress, error) {
	if s.exe == "" {
		return simulatorAddress{}, errors.New("there is no program that could serve it")
	}
	logPath := filepath.Join(s.home, "serve.log")
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return simulatorAddress{}, err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(s.exe, "sim", "serve", "-home="+s.home)
	cmd.Dir, cmd.Env = s.home, s.environment()
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return simulatorAddress{}, fmt.Errorf("start %s: %w", s.exe, err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	return s.await(ctx, ended, logPath)
}

func (s *simulator) await(ctx context.Context, ended <-chan struct{}, logPath string) (simulatorAddress, error) {
	limit := time.After(simulatorStart)
	for {
		a, err := s.find(ctx)
		if err == nil || !errors.Is(err, errNoSimulator) {
			return a, err
		}
		select {
		case <-ended:
			return a, fmt.Errorf("it ended at once: %s", lastLines(logPath))
		case <-limit:
			return a, fmt.Errorf("it did not answer within %s; its log is %s", simulatorStart, logPath)
		case <-ctx.Done():
			return a, ctx.Err()
		case <-time.After(simulatorPoll):
		}
	}
}

// environment is what a simulator and its pods see of ours: nothing secret.
func (s *simulator) environment() []string {
	var out []string
	for _, name := range []string{
		"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "LANG", "LC_ALL", "TZ",
		"XDG_STATE_HOME", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
	} {
		if v := s.env(name); v != "" {
			out = append(out, name+"="+v)
		}
	}
	return out
}

// lastLines is the end of a log, fit to be shown.
func lastLines(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return "its log cannot be read"
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	if len(lines) > 5 {
		lines = lines[len(lines)-5:]
	}
	text := safetext.Printable(strings.Join(lines, " | "))
	return first(safetext.Cut(safetext.NewRedactor().String(text), maxDetail), "it said nothing")
}
