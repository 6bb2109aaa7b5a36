//go:build unix

package runpod

import (
	"context"
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
)

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
