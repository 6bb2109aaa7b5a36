package state

import (
	"errors"
	"strconv"

	"golang.org/x/sys/windows"
)

// stillActive is the exit code of a process that has none yet.
const stillActive = 259

// ProcessIdentity tells a process from every other one that has or will have
// its number, by the instant it was created at. "" when the process is not there
// or cannot be looked at.
func ProcessIdentity(pid int) string {
	created, _, err := lookAt(pid)
	if err != nil {
		return ""
	}
	return created
}

// ProcessAlive reports whether the process still runs. identity "" compares the
// number only. A process that cannot be looked at counts as alive.
func ProcessAlive(pid int, identity string) bool {
	created, code, err := lookAt(pid)
	if errors.Is(err, windows.ERROR_INVALID_PARAMETER) { // there is none
		return false
	}
	if err != nil {
		return true
	}
	return code == stillActive && (identity == "" || created == identity)
}

// lookAt gives when a process was created and its exit code.
func lookAt(pid int) (created string, code uint32, err error) {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return "", 0, err
	}
	defer func() { _ = windows.CloseHandle(h) }()
	var start, exit, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(h, &start, &exit, &kernel, &user); err != nil {
		return "", 0, err
	}
	err = windows.GetExitCodeProcess(h, &code)
	return strconv.FormatInt(start.Nanoseconds(), 10), code, err
}
