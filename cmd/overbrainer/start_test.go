package main

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

// TestStartsAtOnce: what a shell's completion waits for takes tens of
// milliseconds, the best of several starts counting on a busy machine. A
// package that compiles or parses much before main shows here.
func TestStartsAtOnce(t *testing.T) {
	binary := build(t)
	const bound = 200 * time.Millisecond
	for _, c := range []struct {
		name string
		env  string
		args []string
	}{
		{"version", "", []string{"version", "-json"}},
		{"completion", "COMP_LINE=overbrainer plan -target=", nil},
	} {
		best := time.Hour
		for range 20 {
			cmd := exec.Command(binary, c.args...)
			cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), c.env)
			began := time.Now()
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", c.name, err, out)
			}
			if best = min(best, time.Since(began)); best < bound/4 {
				break
			}
		}
		if best > bound {
			t.Errorf("%s takes %s at best", c.name, best)
		}
	}
}
