package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const questionConfig = `variable "need" { type = string }
variable "hidden" {
  type      = string
  sensitive = true
}
output "x" { value = var.need }
`

const questionState = `{"version": 1, "overbrainer_version": "0.1.0", "lineage": "0123456789abcdef0123456789abcdef", "serial": 1,
"claims": {"run.a": {"id": "claim1", "who": "a", "host": "elsewhere", "pid": 1, "operation": "apply", "expires": "2100-01-01T00:00:00Z"}}}`

// TestInterruptAtQuestion: wherever a person is asked or may type, one Ctrl-C
// ends the command at once, and a terminal that hid what is typed shows it again.
func TestInterruptAtQuestion(t *testing.T) {
	binary := build(t)
	for name, q := range map[string]struct {
		args        []string
		asks, tells string
	}{
		"yes":      {[]string{"force-unlock", "claim1"}, "goes on: ", "Error: interrupted at a question: nothing was done"},
		"variable": {[]string{"plan", "-var=hidden=x"}, "variable need\r\n  value: ", "Error: interrupted at a question: nothing was done"},
		"hidden":   {[]string{"plan", "-var=need=x"}, "variable hidden\r\n  value: ", "Error: interrupted at a question: nothing was done"},
		"console":  {[]string{"console", "-var=need=x", "-var=hidden=x"}, "> ", "Error: interrupted"},
		"fmt":      {[]string{"fmt", "-"}, "", "Error: interrupted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for file, text := range map[string]string{"overbrainer.hcl": questionConfig, "overbrainer.state.json": questionState} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			master, slave := terminal(t)
			defer master.Close()
			cmd := exec.Command(binary, q.args...)
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "TERM=dumb", "HOME="+dir, "XDG_STATE_HOME="+dir, "OVERBRAINER_INPUT=")
			cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			late := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
			defer late.Stop()
			if q.asks == "" {
				time.Sleep(time.Second) // it says nothing when it is ready
			}
			said := reads(t, master, q.asks)
			if _, err := master.WriteString("ye\x03"); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			mode, err := unix.IoctlGetTermios(int(slave.Fd()), unix.TCGETS)
			if err != nil || mode.Lflag&unix.ECHO == 0 {
				t.Errorf("the terminal does not show what is typed (%v)", err)
			}
			said += reads(t, master, q.tells)
			if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
				t.Errorf("exit code %d:\n%s", code, said)
			}
			_ = slave.Close()
			if now, err := os.ReadFile(filepath.Join(dir, "overbrainer.state.json")); err != nil || string(now) != questionState {
				t.Errorf("the state is another one: %s, %v", now, err)
			}
		})
	}
}

// reads takes what comes from a terminal until there is that text in it.
func reads(t *testing.T, master *os.File, text string) string {
	t.Helper()
	var got bytes.Buffer
	for buf := make([]byte, 4096); !strings.Contains(got.String(), text); {
		n, err := master.Read(buf)
		got.Write(buf[:n])
		if err != nil {
			t.Fatalf("no %q in %q: %v", text, got.String(), err)
		}
	}
	return got.String()
}
