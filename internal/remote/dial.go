package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

// Stage is how far a connection came before it failed.
type Stage string

// The stages of a Dial, in order.
const (
	// StageConnect: no connection came about (refused, unreachable, timeout).
	StageConnect Stage = "connect"
	// StageBanner: connected, but nothing that speaks SSH answered.
	StageBanner Stage = "banner"
	// StageHandshake: an SSH server answered, but broke off or fell silent.
	StageHandshake Stage = "handshake"
	// StageHostKey: the server has another host key than the pinned one.
	StageHostKey Stage = "host_key"
	// StageAuth: the right machine refused our key.
	StageAuth Stage = "auth"
)

// DialError tells how far a connection came and why it went no further.
type DialError struct {
	Stage Stage
	Addr  string // host:port
	// Fingerprint is that of the refused client key (StageAuth) or of the
	// host key that was shown (StageHostKey, where it showed one).
	Fingerprint string
	Err         error
}

func (e *DialError) Error() string {
	switch e.Stage {
	case StageConnect:
		return fmt.Sprintf("connect to %s: %v", e.Addr, e.Err)
	case StageBanner:
		return fmt.Sprintf("no SSH server answered at %s: %v", e.Addr, e.Err)
	case StageHostKey:
		return fmt.Sprintf("the machine at %s has not the host key it was given: %v", e.Addr, e.Err)
	case StageAuth:
		return fmt.Sprintf("the machine at %s refused the key %s: %v", e.Addr, e.Fingerprint, e.Err)
	default:
		return fmt.Sprintf("SSH handshake with %s: %v", e.Addr, e.Err)
	}
}

// Unwrap gives the cause.
func (e *DialError) Unwrap() error { return e.Err }

// errHostKey refuses a host key.
var errHostKey = errors.New("host key mismatch")

// ciphers in the order of their speed on processors with AES instructions,
// which every machine with a GPU has.
func ciphers() []string {
	return []string{
		ssh.CipherAES128GCM, ssh.CipherAES256GCM, ssh.CipherChaCha20Poly1305,
		ssh.CipherAES128CTR, ssh.CipherAES192CTR, ssh.CipherAES256CTR,
	}
}

// handshake makes an SSH connection of an open one, within the time allowed.
func handshake(ctx context.Context, conn *watchedConn, addr string, cfg Config) (ssh.Conn, error) {
	// The deadline bounds each read and write; a context that ends early
	// pulls it to the present.
	_ = conn.SetDeadline(time.Now().Add(cfg.HandshakeTimeout))
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()

	fail := &DialError{Stage: StageHandshake, Addr: addr}
	pinned := cfg.HostKey.Marshal()
	sshConfig := &ssh.ClientConfig{
		Config:            ssh.Config{Ciphers: ciphers()},
		User:              cfg.User,
		Auth:              []ssh.AuthMethod{ssh.PublicKeys(cfg.Signer)},
		HostKeyAlgorithms: []string{cfg.HostKey.Type()},
		HostKeyCallback: func(_ string, _ net.Addr, key ssh.PublicKey) error {
			if !bytes.Equal(key.Marshal(), pinned) {
				fail.Stage, fail.Fingerprint = StageHostKey, ssh.FingerprintSHA256(key)
				return fmt.Errorf("%w: it showed %s, pinned is %s", errHostKey,
					ssh.FingerprintSHA256(key), ssh.FingerprintSHA256(cfg.HostKey))
			}
			return nil
		},
	}
	sc, channels, requests, err := ssh.NewClientConn(conn, addr, sshConfig)
	if err == nil && !stop() {
		_ = sc.Close()
		err = ctx.Err()
	}
	if err != nil {
		fail.classify(conn, err, cfg)
		fail.Err = firstError(ctx.Err(), errors.Unwrap(err), err)
		return nil, fail
	}
	_ = conn.SetDeadline(time.Time{})
	go ssh.DiscardRequests(requests)
	go func() {
		for ch := range channels {
			_ = ch.Reject(ssh.Prohibited, "nothing is served here")
		}
	}()
	return sc, nil
}

// classify finds the stage of a failed handshake.
func (e *DialError) classify(conn *watchedConn, err error, cfg Config) {
	var algorithms *ssh.AlgorithmNegotiationError
	switch {
	case e.Stage == StageHostKey:
	case !conn.sawBanner.Load():
		e.Stage = StageBanner
	case errors.As(err, &algorithms) && strings.Contains(err.Error(), "host key"):
		e.Stage = StageHostKey
	case strings.Contains(err.Error(), "unable to authenticate"):
		e.Stage, e.Fingerprint = StageAuth, ssh.FingerprintSHA256(cfg.Signer.PublicKey())
	}
}
