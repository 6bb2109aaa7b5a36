package plugin_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/providers/plugin"
)

// eventually waits for something that other processes do.
func eventually(t *testing.T, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %s: %s", limit, what)
		}
	}
}

// gone reports whether a process has ended, reaped or not.
func gone(pid int) bool {
	if syscall.Kill(pid, 0) == syscall.ESRCH {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(after, "Z")
}

// killedParent starts a parent with a plugin, kills it at once or after ready
// says so, and gives the process IDs of both.
func killedParent(t *testing.T, kind, effects string, ready func(child int) bool) (parent, child int) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childEnv+"=parent", "GRANDCHILD="+kind, "EFFECT_DIR="+effects)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	pid, convErr := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || convErr != nil {
		t.Fatalf("parent said %q: %v", line, err)
	}
	if ready != nil {
		eventually(t, 10*time.Second, "effect begun", func() bool { return ready(pid) })
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	return cmd.Process.Pid, pid
}

func socketDirs(t *testing.T, pid int) []string {
	t.Helper()
	found, err := filepath.Glob(fmt.Sprintf("/tmp/ob-%d-*", pid))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestNoChildOutlivesItsParent(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", "")
	for range 3 {
		parent, pid := killedParent(t, "memory", "", nil)
		eventually(t, 5*time.Second, "child gone", func() bool { return gone(pid) })
		if left := socketDirs(t, parent); len(left) > 0 {
			t.Errorf("%s is left", left)
		}
	}
}

// A stopped process cannot see that its parent is gone until the kernel wakes it.
func TestNoStoppedChildOutlivesItsParent(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells a child of its parent's end")
	}
	dir := t.TempDir()
	var stopped int
	_, pid := killedParent(t, "memory", dir, func(child int) bool {
		stopped = child
		return syscall.Kill(child, syscall.SIGSTOP) == nil
	})
	if pid != stopped {
		t.Fatalf("stopped %d, not %d", stopped, pid)
	}
	eventually(t, 5*time.Second, "child gone", func() bool { return gone(pid) })
}

func TestEffectInFlightIsFinishedWithoutParent(t *testing.T) {
	dir := t.TempDir()
	has := func(name string) func() bool {
		return func() bool { _, err := os.Stat(filepath.Join(dir, name)); return err == nil }
	}
	_, pid := killedParent(t, "slow create", dir, func(int) bool { return has("begun")() })
	eventually(t, 5*time.Second, "child gone", func() bool { return gone(pid) })
	if !has("finished")() {
		t.Error("the child ended in the middle of the effect")
	}
}

func TestTerminalSignalsPassBy(t *testing.T) {
	p := mustStart(t, "memory", nil)
	if sid, _, err := syscall.Syscall(syscall.SYS_GETSID, uintptr(p.PID()), 0, 0); err != 0 || int(sid) != p.PID() {
		t.Errorf("session %d, process %d", sid, p.PID())
	}
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if err := syscall.Kill(p.PID(), sig); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.Provider().ListPods(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestCloseEndsAStubbornChild(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", "")
	p := mustStart(t, "stubborn", nil)
	done := make(chan error, 1)
	go func() {
		_, err := p.Provider().CreatePod(context.Background(), providers.CreatePod{GPUType: "NVIDIA A40"})
		done <- err
	}()
	time.Sleep(100 * time.Millisecond)
	begin := time.Now()
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
	<-p.Exited()
	if err := <-done; !providers.Is(err, providers.Ambiguous) {
		t.Errorf("the call in flight: %v", err)
	}
	if left := socketDirs(t, os.Getpid()); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestEnvironmentIsAllowListed(t *testing.T) {
	var log lockedBuffer
	p := mustStart(t, "tells its environment", func(c *plugin.Command) {
		c.Environ = append(c.Environ, "AWS_SECRET=hidden", "HOME=/home/of/test")
		c.Env = append(c.Env, "GIVEN=yes")
		c.Log = &log
	})
	eventually(t, 5*time.Second, "a line", func() bool { return log.String() != "" })
	if want := `secret="" given="yes" home="/home/of/test"`; !strings.Contains(log.String(), want) {
		t.Errorf("got %q", log.String())
	}
	if lines := p.LastLines(); len(lines) != 1 {
		t.Errorf("last lines %q", lines)
	}
}

func TestByHand(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = []string{childEnv + "=memory"}
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), "provider plugin") {
		t.Errorf("%v: %q", err, out)
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
