package state

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// ProcessIdentity tells a process from every other one that has or will have
// its number: the kernel's boot and the process's start within it. "" when the
// process is not there or cannot be looked at.
func ProcessIdentity(pid int) string {
	start, _ := processStart(pid)
	if start == "" {
		return ""
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(boot)) + "/" + start
}

// ProcessAlive reports whether the process still runs. identity "" compares
// the number only. A process that cannot be looked at counts as alive, a dead
// one that its parent has not collected yet as dead.
func ProcessAlive(pid int, identity string) bool {
	start, err := processStart(pid)
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	if err != nil {
		return true
	}
	if start == "" {
		return false
	}
	return identity == "" || ProcessIdentity(pid) == identity
}

// processStart reads the start time (field 22) of a process that is not a
// zombie. The command's name before it may hold spaces and brackets, so fields
// count from the last bracket.
func processStart(pid int) (string, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	_, rest, ok := bytes.Cut(data[max(0, bytes.LastIndexByte(data, ')')):], []byte(")"))
	fields := strings.Fields(string(rest))
	if !ok || len(fields) < 20 {
		return "", errors.New("unreadable process status")
	}
	if fields[0] == "Z" || fields[0] == "X" {
		return "", nil
	}
	return fields[19], nil
}
