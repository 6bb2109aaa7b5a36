package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"

	"github.com/overbrainer/overbrainer/plan"
)

// secrets are the values that must not be printed.
type secrets struct {
	mu     sync.RWMutex
	values []string
}

// hide keeps values out of everything that is printed from now on.
func (a *app) hide(values ...string) {
	a.redactor.Add(values...)
	a.known.mu.Lock()
	defer a.known.mu.Unlock()
	for _, v := range values {
		for _, line := range append([]string{v}, strings.Split(v, "\n")...) {
			if len(line) >= 4 && !slices.Contains(a.known.values, line) {
				a.known.values = append(a.known.values, line)
			}
		}
	}
	slices.SortFunc(a.known.values, func(x, y string) int { return len(y) - len(x) })
}

// mask hides the values themselves and nothing else, so that JSON stays what
// it is.
func (s *secrets) mask(text string) string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, v := range s.values {
		text = strings.ReplaceAll(text, v, "***")
	}
	return text
}

// maxSecret is the most bytes a secret may have.
const maxSecret = 64 << 10

// readSecret reads the value of a secret block where the block says. Nothing
// of the value appears in an error.
func (a *app) readSecret(ctx context.Context, s plan.SecretSpec) ([]byte, error) {
	fault := func(format string, args ...any) error { return secretFault(s, format, args...) }
	var value []byte
	switch {
	case s.Env != "":
		text, ok := os.LookupEnv(s.Env)
		if !ok || text == "" {
			return nil, fault("the variable %s is not set", s.Env)
		}
		value = []byte(text)
	case s.File != "":
		data, err := os.ReadFile(a.secretFile(s.File))
		if err != nil {
			return nil, fault("%s: %v", s.File, reason(err))
		}
		value = trimLine(data)
	case len(s.Command) > 0:
		cmd := exec.CommandContext(ctx, s.Command[0], s.Command[1:]...)
		cmd.Dir = a.dir
		cmd.Stdin = a.in
		var out bytes.Buffer
		cmd.Stdout = &out
		cmd.Stderr = a.err
		if err := cmd.Run(); err != nil {
			return nil, fault("the command %s failed: %v", s.Command[0], err)
		}
		value = trimLine(out.Bytes())
	default:
		return nil, fault("it names no place to read it from")
	}
	if len(value) == 0 {
		return nil, fault("it is empty")
	}
	if len(value) > maxSecret {
		return nil, fault("it has more than 64 KiB")
	}
	if bytes.IndexByte(value, 0) >= 0 {
		return nil, fault("it holds a NUL byte, which no environment variable can")
	}
	a.hide(string(value))
	return value, nil
}

// trimLine drops the last line end, as a shell's $(…) would.
func trimLine(b []byte) []byte {
	b = bytes.TrimSuffix(b, []byte("\n"))
	return bytes.TrimSuffix(b, []byte("\r"))
}
