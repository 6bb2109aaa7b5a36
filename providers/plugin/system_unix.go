//go:build unix

package plugin

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// lifelineFD is the descriptor at which the child finds its lifeline.
const lifelineFD = 3

// isolate gives a child a session of its own, which the terminal's signals do
// not reach, and the lifeline as its only extra descriptor.
func isolate(cmd *exec.Cmd, lifeline *os.File) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	wakeWithParent(cmd.SysProcAttr)
	cmd.ExtraFiles = []*os.File{lifeline}
	cmd.Env = append(cmd.Env, lifelineEnv+"="+strconv.Itoa(lifelineFD))
}

// openLifeline is the child's end of it, which no child of the child inherits.
func openLifeline() *os.File {
	syscall.CloseOnExec(lifelineFD)
	return os.NewFile(lifelineFD, "lifeline")
}

// family is a child and what it started.
type family struct{ pid int }

func familyOf(cmd *exec.Cmd) family { return family{cmd.Process.Pid} }

// kill ends a child and what it started in its session.
func (f family) kill() { _ = syscall.Kill(-f.pid, syscall.SIGKILL) }

// executable reports whether the file may be run.
func executable(info os.FileInfo) bool { return info.Mode().Perm()&0o111 != 0 }

// programSuffix ends the names of programs.
const programSuffix = ""

// sameVariable compares names of environment variables.
func sameVariable(a, b string) bool { return a == b }

// systemVariables are those that programs need on this system besides.
var systemVariables []string

// maxSocketDir is the longest directory in which the sockets' own names still
// fit into an address, which takes 104 bytes on some systems.
const maxSocketDir = 40

// makeSocketDir makes a directory with a short path. TMPDIR and the project may
// be too deep for sockets.
func makeSocketDir(environ []string) (string, error) {
	candidates := []string{lookup(environ, "XDG_RUNTIME_DIR"), "/tmp", "/var/tmp", lookup(environ, "TMPDIR")}
	var failed []string
	for _, base := range candidates {
		if base == "" {
			continue
		}
		if len(base) > maxSocketDir {
			failed = append(failed, fmt.Sprintf("%s (path of %d bytes, at most %d fit)", base, len(base), maxSocketDir))
			continue
		}
		sweepSockets(base)
		dir, err := os.MkdirTemp(base, socketPrefix+strconv.Itoa(os.Getpid())+"-")
		if err == nil {
			return dir, nil
		}
		failed = append(failed, err.Error())
	}
	return "", fmt.Errorf("no directory for the provider's socket: %s; set XDG_RUNTIME_DIR or TMPDIR to a short, writable one",
		strings.Join(failed, "; "))
}

// sweepSockets removes what processes of this user left behind that were killed
// together with their children.
func sweepSockets(base string) {
	found, err := filepath.Glob(filepath.Join(base, socketPrefix+"[0-9]*-*"))
	if err != nil {
		return
	}
	for _, dir := range found {
		pid, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), socketPrefix), "-")
		n, err := strconv.Atoi(pid)
		if err != nil || syscall.Kill(n, 0) != syscall.ESRCH {
			continue
		}
		// A process that started in this minute may live in another process
		// namespace; an older one has long connected and needs no path.
		if info, err := os.Lstat(dir); err == nil && info.IsDir() && ownedByUs(info) && time.Since(info.ModTime()) > time.Minute {
			_ = os.RemoveAll(dir)
		}
	}
}

func ownedByUs(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Getuid()
}
