package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestBashCompletesInQuotes: what a person gets who types addresses as the
// documents show them and presses Tab in a real bash.
func TestBashCompletesInQuotes(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("bash is missing")
	}
	binary := build(t)
	dir := t.TempDir()
	config := "run \"iris\" {\n  for_each = { fast = 1 }\n}\n"
	state := `{"version": 1, "overbrainer_version": "0.1.0", "lineage": "0123456789abcdef0123456789abcdef", "serial": 1, "resources": {"run.iris[\"fast\"]":
{"type": "run", "provider": "runpod", "run": {"current": "x", "runs": [{"id": "x", "phase": "succeeded", "try": 1, "dir": "runs/x", "target": "target.gpu", "created_at": "2026-10-01T10:00:00Z"}]}}}}`
	for name, text := range map[string]string{"overbrainer.hcl": config, "overbrainer.state.json": state, "rc": "PS1='ready> '\neval \"$(overbrainer completion bash)\"\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	master, slave := terminal(t)
	defer master.Close()
	cmd := exec.Command(bash, "--noprofile", "--rcfile", "rc", "-i")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "TERM=dumb", "HOME="+dir, "INPUTRC=/dev/null", "XDG_STATE_HOME="+dir, "PATH="+filepath.Dir(binary)+":"+os.Getenv("PATH"))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = slave.Close()
	late := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	reads(t, master, "ready> ")
	for typed, want := range map[string]string{
		`run logs 'run.iris["f`:        `<run><logs><run.iris["fast"]>`,
		`state show 'run.ir`:           `<state><show><run.iris["fast"]>`,
		`run logs "run.iris[\"f`:       `<run><logs><run.iris["fast"]>`,
		`plan -target=run.iris[`:       `<plan><-target=run.iris["fast"]>`,
		`plan -target='run.iris[`:      `<plan><-target=run.iris["fast"]>`,
		`state show vol`:               `<state><show><vol>`,
		`-chdir=. state show run.iris`: `<-chdir=.><state><show><run.iris["fast"]>`,
	} {
		// Where the line begins (Ctrl-A) goes what prints its words; the sign that
		// ends them is not in what is echoed.
		if _, err := master.WriteString("overbrainer " + typed + "\t\x01printf '<%s>' \x05; printf '\\043\\n'\n"); err != nil {
			t.Fatal(err)
		}
		if said := reads(t, master, "#\r\n"); !strings.Contains(said, "<overbrainer>"+want+"#") {
			t.Errorf("%s: %q", typed, said)
		}
	}
	_, _ = master.WriteString("exit\n")
	_ = cmd.Wait()
}
