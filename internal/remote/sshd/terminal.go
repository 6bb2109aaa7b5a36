package sshd

import (
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/creack/pty"
	"golang.org/x/crypto/ssh"
	"golang.org/x/sys/unix"
)

func (s *session) askTerminal(payload []byte) bool {
	var v struct {
		Term                      string
		Cols, Rows, Width, Height uint32
		Modes                     string
	}
	if ssh.Unmarshal(payload, &v) != nil || strings.Contains(v.Term, "\x00") {
		return false
	}
	s.term, s.size = v.Term, winsize(v.Cols, v.Rows, v.Width, v.Height)
	return true
}

func (s *session) resize(payload []byte) bool {
	var v struct{ Cols, Rows, Width, Height uint32 }
	if ssh.Unmarshal(payload, &v) != nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tty != nil && setSize(s.tty, winsize(v.Cols, v.Rows, v.Width, v.Height))
}

func winsize(cols, rows, width, height uint32) *pty.Winsize {
	return &pty.Winsize{Cols: uint16(cols), Rows: uint16(rows), X: uint16(width), Y: uint16(height)}
}

// prepareTerminal runs cmd as the leader of a terminal. Closing the terminal's
// other side hangs it up, as a closed connection should.
func (s *session) prepareTerminal(cmd *exec.Cmd) (func(), error) {
	blocking, err := pty.StartWithSize(cmd, s.size)
	if err != nil {
		return nil, err
	}
	tty, err := pollable(blocking)
	if err != nil {
		return nil, err
	}
	s.running(cmd.Process, tty, tty)
	return func() {
		go func() { _, _ = io.Copy(tty, s.ch) }()
		copied := make(chan struct{})
		go func() {
			defer close(copied)
			_, _ = io.Copy(s.ch, tty)
		}()
		go func() {
			err := cmd.Wait()
			<-copied
			_ = s.ch.CloseWrite()
			s.report(err)
			_ = s.ch.Close()
		}()
	}, nil
}

// pollable is a terminal whose Close ends a Read that is under way, which it
// does not for a file in blocking mode. The given file is closed.
func pollable(tty *os.File) (*os.File, error) {
	defer tty.Close()
	fd, err := unix.FcntlInt(tty.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), tty.Name()), nil
}

// setSize does not ask for the file's descriptor, which would make it block.
func setSize(tty *os.File, size *pty.Winsize) bool {
	conn, err := tty.SyscallConn()
	if err != nil {
		return false
	}
	ok := false
	err = conn.Control(func(fd uintptr) {
		ok = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ,
			&unix.Winsize{Row: size.Rows, Col: size.Cols, Xpixel: size.X, Ypixel: size.Y}) == nil
	})
	return err == nil && ok
}
