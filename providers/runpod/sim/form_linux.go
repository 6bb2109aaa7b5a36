package sim

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// chooseForm decides how pods run: as asked, or in the root form where a trial
// of it works.
func (o Options) chooseForm() (string, error) {
	switch o.Form {
	case FormRelocated:
		return FormRelocated, nil
	case FormRoot:
		if err := o.tryRoot(); err != nil {
			return "", fmt.Errorf("pods cannot run in their root form: %w", err)
		}
		return FormRoot, nil
	case "":
		if o.tryRoot() == nil {
			return FormRoot, nil
		}
		return FormRelocated, nil
	}
	return "", fmt.Errorf("unknown form %q: %s or %s", o.Form, FormRoot, FormRelocated)
}

// tryRoot makes a container whose main process does nothing.
func (o Options) tryRoot() error {
	if os.Geteuid() != 0 {
		return errors.New("not root")
	}
	if findSSHD() == "" {
		return errors.New("no sshd on this machine")
	}
	dir := filepath.Join(o.Home, podsDir, "trial")
	defer func() { _ = removeDisk(dir) }()
	spec := containerSpec{
		ID: "trial", Form: FormRoot, Dir: dir, Hide: []string{o.Home},
		Cmd: []string{"/bin/sh", "-c", "true"}, Env: []string{"PATH=" + imagePath},
	}
	if err := spec.prepare(); err != nil {
		return err
	}
	var said strings.Builder
	p, err := startProcess(o.Init, spec, nil, func(r io.Reader) { _, _ = io.Copy(&said, r) })
	if err != nil {
		return err
	}
	<-p.done
	if p.code != 0 {
		return fmt.Errorf("trial exited with %d: %s", p.code, strings.TrimSpace(said.String()))
	}
	return nil
}

// reservePort keeps a loopback port for a program that will listen on it. Nobody
// is given it by chance until release: among many pods a port that was merely
// found free is taken before a server gets to it.
func reservePort() (port int, release func(), err error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, nil, err
	}
	release = func() { _ = unix.Close(fd) }
	// Bound and not listening, it lets another one listen that reuses addresses
	// as well, as servers do.
	if err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err == nil {
		err = unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	}
	var at unix.Sockaddr
	if err == nil {
		at, err = unix.Getsockname(fd)
	}
	if err != nil {
		release()
		return 0, nil, err
	}
	return at.(*unix.SockaddrInet4).Port, release, nil
}

func findSSHD() string {
	for _, path := range []string{"/usr/sbin/sshd", "/usr/local/sbin/sshd", "/usr/bin/sshd"} {
		if _, err := exec.LookPath(path); err == nil {
			return path
		}
	}
	return ""
}
