package sshd

import (
	"fmt"
	"net"
	"os"
	"strings"
	"sync"

	"github.com/creack/pty"
	"golang.org/x/crypto/ssh"
)

// session is one channel: at most one program, with or without a terminal.
type session struct {
	srv  *server
	nc   net.Conn
	ch   ssh.Channel
	env  []string
	size *pty.Winsize // nil: no terminal was asked for
	term string

	mu    sync.Mutex // guards what follows
	proc  *os.Process
	tty   *os.File
	files []*os.File // our ends of what the program has as its standard files
}

func newSession(s *server, nc net.Conn, ch ssh.Channel) *session {
	return &session{srv: s, nc: nc, ch: ch}
}

// serve answers the requests of the channel until it is closed or lost. The
// program, if it still runs, is left with closed pipes or a terminal that was
// hung up; it is neither killed nor waited for.
func (s *session) serve(requests <-chan *ssh.Request) {
	defer s.hangUp()
	defer s.ch.Close()
	started := false
	for req := range requests {
		ok := false
		switch req.Type {
		case "exec", "shell":
			if started {
				break
			}
			var command struct{ Text string }
			if req.Type == "exec" && ssh.Unmarshal(req.Payload, &command) != nil {
				break
			}
			start, err := s.prepare(req.Type == "shell", command.Text)
			if err != nil {
				s.srv.cfg.Log(fmt.Sprintf("%s: start: %v", s.nc.RemoteAddr(), err))
				break
			}
			started = true
			// The answer goes first: what the program writes comes after it.
			if req.WantReply {
				_ = req.Reply(true, nil)
			}
			start()
			continue
		case "env":
			ok = s.setEnv(req.Payload)
		case "pty-req":
			ok = !started && s.askTerminal(req.Payload)
		case "window-change":
			ok = s.resize(req.Payload)
		case "signal":
			ok = s.signal(req.Payload)
		}
		if req.WantReply {
			_ = req.Reply(ok, nil)
		}
	}
}

func (s *session) hangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.files {
		_ = f.Close()
	}
}

// setEnv takes the variables that OpenSSH takes by default on most systems.
func (s *session) setEnv(payload []byte) bool {
	var v struct{ Name, Value string }
	if ssh.Unmarshal(payload, &v) != nil || len(s.env) >= 32 {
		return false
	}
	if v.Name != "LANG" && !strings.HasPrefix(v.Name, "LC_") || strings.ContainsAny(v.Name, "=\x00") ||
		strings.Contains(v.Value, "\x00") {
		return false
	}
	s.env = append(s.env, v.Name+"="+v.Value)
	return true
}
