package plugin

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/windows"
)

// isolate gives a child a process group of its own, which the console's Ctrl-C
// does not reach, and the lifeline as its standard input: there are no other
// descriptors to hand down.
func isolate(cmd *exec.Cmd, lifeline *os.File) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
	cmd.Stdin = lifeline
	cmd.Env = append(cmd.Env, lifelineEnv+"=stdin")
}

// openLifeline is the child's end of it.
func openLifeline() *os.File { return os.Stdin }

// family is a child and what it started: a job object, and the process alone
// where there is none.
type family struct {
	process *os.Process
	job     windows.Handle
}

// familyOf puts a child that was just started into a job object. The job does
// not end with this process: what the child has in flight is finished.
func familyOf(cmd *exec.Cmd) family {
	f := family{process: cmd.Process}
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return f
	}
	h, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(cmd.Process.Pid))
	if err == nil {
		err = windows.AssignProcessToJobObject(job, h)
		_ = windows.CloseHandle(h)
	}
	if err != nil {
		_ = windows.CloseHandle(job)
		return f
	}
	f.job = job
	return f
}

func (f family) kill() {
	if f.job != 0 && windows.TerminateJobObject(f.job, 1) == nil {
		return
	}
	_ = f.process.Kill()
}

// executable reports whether the file may be run: its name says so here.
func executable(info os.FileInfo) bool {
	return strings.EqualFold(filepath.Ext(info.Name()), programSuffix)
}

// programSuffix ends the names of programs.
const programSuffix = ".exe"

// sameVariable compares names of environment variables, which are Path and PATH.
func sameVariable(a, b string) bool { return strings.EqualFold(a, b) }

// systemVariables are those that programs need on this system besides.
var systemVariables = []string{
	"SystemRoot", "SystemDrive", "windir", "TEMP", "TMP", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "ProgramData",
	"PATHEXT", "ComSpec", "USERNAME",
}

// makeSocketDir makes a directory for the connection's files. Processes talk
// over the loopback here, so that its length does not matter.
func makeSocketDir([]string) (string, error) { return os.MkdirTemp("", socketPrefix) }
