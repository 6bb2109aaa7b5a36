package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/overbrainer/overbrainer/state"
)

// befalls is what may befall an apply from outside: how it is begun, what
// befalls it, and the exit codes that it may then end with.
var befalls = []struct {
	name  string
	begin func(*troubled)
	meet  func(*troubled)
	exits []int
}{
	{"the provider is killed", plainly, killProvider, []int{0}},
	{"SIGHUP", plainly, func(x *troubled) { _ = x.cmd.Process.Signal(syscall.SIGHUP) }, []int{130, 0}},
	{"nobody reads the output", throughPipe, func(x *troubled) { _ = x.reader.Close() }, []int{130, 0, 1}},
	{"the terminal is closed", onTerminal, func(x *troubled) { _ = x.master.Close() }, []int{130, 0, 1}},
}

// phases are where it does. Each ready reports that the apply is there.
var phases = []struct {
	name  string
	fault string
	ready func(*troubled) bool
}{
	{"create", "429:3", func(x *troubled) bool { return len(x.calls("create pod")) > 0 }},
	{"boot", "pull-slow:60", func(x *troubled) bool { r := x.begun(); return r != nil && r.Pod != nil }},
	{"follow", "", func(x *troubled) bool { r := x.begun(); return r != nil && r.Phase == state.Running }},
	{"download", "", func(x *troubled) bool {
		if r := x.begun(); !x.slowed && r != nil && r.Phase == state.Running {
			x.must(0, "sim", "fault", "ssh-slow:400000")
			x.slowed = true
		}
		found, _ := filepath.Glob(filepath.Join(x.dir, "runs", "*", ".partial", "*"))
		return len(found) > 0
	}},
	{"delete", "delete-500", func(x *troubled) bool { return len(x.calls("delete pod")) > 0 }},
}

// TestTroubleLosesNothing: whatever befalls an apply in whichever phase, it
// ends or goes on, takes its provider with it, and the next apply finishes the
// same run on the same account; nothing is left in it.
func TestTroubleLosesNothing(t *testing.T) {
	binary := build(t)
	for i, trouble := range befalls {
		for j, phase := range phases {
			if testing.Short() && j != (i+1)%len(phases) {
				continue
			}
			t.Run(trouble.name+"/"+phase.name, func(t *testing.T) {
				t.Parallel()
				c := answersCase{changes: []string{
					"echo good >output/x", "sleep 1 && head -c 3000000 /dev/urandom >output/big && sha256sum output/big && echo good >output/x",
				}}
				x := &troubled{answersWorld: newAnswersWorld(t, binary, c)}
				if phase.fault != "" {
					x.must(0, "sim", "fault", phase.fault)
				}
				trouble.begin(x)
				x.until("phase "+phase.name, func() bool { return phase.ready(x) })
				trouble.meet(x)
				x.ends(trouble.exits)
				x.recovers()
			})
		}
	}
}

// troubled is an apply that something befalls.
type troubled struct {
	*answersWorld
	cmd    *exec.Cmd
	told   bytes.Buffer
	master *os.File
	reader *os.File
	slowed bool
}

func (x *troubled) command() *exec.Cmd {
	x.cmd = exec.Command(x.binary, "apply", "-auto-approve")
	x.cmd.Dir, x.cmd.Env = x.dir, append(x.environ, "TERM=xterm")
	return x.cmd
}

func (x *troubled) start() {
	x.t.Helper()
	if err := x.cmd.Start(); err != nil {
		x.t.Fatal(err)
	}
	x.t.Cleanup(func() { _ = x.cmd.Process.Kill() })
}

func plainly(x *troubled) {
	x.command().Stderr = &x.told
	x.start()
}

// throughPipe gives it a standard output that is read until somebody has had
// enough.
func throughPipe(x *troubled) {
	r, w, err := os.Pipe()
	if err != nil {
		x.t.Fatal(err)
	}
	x.command().Stdout, x.cmd.Stderr = w, &x.told
	x.cmd.Args = append(x.cmd.Args, "-json") // it goes on writing
	x.start()
	_ = w.Close()
	x.reader = r
	go func() { _, _ = io.Copy(io.Discard, r) }()
}

