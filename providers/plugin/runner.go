package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
)

// childRunner runs the child for go-plugin: away from the terminal's signals,
// with a lifeline, and keeping what it said, so that a failed start can be
// explained.
type childRunner struct {
	command  Command
	lifeline *os.File
	tail     *tail
	ended    chan struct{}

	mu      sync.Mutex
	cmd     *exec.Cmd
	family  family
	started bool
	stdout  io.ReadCloser
	stderr  io.ReadCloser
	greeted *firstLine
	waited  error
}

func newChildRunner(c Command, lifeline *os.File) *childRunner {
	return &childRunner{command: c, lifeline: lifeline, tail: newTail(c.Log), ended: make(chan struct{})}
}

// prepare takes from go-plugin's command only the environment it made.
func (r *childRunner) prepare(spec *exec.Cmd) error {
	cmd := exec.Command(r.command.Path, r.command.Args...)
	cmd.Env = append(childEnvironment(r.command.Environ), r.command.Env...)
	cmd.Env = append(cmd.Env, spec.Env...)
	isolate(cmd, r.lifeline)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	r.greeted = &firstLine{ReadCloser: stdout}
	r.cmd, r.stdout, r.stderr = cmd, r.greeted, stderr
	return nil
}

func (r *childRunner) Start(context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.cmd.Start(); err != nil {
		close(r.ended)
		return err
	}
	r.started, r.family = true, familyOf(r.cmd)
	return nil
}

func (r *childRunner) Wait(context.Context) error {
	err := r.cmd.Wait()
	r.mu.Lock()
	r.waited = err
	r.mu.Unlock()
	close(r.ended)
	return err
}

// Kill ends the child and what it started in its session.
func (r *childRunner) Kill(context.Context) error {
	r.stop()
	return nil
}

func (r *childRunner) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.started {
		return
	}
	select {
	case <-r.ended:
	default:
		r.family.kill()
	}
}

func (r *childRunner) Stdout() io.ReadCloser { return r.stdout }
func (r *childRunner) Stderr() io.ReadCloser { return r.stderr }
func (r *childRunner) Name() string          { return r.command.Path }
func (r *childRunner) ID() string            { return strconv.Itoa(r.pid()) }

// Diagnose adds nothing to go-plugin's message, which is not shown.
func (r *childRunner) Diagnose(context.Context) string { return "" }

func (r *childRunner) PluginToHost(network, address string) (string, string, error) {
	return network, address, nil
}

func (r *childRunner) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}

func (r *childRunner) pid() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.started {
		return 0
	}
	return r.cmd.Process.Pid
}

// status says how the child ended: "exit status 2", "signal: killed".
func (r *childRunner) status() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var exit *exec.ExitError
	if r.waited == nil || errors.As(r.waited, &exit) {
		if r.cmd.ProcessState != nil {
			return r.cmd.ProcessState.String()
		}
		return "it never ran"
	}
	return fmt.Sprint(r.waited)
}

// firstLine passes a stream on and keeps the first bytes of it.
type firstLine struct {
	io.ReadCloser
	mu   sync.Mutex
	head []byte
}

func (f *firstLine) Read(p []byte) (int, error) {
	n, err := f.ReadCloser.Read(p)
	f.mu.Lock()
	if keep := min(n, 4096-len(f.head)); keep > 0 {
		f.head = append(f.head, p[:keep]...)
	}
	f.mu.Unlock()
	return n, err
}

func (f *firstLine) text() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return string(f.head)
}
