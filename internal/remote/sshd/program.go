package sshd

import (
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/crypto/ssh"
)

// prepare starts the program of the session and returns what connects it to
// the channel, to be called once the request was answered.
func (s *session) prepare(shell bool, command string) (func(), error) {
	cmd := exec.Command(s.srv.cfg.Shell)
	if !shell {
		cmd.Args = append(cmd.Args, "-c", command)
	}
	cmd.Dir = s.srv.cfg.Dir
	cmd.Env = s.environ()
	if s.size != nil {
		return s.prepareTerminal(cmd)
	}
	return s.preparePipes(cmd)
}

func (s *session) environ() []string {
	env := append([]string(nil), s.srv.cfg.Env...)
	env = append(env, s.env...)
	env = append(env, "SHELL="+s.srv.cfg.Shell)
	peer, peerPort, err1 := net.SplitHostPort(s.nc.RemoteAddr().String())
	own, ownPort, err2 := net.SplitHostPort(s.nc.LocalAddr().String())
	if err1 == nil && err2 == nil {
		env = append(env, "SSH_CLIENT="+peer+" "+peerPort+" "+ownPort,
			"SSH_CONNECTION="+peer+" "+peerPort+" "+own+" "+ownPort)
	}
	if s.size != nil {
		env = append(env, "TERM="+s.term)
	}
	return env
}

// preparePipes runs cmd in a session of its own on three pipes. The pipes are
// ours, not exec's: the program's end must not cut off what a child of it goes
// on writing, and a child that keeps them open must not delay the exit status.
func (s *session) preparePipes(cmd *exec.Cmd) (func(), error) {
	var pipes [3][2]*os.File
	for i := range pipes {
		r, w, err := os.Pipe()
		if err != nil {
			closePipes(pipes)
			return nil, err
		}
		pipes[i] = [2]*os.File{r, w}
	}
	stdin, stdout, stderr := pipes[0][1], pipes[1][0], pipes[2][0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = pipes[0][0], pipes[1][1], pipes[2][1]
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		closePipes(pipes)
		return nil, err
	}
	_ = pipes[0][0].Close()
	_ = pipes[1][1].Close()
	_ = pipes[2][1].Close()
	s.running(cmd.Process, nil, stdin, stdout, stderr)

	return func() {
		go func() {
			_, _ = io.Copy(stdin, s.ch)
			_ = stdin.Close()
		}()
		var outputs sync.WaitGroup
		outputs.Go(func() { forward(s.ch, stdout) })
		outputs.Go(func() { forward(s.ch.Stderr(), stderr) })
		exited := make(chan struct{})
		go func() {
			defer close(exited)
			s.report(cmd.Wait())
		}()
		go func() {
			outputs.Wait()
			_ = s.ch.CloseWrite()
			<-exited
			_ = s.ch.Close()
		}()
	}, nil
}

// forward copies what a program writes until it ends or the channel is gone,
// and closes the program's pipe.
func forward(dst io.Writer, src *os.File) {
	defer src.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := src.Read(buf)
		if n > 0 {
			if _, werr := dst.Write(buf[:n]); werr != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func closePipes(pipes [3][2]*os.File) {
	for _, p := range pipes {
		for _, f := range p {
			if f != nil {
				_ = f.Close()
			}
		}
	}
}

func (s *session) running(p *os.Process, tty *os.File, files ...*os.File) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.proc, s.tty, s.files = p, tty, files
}

// report sends how the program ended.
func (s *session) report(err error) {
	s.mu.Lock()
	s.proc, s.tty = nil, nil
	s.mu.Unlock()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		code := uint32(0)
		if err != nil {
			code = 255
		}
		_, _ = s.ch.SendRequest("exit-status", false, ssh.Marshal(struct{ Code uint32 }{code}))
		return
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		_, _ = s.ch.SendRequest("exit-signal", false, ssh.Marshal(struct {
			Signal     string
			CoreDumped bool
			Message    string
			Language   string
		}{signalName(status.Signal()), status.CoreDump(), "", ""}))
		return
	}
	_, _ = s.ch.SendRequest("exit-status", false, ssh.Marshal(struct{ Code uint32 }{uint32(exit.ExitCode())}))
}

// signals are those that RFC 4254 section 6.10 names.
func signals() map[string]syscall.Signal {
	return map[string]syscall.Signal{
		"ABRT": syscall.SIGABRT, "ALRM": syscall.SIGALRM, "FPE": syscall.SIGFPE, "HUP": syscall.SIGHUP,
		"ILL": syscall.SIGILL, "INT": syscall.SIGINT, "KILL": syscall.SIGKILL, "PIPE": syscall.SIGPIPE,
		"QUIT": syscall.SIGQUIT, "SEGV": syscall.SIGSEGV, "TERM": syscall.SIGTERM,
		"USR1": syscall.SIGUSR1, "USR2": syscall.SIGUSR2,
	}
}

func signalName(sig syscall.Signal) string {
	for name, s := range signals() {
		if s == sig {
			return name
		}
	}
	return strings.ReplaceAll(sig.String(), " ", "-") + "@overbrainer"
}

// signal passes a signal to the program's whole group.
func (s *session) signal(payload []byte) bool {
	var v struct{ Name string }
	if ssh.Unmarshal(payload, &v) != nil {
		return false
	}
	sig, ok := signals()[v.Name]
	if !ok {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.proc != nil && syscall.Kill(-s.proc.Pid, sig) == nil
}
