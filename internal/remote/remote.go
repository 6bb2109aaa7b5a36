// Package remote is one SSH connection to one machine: dialled with a pinned
// host key, watched by keepalives, used to run POSIX shell scripts and to move
// files in both directions.
//
// The other side needs an SSH server and plain tools: sh, tar, dd, cat, mkdir,
// mv, rm, chmod, and one of openssl, python3 or sha256sum, of any make (busybox
// will do). With gzip as well, uploads over slow lines are compressed. Neither sftp nor rsync is used. Nothing of the user's SSH
// configuration, keys, agent or known hosts is read or written.
package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
)

// Config says whom to connect to and how to know it.
type Config struct {
	Host string // name or address
	Port int    // 1 to 65535
	User string
	// Signer is the only key offered to the machine.
	Signer ssh.Signer
	// HostKey is the only key accepted from the machine.
	HostKey ssh.PublicKey
	// Dial opens the connection; nil means a plain TCP dialer.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// ConnectTimeout bounds Dial; 0 means 10 s.
	ConnectTimeout time.Duration
	// HandshakeTimeout bounds everything from the open connection to the
	// accepted key; 0 means 10 s.
	HandshakeTimeout time.Duration
	// Keepalive is how long the machine may be silent before it is asked for
	// an answer, and again after each further one; 0 means 15 s.
	Keepalive time.Duration
	// KeepaliveMisses is after how many unanswered questions the connection
	// counts as lost; 0 means 2, so that silence is noticed after 45 s.
	KeepaliveMisses int
}

func (c Config) withDefaults() (Config, error) {
	if c.Host == "" || c.User == "" || c.Port < 1 || c.Port > 65535 {
		return c, fmt.Errorf("remote: host %q, port %d, user %q: each is needed", c.Host, c.Port, c.User)
	}
	if c.Signer == nil || c.HostKey == nil {
		return c, errors.New("remote: a client key and a pinned host key are needed")
	}
	if c.Dial == nil {
		c.Dial = (&net.Dialer{}).DialContext
	}
	if c.ConnectTimeout <= 0 {
		c.ConnectTimeout = 10 * time.Second
	}
	if c.HandshakeTimeout <= 0 {
		c.HandshakeTimeout = 10 * time.Second
	}
	if c.Keepalive <= 0 {
		c.Keepalive = 15 * time.Second
	}
	if c.KeepaliveMisses <= 0 {
		c.KeepaliveMisses = 2
	}
	return c, nil
}

// ErrLost is what a connection ends with when the machine stopped answering.
var ErrLost = errors.New("connection lost: the machine stopped answering")

// ErrClosed is what a connection ends with when Close was called.
var ErrClosed = errors.New("connection closed")

// maxSessions is how many sessions are open at once: OpenSSH allows ten on one
// connection unless it is configured otherwise.
const maxSessions = 10

// Client is a connection to a machine. Its methods may be called concurrently.
type Client struct {
	conn     *watchedConn
	ssh      ssh.Conn
	sessions chan struct{} // one element per open session

	done chan struct{}
	mu   sync.Mutex
	err  error // why it ended; set before done is closed
	// distance is the shortest round trip seen; 0: none yet
	distance time.Duration

	tools toolbox
	pace  pace
}

// Dial connects. A machine that shows another host key than the pinned one is
// never spoken to. The error is a *DialError, unless the Config is incomplete.
func Dial(ctx context.Context, cfg Config) (*Client, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	addr := net.JoinHostPort(cfg.Host, strconv.Itoa(cfg.Port))
	connectCtx, cancel := context.WithTimeout(ctx, cfg.ConnectTimeout)
	nc, err := cfg.Dial(connectCtx, "tcp", addr)
	cancel()
	if err != nil {
		return nil, &DialError{Stage: StageConnect, Addr: addr, Err: firstError(ctx.Err(), err)}
	}
	conn := newWatchedConn(nc)
	sc, err := handshake(ctx, conn, addr, cfg)
	if err != nil {
		_ = nc.Close()
		return nil, err
	}
	c := &Client{
		conn:     conn,
		ssh:      sc,
		sessions: make(chan struct{}, maxSessions),
		done:     make(chan struct{}),
	}
	go func() {
		err := sc.Wait()
		c.end(fmt.Errorf("connection ended: %w", err))
	}()
	go c.keepAlive(cfg.Keepalive, cfg.KeepaliveMisses)
	go func() { _, _ = c.roundTrip(context.Background()) }() // while the line is idle
	return c, nil
}

// Done is closed when the connection ended, for whatever reason.
func (c *Client) Done() <-chan struct{} { return c.done }

// Err is nil while the connection holds, and the reason afterwards: ErrLost,
// ErrClosed, or what the network reported.
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Heard is when something last came from the machine.
func (c *Client) Heard() time.Time { return time.Now().Add(-c.conn.silence()) }

// Close ends the connection and everything on it. Programs started on the
// machine are not killed.
func (c *Client) Close() error {
	c.end(ErrClosed)
	return nil
}

// end closes the connection for a reason; only the first reason counts. The
// socket itself is closed: a farewell could block on a peer that is gone.
func (c *Client) end(reason error) {
	c.mu.Lock()
	first := c.err == nil
	if first {
		c.err = reason
	}
	c.mu.Unlock()
	if first {
		_ = c.conn.Close()
		close(c.done)
	}
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
