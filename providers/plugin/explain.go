package plugin

import (
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/overbrainer/overbrainer/internal/safetext"
)

// Reason says why a plugin could not be started.
type Reason string

// Reasons.
const (
	Missing       Reason = "missing"
	NotAFile      Reason = "not a file"
	NotExecutable Reason = "not executable"
	WrongSystem   Reason = "for another system"
	NotAPlugin    Reason = "not a plugin"
	WrongProtocol Reason = "another protocol version"
	Ended         Reason = "ended at once"
	TooSlow       Reason = "did not answer in time"
	WrongDigest   Reason = "another digest"
	Broken        Reason = "broken"
)

// StartError is a plugin that could not be started.
type StartError struct {
	// Name is the provider's, Path the program's.
	Name, Path string
	Reason     Reason
	// Message says what is wrong and what to do.
	Message string
	// Lines is the end of what the program wrote to its standard error.
	Lines []string
}

func (e *StartError) Error() string {
	s := fmt.Sprintf("provider %s: %s: %s", e.Name, e.Path, e.Message)
	for _, l := range e.Lines {
		s += "\n  | " + l
	}
	return s
}

// checkProgram finds what can be said before the program is run.
func checkProgram(c Command) error {
	fail := func(r Reason, format string, args ...any) error {
		return &StartError{Name: c.Name, Path: c.Path, Reason: r, Message: fmt.Sprintf(format, args...)}
	}
	info, err := os.Stat(c.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fail(Missing, "there is no such file; install the provider or run overbrainer init")
	case err != nil:
		return fail(Broken, "%v", err)
	case info.IsDir():
		return fail(NotAFile, "is a directory where the provider's program should be")
	case !info.Mode().IsRegular():
		return fail(NotAFile, "is not a regular file (%s)", info.Mode().Type())
	case !executable(info):
		return fail(NotExecutable, "is not executable (mode %04o); chmod +x it", info.Mode().Perm())
	}
	if machine, ok := otherMachine(c.Path); ok {
		return fail(WrongSystem, "is built for %s, this machine is %s/%s; install the build for it",
			machine, runtime.GOOS, runtime.GOARCH)
	}
	if c.SHA256 != "" {
		sum, err := Digest(c.Path)
		if err != nil {
			return fail(Broken, "%v", err)
		}
		if sum != strings.ToLower(c.SHA256) {
			return fail(WrongDigest, "has SHA-256 %s, the lock file says %s; it was not started. If the change is meant, overbrainer init -upgrade pins the new one", sum, c.SHA256)
		}
	}
	return nil
}

// otherMachine tells an ELF program for another processor.
func otherMachine(path string) (string, bool) {
	machines := map[string]elf.Machine{
		"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64, "386": elf.EM_386, "arm": elf.EM_ARM, "riscv64": elf.EM_RISCV,
	}
	want, known := machines[runtime.GOARCH]
	if runtime.GOOS != "linux" || !known {
		return "", false
	}
	f, err := elf.Open(path)
	if err != nil {
		return "", false
	}
	defer func() { _ = f.Close() }()
	if f.Machine == want {
		return "", false
	}
	return strings.ToLower(strings.TrimPrefix(f.Machine.String(), "EM_")), true
}

// explain makes a StartError of a failed start, from what the child did rather
// than from go-plugin's text.
func (r *childRunner) explain(cause error) error {
	e := &StartError{Name: r.command.Name, Path: r.command.Path}
	set := func(reason Reason, format string, args ...any) error {
		e.Reason, e.Message = reason, fmt.Sprintf(format, args...)
		return e
	}
	switch {
	case errors.Is(cause, syscall.ENOEXEC):
		return set(WrongSystem, "is no program for %s/%s", runtime.GOOS, runtime.GOARCH)
	case errors.Is(cause, fs.ErrPermission):
		return set(NotExecutable, "may not be executed: %v", errors.Unwrap(cause))
	case errors.Is(cause, fs.ErrNotExist):
		return set(Broken, "cannot be run: the interpreter or loader it names is missing")
	case r.pid() == 0:
		return set(Broken, "cannot be run: %v", cause)
	}
	greeting, _, _ := strings.Cut(r.greeted.text(), "\n")
	if greeting != "" {
		parts := strings.Split(greeting, "|")
		if len(parts) < 4 {
			return set(NotAPlugin, "is not an overbrainer plugin: its first line is %q", safetext.Cell(greeting, 80))
		}
		if v, err := strconv.Atoi(parts[1]); err == nil && v != protocolVersion {
			return set(WrongProtocol, "speaks plugin protocol %d, this overbrainer speaks %d; install the release that fits",
				v, protocolVersion)
		}
	}
	if strings.Contains(cause.Error(), "timeout while waiting") {
		e.Lines = r.tail.lines()
		return set(TooSlow, "said nothing for %s", r.command.StartTimeout)
	}
	select {
	case <-r.ended:
		e.Lines = r.tail.lines()
		return set(Ended, "ended before it said anything (%s)", r.status())
	case <-time.After(500 * time.Millisecond):
	}
	e.Lines = r.tail.lines()
	return set(Broken, "cannot be talked to: %v", cause)
}
