package sim

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	"golang.org/x/crypto/ssh"

	"github.com/overbrainer/overbrainer/internal/remote/sshd"
)

// sshMode is the argument by which a holder starts its SSH server: a process
// of its own, because a program that waits for all children, as the holder
// does, would take the exit codes of its sessions away.
const sshMode = "ssh"

func (h *holder) startSSH() error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	small := containerSpec{Root: h.spec.Root, SSHEnv: h.spec.SSHEnv, OtherKey: h.spec.OtherKey, Refuses: h.spec.Refuses}
	go func() {
		_ = json.NewEncoder(w).Encode(small)
		_ = w.Close()
	}()
	_, err = h.fork(selfExe, []string{os.Args[0], "sim", "pod-init", sshMode}, os.Environ(), "/", r.Fd(), ^uintptr(0), fdListener)
	return err
}

// serveSSH answers SSH for a relocated pod with the keys that the bootstrap
// installed. Until it says that they are there connections are closed, as
// they are by a port behind which nobody listens.
func serveSSH() int {
	var spec containerSpec
	if err := json.NewDecoder(os.NewFile(fdSpec, "spec")).Decode(&spec); err != nil {
		return complain(err)
	}
	ln, err := net.FileListener(os.NewFile(fdListener, "listener"))
	if err != nil {
		return complain(err)
	}
	gate := &gate{conns: make(chan net.Conn), addr: ln.Addr(), done: make(chan struct{})}
	started := false
	for {
		c, err := ln.Accept()
		if err != nil {
			return complain(err)
		}
		if !started {
			cfg, err := sshConfig(spec)
			if err != nil {
				if !os.IsNotExist(err) {
					fmt.Fprintf(os.Stderr, "sshd: %v\n", err)
				}
				_ = c.Close()
				continue
			}
			cfg.Listener, started = gate, true
			go func() {
				if err := sshd.Serve(context.Background(), cfg); err != nil {
					fmt.Fprintf(os.Stderr, "sshd: %v\n", err)
				}
			}()
		}
		select {
		case gate.conns <- c:
		case <-gate.done:
			return setupFailed
		}
	}
}

func sshConfig(spec containerSpec) (sshd.Config, error) {
	if _, err := os.Stat(filepath.Join(spec.Root, sshdStarted)); err != nil {
		return sshd.Config{}, err
	}
	key, err := os.ReadFile(filepath.Join(spec.Root, "etc/ssh/ssh_host_ed25519_key"))
	if err != nil {
		return sshd.Config{}, fmt.Errorf("host key: %w", err)
	}
	signer, err := ssh.ParsePrivateKey(key)
	if err != nil {
		return sshd.Config{}, fmt.Errorf("host key: %w", err)
	}
	keys, err := os.ReadFile(filepath.Join(spec.Root, "root/.ssh/authorized_keys"))
	if err != nil {
		return sshd.Config{}, fmt.Errorf("authorized keys: %w", err)
	}
	if spec.OtherKey {
		if signer, err = newKey(); err != nil {
			return sshd.Config{}, err
		}
	}
	if spec.Refuses {
		stranger, err := newKey()
		if err != nil {
			return sshd.Config{}, err
		}
		keys = ssh.MarshalAuthorizedKey(stranger.PublicKey())
	}
	shell := "/bin/sh"
	if bash, err := exec.LookPath("bash"); err == nil {
		shell = bash
	}
	return sshd.Config{
		HostKey: signer, AuthorizedKeys: keys, Env: spec.SSHEnv, Shell: shell,
		Dir: filepath.Join(spec.Root, "root"),
	}, nil
}

// newKey makes a key that nobody expects.
func newKey() (ssh.Signer, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	return ssh.NewSignerFromKey(key)
}

// gate is a listener whose connections come from elsewhere.
type gate struct {
	conns chan net.Conn
	addr  net.Addr
	once  sync.Once
	done  chan struct{}
}

func (g *gate) Accept() (net.Conn, error) {
	select {
	case c := <-g.conns:
		return c, nil
	case <-g.done:
		return nil, net.ErrClosed
	}
}

func (g *gate) Close() error {
	g.once.Do(func() { close(g.done) })
	return nil
}

func (g *gate) Addr() net.Addr { return g.addr }
