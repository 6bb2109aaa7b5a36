package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"time"
)

const (
	// patience is how long one command may take. A run ends by itself before.
	patience = 5 * time.Minute
	// tries is how often recovery is run at most.
	tries = 4
)

// ended is how a command ended.
type ended struct {
	code   int // -1: by a signal, or not in time
	killed bool
	text   string
}

// command starts the binary in the project.
func (w *world) command(out *bytes.Buffer, extra []string, args ...string) *exec.Cmd {
	cmd := exec.Command(w.binary, args...)
	cmd.Dir, cmd.Env = w.dir, append(append([]string{}, w.environ...), extra...)
	cmd.Stdout, cmd.Stderr = out, out
	// What is left of it must not hold the pipes.
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// do runs one command to its end.
func (w *world) do(ctx context.Context, extra []string, args ...string) (ended, error) {
	var out bytes.Buffer
	cmd := w.command(&out, extra, args...)
	if err := cmd.Start(); err != nil {
		return ended{}, err
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	defer stop()
	late := time.AfterFunc(patience, func() { _ = cmd.Process.Signal(syscall.SIGQUIT) })
	defer late.Stop()
	_ = cmd.Wait()
	if ctx.Err() != nil {
		return ended{}, ctx.Err()
	}
	return w.how(cmd, &out), nil
}

func (w *world) how(cmd *exec.Cmd, out *bytes.Buffer) ended {
	status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
	e := ended{code: status.ExitStatus(), text: out.String()}
	e.killed = status.Signaled() && status.Signal() == syscall.SIGKILL
	_ = os.WriteFile(filepath.Join(w.dir, fmt.Sprintf(".output-%d", time.Now().UnixNano())), out.Bytes(), 0o600)
	return e
}

// recover runs apply or destroy until it succeeds, and checks what is left.
func (w *world) recover(ctx context.Context, how string) (found, error) {
	var f found
	var done map[string]bool
	if how == "destroy" {
		_, finished, err := w.book()
		if err != nil {
			return f, err
		}
		done = finished
	}
	var last ended
	for n := 1; ; n++ {
		var err error
		if last, err = w.do(ctx, nil, how, "-auto-approve"); err != nil {
			return f, err
		}
		if last.code == 0 {
			break
		}
		if n == tries {
			f.unfinished++
			f.say("%s ended %d times with %d: %s", how, n, last.code, tail(last.text, 4000))
			break
		}
	}
	err := w.check(ctx, how, done, &f)
	return f, err
}

func tail(text string, n int) string {
	if len(text) > n {
		return "…" + text[len(text)-n:]
	}
	return text
}

var notInName = regexp.MustCompile(`[^a-z0-9]+`)

// keepAside copies the project of a life that went wrong.
func (w *world) keepAside(name string, f found) {
	if f.clean() || w.keep == "" {
		return
	}
	to := filepath.Join(w.keep, notInName.ReplaceAllString(name, "-"))
	_ = os.RemoveAll(to)
	if os.MkdirAll(filepath.Dir(to), 0o755) == nil {
		_ = os.CopyFS(to, os.DirFS(w.dir))
	}
	if book, err := os.ReadFile(w.ledger()); err == nil {
		_ = os.WriteFile(filepath.Join(to, "ledger"), book, 0o644)
	}
	for _, journal := range w.journals() {
		if data, err := os.ReadFile(journal); err == nil {
			_ = os.WriteFile(filepath.Join(to, filepath.Base(journal)), data, 0o644)
		}
	}
}

// journals are the simulator's requests so far.
func (w *world) journals() []string {
	list, _ := filepath.Glob(filepath.Join(filepath.Dir(w.dir), "home", "state", "overbrainer", "sim", "*", "*.jsonl"))
	return list
}
