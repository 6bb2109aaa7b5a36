package sim

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Descriptors that a container's holder is started with.
const (
	fdSpec     = 3
	fdLifeline = 4
	fdListener = 5
)

// setupFailed is the exit code of a holder that could not make its container.
const setupFailed = 125

// PodInit is the program that holds one container: the main process of "sim
// pod-init". It starts the container's main process, collects what that leaves
// behind, and ends when it ends, taking every process of the container along.
// It does the same as soon as its lifeline closes, so that no process outlives
// a simulator, however that ended.
//
// The returned code is the main process's, 128 and the signal's number where a
// signal ended it, 125 where the container could not be made.
func PodInit(args []string) int {
	// Children ask to die with the thread that started them: stay on one.
	runtime.LockOSThread()
	if len(args) > 0 && args[0] == sshMode {
		return serveSSH()
	}
	for fd := fdSpec; fd <= fdListener; fd++ {
		syscall.CloseOnExec(fd)
	}
	var spec containerSpec
	if err := json.NewDecoder(os.NewFile(fdSpec, "spec")).Decode(&spec); err != nil {
		return complain(err)
	}
	h := &holder{spec: spec}
	go h.watch()
	if err := h.enter(); err != nil {
		return complain(err)
	}
	main, err := h.main()
	if err != nil {
		return complain(err)
	}
	if spec.Form == FormRelocated {
		if err := h.startSSH(); err != nil {
			return complain(err)
		}
	}
	code := h.reap(main)
	h.killRest()
	return code
}

func complain(err error) int {
	fmt.Fprintf(os.Stderr, "pod-init: %v\n", err)
	return setupFailed
}

// holder is one container seen from within.
type holder struct {
	spec containerSpec
	mu   sync.Mutex // serializes killing
}

// watch ends everything when the simulator is gone or asks for it.
func (h *holder) watch() {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		_, _ = io.Copy(io.Discard, os.NewFile(fdLifeline, "lifeline"))
		ended <- syscall.SIGTERM
	}()
	<-ended
	h.killRest()
	os.Exit(128 + int(syscall.SIGKILL))
}

// enter makes the container around this process.
func (h *holder) enter() error {
	if h.spec.Form == FormRoot {
		return enterRoot(h.spec)
	}
	// Orphans of the pod come to us instead of to the machine's init.
	return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}

// main starts the container's main process.
func (h *holder) main() (int, error) {
	for _, kv := range h.spec.Env {
		if path, is := strings.CutPrefix(kv, "PATH="); is {
			_ = os.Setenv("PATH", path)
		}
	}
	path, err := exec.LookPath(h.spec.Cmd[0])
	if err != nil {
		return 0, err
	}
	dir := "/"
	if h.spec.Form == FormRelocated {
		dir = h.spec.Root
	}
	return h.fork(path, h.spec.Cmd, h.spec.Env, dir)
}

// fork starts a process in a session of its own. extra are its descriptors
// from 3 on.
func (h *holder) fork(path string, argv, env []string, dir string, extra ...uintptr) (int, error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return 0, err
	}
	defer null.Close()
	return syscall.ForkExec(path, argv, &syscall.ProcAttr{
		Dir: dir, Env: env, Files: append([]uintptr{null.Fd(), 1, 2}, extra...),
		Sys: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	})
}

// reap waits for every process that has no other parent, until main ends.
func (h *holder) reap(main int) int {
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, 0, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return setupFailed
		}
		if pid != main {
			continue
		}
		if ws.Signaled() {
			return 128 + int(ws.Signal())
		}
		return ws.ExitStatus()
	}
}