// onTerminal gives it a terminal of its own.
func onTerminal(x *troubled) {
	master, slave := terminal(x.t)
	x.master = master
	x.command().Stdin, x.cmd.Stdout, x.cmd.Stderr = slave, slave, slave
	x.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	x.start()
	_ = slave.Close()
	go func() { _, _ = io.Copy(io.Discard, master) }()
}

// terminal makes a terminal: the end that a person has, and the program's.
func terminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("CI needs a terminal: %v", err)
		}
		t.Skipf("there are no terminals here: %v", err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return master, slave
}

// providers are the processes of the provider that the apply started.
func (x *troubled) providers() []int {
	var out []int
	dirs, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range dirs {
		line, _ := os.ReadFile(file)
		environ, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "environ"))
		args := strings.Split(string(line), "\x00")
		if args[0] != x.binary || len(args) < 2 || args[1] != "provider" || !bytes.Contains(environ, []byte(filepath.Dir(x.dir)+"/")) {
			continue
		}
		var pid int
		if _, err := fmt.Sscanf(file, "/proc/%d/", &pid); err == nil {
			out = append(out, pid)
		}
	}
	return out
}

func killProvider(x *troubled) {
	found := x.providers()
	if len(found) == 0 {
		x.t.Fatal("no provider's process was found")
	}
	for _, pid := range found {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// begun is the run as the state has it; nil before it is there.
func (x *troubled) begun() *state.Run {
	if _, err := os.Stat(filepath.Join(x.dir, "overbrainer.state.json")); err != nil {
		return nil
	}
	if r := x.state().Resources["run.train"]; r != nil && r.Run != nil {
		return r.Run.CurrentRun()
	}
	return nil
}

// ends waits for the apply and for its provider.
func (x *troubled) ends(exits []int) {
	x.t.Helper()
	ended := make(chan struct{})
	go func() { _ = x.cmd.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(2 * time.Minute):
		x.t.Fatalf("it does not end:\n%s", x.told.String())
	}
	code := x.cmd.ProcessState.ExitCode()
	known := false
	for _, e := range exits {
		known = known || code == e
	}
	if !known {
		x.t.Errorf("exit code %d, not one of %v:\n%s", code, exits, x.told.String())
	}
	// On a closed terminal nothing can be told.
	if text := x.told.String(); x.master == nil && (strings.Contains(text, "panic:") || code == 1 && !strings.Contains(text, "Error: ") && !strings.Contains(text, `{"error":`)) {
		x.t.Errorf("no plain error:\n%s", text)
	}
	if r := x.begun(); code == exitInterrupted && (r == nil || r.Phase != state.Running && r.StartedAt == nil) {
		x.empty() // an interrupt before the job exists leaves nothing
	}
	x.until("end of the provider's process", func() bool { return len(x.providers()) == 0 })
}

// recovers runs apply again, which finishes what was begun.
func (x *troubled) recovers() {
	x.t.Helper()
	x.must(0, "apply", "-auto-approve")
	x.ended(state.Succeeded, "")
	run := x.current()
	if data, err := os.ReadFile(filepath.Join(x.dir, run.Dir, "output", "x")); err != nil || string(data) != "good\n" {
		x.t.Errorf("the result: %q, %v", data, err)
	}
	log, _ := os.ReadFile(filepath.Join(x.dir, run.Dir, "job.log"))
	sum, err := exec.Command("sha256sum", filepath.Join(x.dir, run.Dir, "output", "big")).Output()
	if err != nil || len(log) < 64 || !bytes.Equal(log[:64], sum[:64]) {
		x.t.Errorf("the job said %q of what it wrote, here is %q (%v)", log, sum, err)
	}
	x.empty()
}
