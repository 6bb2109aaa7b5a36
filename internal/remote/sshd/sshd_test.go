package sshd_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/overbrainer/overbrainer/internal/remote/remotetest"
	"github.com/overbrainer/overbrainer/internal/remote/sshd"
)

func connect(t *testing.T, s *remotetest.Server) *ssh.Client {
	t.Helper()
	c, err := ssh.Dial("tcp", fmt.Sprintf("%s:%d", s.Host, s.Port), &ssh.ClientConfig{
		User: s.User, Auth: []ssh.AuthMethod{ssh.PublicKeys(s.Signer)}, HostKeyCallback: ssh.FixedHostKey(s.HostKey),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func session(t *testing.T, c *ssh.Client) *ssh.Session {
	t.Helper()
	s, err := c.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// both runs a test against this server and against OpenSSH, which is what it
// should behave like.
func both(t *testing.T, test func(t *testing.T, s *remotetest.Server)) {
	t.Run("builtin", func(t *testing.T) { test(t, remotetest.StartBuiltin(t, remotetest.Options{})) })
	t.Run("openssh", func(t *testing.T) { test(t, remotetest.StartSSHD(t, remotetest.Options{})) })
}

func TestExit(t *testing.T) {
	both(t, func(t *testing.T, s *remotetest.Server) {
		c := connect(t, s)
		for script, want := range map[string]string{
			"exit 0": "0 ", "exit 255": "255 ", "kill -KILL $$": "0 KILL", "kill -USR1 $$; sleep 9": "0 USR1",
			"no-such-program": "127 ", "exec <&- >&- 2>&-; exit 4": "4 ",
		} {
			err := session(t, c).Run(script)
			got := "0 "
			var exit *ssh.ExitError
			if errors.As(err, &exit) {
				got = fmt.Sprint(exit.ExitStatus(), " ", exit.Signal())
				if exit.Signal() != "" {
					got = "0 " + exit.Signal()
				}
			}
			if got != want {
				t.Errorf("%s: %s (%v)", script, got, err)
			}
		}
	})
}

func TestStreams(t *testing.T) {
	both(t, func(t *testing.T, s *remotetest.Server) {
		c := connect(t, s)
		ses := session(t, c)
		data := bytes.Repeat([]byte("0123456789abcdef"), 1<<18)
		var stdout, stderr bytes.Buffer
		ses.Stdin, ses.Stdout, ses.Stderr = bytes.NewReader(data), &stdout, &stderr
		if err := ses.Run("cat; echo done >&2"); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(stdout.Bytes(), data) || stderr.String() != "done\n" {
			t.Errorf("%d bytes, %q", stdout.Len(), stderr.String())
		}
	})
}

// An end of output is told before the program ends, and input goes on after it.
func TestHalfClose(t *testing.T) {
	both(t, func(t *testing.T, s *remotetest.Server) {
		ses := session(t, connect(t, s))
		in, err := ses.StdinPipe()
		must(t, err)
		out, err := ses.StdoutPipe()
		must(t, err)
		must(t, ses.Start("cat >/dev/null; echo ended"))
		_, err = io.WriteString(in, "text")
		must(t, err)
		must(t, in.Close())
		if got, err := io.ReadAll(out); err != nil || string(got) != "ended\n" {
			t.Errorf("%q %v", got, err)
		}
		must(t, ses.Wait())
	})
}

// A child that closed its files does not hold the session; one that kept them
// does not hold the exit status.
func TestChildren(t *testing.T) {
	both(t, func(t *testing.T, s *remotetest.Server) {
		c := connect(t, s)
		start := time.Now()
		must(t, session(t, c).Run("sleep 20 </dev/null >/dev/null 2>&1 &"))
		if time.Since(start) > 10*time.Second {
			t.Error("held by a child")
		}
	})
}

// What runs outlives its connection.
func TestSurvives(t *testing.T) {
	both(t, func(t *testing.T, s *remotetest.Server) {
		c := connect(t, s)
		file := filepath.Join(t.TempDir(), "pid")
		ses := session(t, c)
		out, err := ses.StdoutPipe()
		must(t, err)
		must(t, ses.Start(fmt.Sprintf("trap '' HUP; echo $$ >%s; echo ready; exec sleep 60", file)))
		_, err = io.ReadFull(out, make([]byte, 6))
		must(t, err)
		must(t, c.Close())
		text, err := os.ReadFile(file)
		must(t, err)
		pid := strings.TrimSpace(string(text))
		// A new connection is served after the old one's end was noticed.
		must(t, session(t, connect(t, s)).Run("kill -0 "+pid))
		must(t, exec.Command("kill", "-KILL", pid).Run())
	})
}

func TestOwnSession(t *testing.T) {
	s := remotetest.StartBuiltin(t, remotetest.Options{})
	out, err := session(t, connect(t, s)).Output("echo $$; cat /proc/$$/stat; pwd; echo $SHELL $SSH_CONNECTION; env | wc -l")
	must(t, err)
	lines := strings.Split(string(out), "\n")
	fields := strings.Fields(lines[1])
	if lines[0] != fields[4] || lines[0] != fields[5] {
		t.Errorf("pid %s, group %s, session %s", lines[0], fields[4], fields[5])
	}
}

func TestTerminal(t *testing.T) {
	both(t, func(t *testing.T, s *remotetest.Server) {
		ses := session(t, connect(t, s))
		must(t, ses.RequestPty("vt100", 33, 44, ssh.TerminalModes{}))
		in, err := ses.StdinPipe()
		must(t, err)
		out, err := ses.StdoutPipe()
		must(t, err)
		must(t, ses.Shell())
		_, err = io.WriteString(in, "PS1=; tty >/dev/null && echo $TERM $((1+1)) $(stty size); exit 5\n")
		must(t, err)
		text, _ := io.ReadAll(out)
		if !strings.Contains(string(text), "vt100 2 33 44") {
			t.Errorf("%q", text)
		}
		var exit *ssh.ExitError
		if err := ses.Wait(); !errors.As(err, &exit) || exit.ExitStatus() != 5 {
			t.Error(err)
		}
	})
}

// A terminal whose connection ends is hung up.
func TestTerminalHangUp(t *testing.T) {
	// Under nohup programs would inherit that the signal is ignored.
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	both(t, func(t *testing.T, s *remotetest.Server) {
		c := connect(t, s)
		file := filepath.Join(t.TempDir(), "pid")
		ses := session(t, c)
		must(t, ses.RequestPty("vt100", 24, 80, ssh.TerminalModes{}))
		out, err := ses.StdoutPipe()
		must(t, err)
		must(t, ses.Start(fmt.Sprintf("echo $$ >%s; echo ready; exec sleep 60", file)))
		_, err = io.ReadFull(out, make([]byte, 5))
		must(t, err)
		must(t, c.Close())
		text, err := os.ReadFile(file)
		must(t, err)
		pid := 0
		_, err = fmt.Sscan(string(text), &pid)
		must(t, err)
		gone := make(chan bool)
		go func() {
			for syscall.Kill(pid, 0) == nil && t.Context().Err() == nil {
				<-time.After(5 * time.Millisecond)
			}
			close(gone)
		}()
		select {
		case <-gone:
		case <-time.After(20 * time.Second):
			t.Error("the program still runs")
		}
	})
}

func TestSignalRequest(t *testing.T) {
	s := remotetest.StartBuiltin(t, remotetest.Options{})
	ses := session(t, connect(t, s))
	out, err := ses.StdoutPipe()
	must(t, err)
	must(t, ses.Start("echo ready; exec sleep 60"))
	_, err = io.ReadFull(out, make([]byte, 6))
	must(t, err)
	must(t, ses.Signal(ssh.SIGTERM))
	var exit *ssh.ExitError
	if err := ses.Wait(); !errors.As(err, &exit) || exit.Signal() != "TERM" {
		t.Error(err)
	}
}

func TestRefusals(t *testing.T) {
	s := remotetest.StartBuiltin(t, remotetest.Options{})
	c := connect(t, s)
	if _, err := c.Dial("tcp", "127.0.0.1:1"); err == nil {
		t.Error("a port was forwarded")
	}
	if err := session(t, c).RequestSubsystem("sftp"); err == nil {
		t.Error("a subsystem was served")
	}
	ok, _, err := c.SendRequest("keepalive@openssh.com", true, nil)
	if ok || err != nil {
		t.Errorf("keepalive: %t %v", ok, err)
	}
	var held []*ssh.Session
	for {
		ses, err := c.NewSession()
		if err != nil {
			break
		}
		if held = append(held, ses); len(held) > 20 {
			t.Fatal("sessions without bound")
		}
	}
	_, err = ssh.Dial("tcp", fmt.Sprintf("%s:%d", s.Host, s.Port), &ssh.ClientConfig{
		User: "root", Auth: []ssh.AuthMethod{ssh.PublicKeys(remotetest.Key(t, "")), ssh.Password("x")},
		HostKeyCallback: ssh.InsecureIgnoreHostKey(),
	})
	if err == nil {
		t.Error("a stranger's key was accepted")
	}
}

// Serve ends when it is told to, with connections open and programs running.
func TestServeEnds(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	host, client := remotetest.Key(t, ""), remotetest.Key(t, "")
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() {
		served <- sshd.Serve(ctx, sshd.Config{Listener: l, HostKey: host,
			AuthorizedKeys: append([]byte("# comment\n\nnonsense\n"), ssh.MarshalAuthorizedKey(client.PublicKey())...)})
	}()
	c, err := ssh.Dial("tcp", l.Addr().String(), &ssh.ClientConfig{User: "x",
		Auth: []ssh.AuthMethod{ssh.PublicKeys(client)}, HostKeyCallback: ssh.FixedHostKey(host.PublicKey())})
	must(t, err)
	ses := session(t, c)
	out, err := ses.StdoutPipe()
	must(t, err)
	must(t, ses.Start("/bin/echo $$; exec /bin/sleep 60"))
	pid := 0
	_, err = fmt.Fscan(out, &pid)
	must(t, err)
	cancel()
	select {
	case err := <-served:
		must(t, err)
	case <-time.After(20 * time.Second):
		t.Fatal("still serving")
	}
	must(t, syscall.Kill(pid, syscall.SIGKILL))
	if err := sshd.Serve(t.Context(), sshd.Config{Listener: l, HostKey: host, AuthorizedKeys: []byte("nothing\n")}); err == nil {
		t.Error("served without a key")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
