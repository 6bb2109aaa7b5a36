package job

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// nothing is the signal that only asks whether a process is there.
const nothing = syscall.Signal(0)

func setGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// withVariable gives the living processes that have an entry in their
// environment.
func withVariable(entry string) []string {
	var found []string
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		env, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err == nil && bytes.Contains(append([]byte{0}, env...), []byte("\x00"+entry+"\x00")) {
			found = append(found, filepath.Base(dir))
		}
	}
	return found
}
