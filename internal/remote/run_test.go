package remote

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/internal/remote/remotetest"
)

func TestRun(t *testing.T) {
	servers(t, func(t *testing.T, s *remotetest.Server) {
		c := dial(t, s, nil)
		tests := []struct {
			name, script, stdin string
			want                Result
		}{
			{"output", "echo out; echo err >&2", "", Result{Stdout: []byte("out\n"), Stderr: []byte("err\n")}},
			{"exit", "exit 7", "", Result{Exit: 7}},
			{"signal", "kill -TERM $$", "", Result{Exit: -1, Signal: "TERM"}},
			{"stdin", "cat; echo end", "a\nb", Result{Stdout: []byte("a\nbend\n")}},
			{"no stdin", "cat; echo end", "", Result{Stdout: []byte("end\n")}},
			{"unread stdin", "exit 3", strings.Repeat("x", 8<<20), Result{Exit: 3}},
			{"lines and quotes", "x='a b'\necho \"$x\" '\\'", "", Result{Stdout: []byte("a b \\\n")}},
			{"large stderr", "i=0; while [ $i -lt 20000 ]; do echo 0123456789 >&2; i=$((i+1)); done; echo ok", "",
				Result{Stdout: []byte("ok\n"), Stderr: bytes.Repeat([]byte("0123456789\n"), 1+maxStderr/11)[:maxStderr]}},
			{"child left behind", "sleep 100 </dev/null >/dev/null 2>&1 & echo $!", "", Result{}},
		}
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				cmd := Command{Script: test.script}
				if test.stdin != "" {
					cmd.Stdin = strings.NewReader(test.stdin)
				}
				got, err := c.Run(within(t, 20*time.Second), cmd)
				if err != nil {
					t.Fatal(err)
				}
				if test.name == "child left behind" {
					pid := strings.TrimSpace(string(got.Stdout))
					if err := exec.Command("kill", pid).Run(); err != nil {
						t.Errorf("the child did not survive: %v", err)
					}
					return
				}
				if got.Exit != test.want.Exit || got.Signal != test.want.Signal ||
					!bytes.Equal(got.Stdout, test.want.Stdout) || !bytes.Equal(got.Stderr, test.want.Stderr) {
					t.Errorf("got exit %d signal %q stdout %.200q stderr %d bytes %.200q",
						got.Exit, got.Signal, got.Stdout, len(got.Stderr), got.Stderr)
				}
			})
		}
	})
}

func TestRunMaxOutput(t *testing.T) {
	c := dial(t, remotetest.StartBuiltin(t, remotetest.Options{}), nil)
	for _, stdout := range []*bytes.Buffer{nil, {}} {
		cmd := Command{Script: "while :; do echo 0123456789; done", MaxOutput: 1000}
		if stdout != nil {
			cmd.Stdout = stdout
		}
		res, err := c.Run(within(t, 20*time.Second), cmd)
		var tooMuch *OutputError
		if !errors.As(err, &tooMuch) || tooMuch.Max != 1000 {
			t.Fatal(err)
		}
		got := len(res.Stdout)
		if stdout != nil {
			got = stdout.Len()
		}
		if got != 1000 {
			t.Errorf("%d bytes", got)
		}
	}
}

// A command is given up at once, also on a machine that does not answer.
func TestRunCancelledOnFrozenMachine(t *testing.T) {
	s := remotetest.StartBuiltin(t, remotetest.Options{})
	p := remotetest.StartProxy(t, s, 0)
	c := dial(t, s, p)
	if _, err := c.Run(t.Context(), Command{Script: "true"}); err != nil {
		t.Fatal(err)
	}
	p.Freeze()
	start := time.Now()
	_, err := c.Run(within(t, 100*time.Millisecond), Command{Script: "true"})
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 5*time.Second {
		t.Errorf("%v after %s", err, time.Since(start))
	}
}

// What start files of the login shell print is no output of the command.
func TestRunNoisyLogin(t *testing.T) {
	dir := t.TempDir()
	noisy := dir + "/noisy"
	writeScript(t, noisy, "#!/bin/sh\necho Welcome to your pod; echo\nexec /bin/sh \"$@\"\n")
	c := dial(t, remotetest.StartBuiltin(t, remotetest.Options{Shell: noisy}), nil)
	res, err := c.Run(t.Context(), Command{Script: "echo out; cat", Stdin: strings.NewReader("in")})
	if err != nil || string(res.Stdout) != "out\nin" {
		t.Errorf("%v %q", err, res.Stdout)
	}
}

func TestRunConnectionLost(t *testing.T) {
	s := remotetest.StartBuiltin(t, remotetest.Options{})
	p := remotetest.StartProxy(t, s, 0)
	c := dial(t, s, p)
	var out bytes.Buffer
	seen := make(chan bool)
	go func() { <-seen; p.Cut() }()
	_, err := c.Run(within(t, 20*time.Second), Command{Script: "echo here; exec sleep 60", Stdout: onWrite(func(b []byte) {
		if out.Len() == 0 {
			close(seen)
		}
		out.Write(b)
	})})
	if err == nil || c.Err() == nil || !errors.Is(err, c.Err()) {
		t.Errorf("%v, connection: %v", err, c.Err())
	}
	if out.String() != "here\n" {
		t.Errorf("output %q", out.String())
	}
}

func TestQuote(t *testing.T) {
	args := []string{"", "a", "a b", "'", "''", `\`, "-n", "$HOME", "`x`", "a\nb", "*", "~", "#", "ü", "\xff", "=", "a=b", "!x"}
	for _, shell := range []string{"sh", "dash", "bash", "busybox"} {
		t.Run(shell, func(t *testing.T) {
			remotetest.Need(t, shell)
			cmd := exec.Command(shell, "-c", "printf '%s\\0' "+Quote(args...))
			if shell == "busybox" {
				cmd = exec.Command(shell, "sh", "-c", "printf '%s\\0' "+Quote(args...))
			}
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			if want := strings.Join(args, "\x00") + "\x00"; string(out) != want {
				t.Errorf("got %q\nwant %q", out, want)
			}
		})
	}
}

type onWrite func([]byte)

func (f onWrite) Write(b []byte) (int, error) { f(b); return len(b), nil }
