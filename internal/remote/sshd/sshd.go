// Package sshd is a small SSH server for machines that exist only on paper: it
// lets a simulated pod be reached like a rented one, without root and without
// OpenSSH installed. Where the two could differ it does what OpenSSH does, so
// that a client that works against one works against the other.
package sshd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
)

const (
	// handshakeLimit bounds the time from accepting a connection to a
	// finished authentication.
	handshakeLimit = 30 * time.Second
	// maxConns is how many connections are served at once; further ones wait.
	maxConns = 128
	// maxSessions is how many sessions one connection may have open, the
	// default of OpenSSH's MaxSessions.
	maxSessions = 10
)

// Config says what is served and to whom.
type Config struct {
	// Listener accepts the connections. Serve closes it.
	Listener net.Listener
	// HostKey is the only host key offered.
	HostKey ssh.Signer
	// AuthorizedKeys is the text of an authorized_keys file. Options before a
	// key are ignored. A user name is not asked for: any is accepted.
	AuthorizedKeys []byte
	// Env is the whole environment of what is started, as "NAME=value".
	// SHELL, SSH_CLIENT, SSH_CONNECTION and, with a terminal, TERM are added.
	Env []string
	// Dir is the working directory of what is started; empty means "/".
	Dir string
	// Shell runs commands, as SHELL -c COMMAND; empty means "/bin/sh".
	Shell string
	// Log receives one line per event worth telling; nil discards them.
	Log func(string)
}

// Serve answers connections until ctx ends, then closes the listener and every
// connection and returns nil. Another error of the listener is returned.
//
// What was started is not killed, neither when its connection ends nor when
// Serve does: it reads an end of file and its writes fail, as under OpenSSH.
func Serve(ctx context.Context, cfg Config) error {
	s, err := newServer(cfg)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = cfg.Listener.Close() })
	defer stop()
	defer cfg.Listener.Close()

	var conns sync.WaitGroup
	defer conns.Wait()
	defer cancel()
	slots := make(chan struct{}, maxConns)
	for {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		conn, err := cfg.Listener.Accept()
		if ctx.Err() != nil {
			if err == nil {
				_ = conn.Close()
			}
			return nil
		}
		if err != nil {
			if !temporary(err) || !pause(ctx) {
				return fmt.Errorf("accept: %w", err)
			}
			<-slots
			continue
		}
		conns.Go(func() {
			defer func() { <-slots }()
			s.conn(ctx, conn)
		})
	}
}

// temporary tells an accept that failed for want of file descriptors, or for a
// connection that was gone already, from a listener that is closed.
func temporary(err error) bool {
	return !errors.Is(err, net.ErrClosed)
}

// pause waits a moment before the next accept; false means that ctx ended.
func pause(ctx context.Context) bool {
	t := time.NewTimer(50 * time.Millisecond)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// server is a Config made ready.
type server struct {
	cfg Config
	ssh *ssh.ServerConfig
}

func newServer(cfg Config) (*server, error) {
	if cfg.Listener == nil || cfg.HostKey == nil {
		return nil, errors.New("sshd: a listener and a host key are needed")
	}
	keys, err := parseKeys(cfg.AuthorizedKeys)
	if err != nil {
		return nil, err
	}
	if cfg.Dir == "" {
		cfg.Dir = "/"
	}
	if cfg.Shell == "" {
		cfg.Shell = "/bin/sh"
	}
	if cfg.Log == nil {
		cfg.Log = func(string) {}
	}
	sc := &ssh.ServerConfig{
		MaxAuthTries:  6,
		ServerVersion: "SSH-2.0-overbrainer",
		PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
			if !keys[string(key.Marshal())] {
				return nil, fmt.Errorf("key %s is not authorized", ssh.FingerprintSHA256(key))
			}
			return &ssh.Permissions{}, nil
		},
	}
	sc.AddHostKey(cfg.HostKey)
	return &server{cfg: cfg, ssh: sc}, nil
}

// parseKeys reads the lines of an authorized_keys file. Lines that are no key
// are skipped, as OpenSSH does.
func parseKeys(text []byte) (map[string]bool, error) {
	keys := map[string]bool{}
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		if key, _, _, _, err := ssh.ParseAuthorizedKey(line); err == nil {
			keys[string(key.Marshal())] = true
		}
	}
	if len(keys) == 0 {
		return nil, errors.New("sshd: no usable key in the authorized keys")
	}
	return keys, nil
}

// conn serves one connection to its end.
func (s *server) conn(ctx context.Context, nc net.Conn) {
	stop := context.AfterFunc(ctx, func() { _ = nc.Close() })
	defer stop()
	defer nc.Close()

	from := nc.RemoteAddr().String()
	_ = nc.SetDeadline(time.Now().Add(handshakeLimit))
	sc, channels, requests, err := ssh.NewServerConn(nc, s.ssh)
	if err != nil {
		s.cfg.Log(fmt.Sprintf("%s: handshake: %v", from, err))
		return
	}
	_ = nc.SetDeadline(time.Time{})
	s.cfg.Log(fmt.Sprintf("%s: accepted %s", from, sc.User()))
	// Keepalives are global requests that want any answer: this refuses each.
	go ssh.DiscardRequests(requests)

	var sessions sync.WaitGroup
	slots := make(chan struct{}, maxSessions)
	for nch := range channels {
		if nch.ChannelType() != "session" {
			_ = nch.Reject(ssh.UnknownChannelType, "only sessions are served")
			continue
		}
		select {
		case slots <- struct{}{}:
		default:
			_ = nch.Reject(ssh.ResourceShortage, "too many sessions")
			continue
		}
		ch, reqs, err := nch.Accept()
		if err != nil {
			<-slots
			continue
		}
		sessions.Go(func() {
			defer func() { <-slots }()
			newSession(s, nc, ch).serve(reqs)
		})
	}
	sessions.Wait()
	s.cfg.Log(fmt.Sprintf("%s: closed", from))
}
