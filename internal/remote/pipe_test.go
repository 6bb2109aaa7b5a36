package remote

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"io"
	"net"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh"
)

// frozenConn is one end of a pipe that can stop passing anything on.
type frozenConn struct {
	net.Conn
	mu   sync.Mutex
	stop bool
	gone chan struct{}
	once sync.Once
}

// pipe is a connection within the process, of which the second end can be
// frozen. Writes do not wait for reads.
func pipe() (net.Conn, *frozenConn) {
	a, b := net.Pipe()
	theirs := &frozenConn{Conn: b, gone: make(chan struct{})}
	return buffered(a), theirs
}

func (c *frozenConn) freeze() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stop = true
}

func (c *frozenConn) frozen() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stop
}

func (c *frozenConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.frozen() {
		<-c.gone
		return 0, io.EOF
	}
	return n, err
}

func (c *frozenConn) Close() error {
	c.once.Do(func() { close(c.gone) })
	return c.Conn.Close()
}

// bufferedConn writes in the background, as a socket does.
type bufferedConn struct {
	net.Conn
	queue chan []byte
	done  chan struct{}
	once  sync.Once
}

func buffered(c net.Conn) *bufferedConn {
	b := &bufferedConn{Conn: c, queue: make(chan []byte, 1024), done: make(chan struct{})}
	go func() {
		for {
			select {
			case p := <-b.queue:
				if _, err := b.Conn.Write(p); err != nil {
					return
				}
			case <-b.done:
				return
			}
		}
	}()
	return b
}

func (b *bufferedConn) Write(p []byte) (int, error) {
	select {
	case b.queue <- append([]byte(nil), p...):
		return len(p), nil
	case <-b.done:
		return 0, net.ErrClosed
	}
}

func (b *bufferedConn) Close() error {
	b.once.Do(func() { close(b.done) })
	return b.Conn.Close()
}

// serveNothing is an SSH server that accepts every key and offers nothing.
func serveNothing(nc net.Conn, host ssh.Signer) {
	serve(nc, host, func(ch ssh.NewChannel) { _ = ch.Reject(ssh.Prohibited, "nothing") })
}

// serve is an SSH server that accepts every key and gives away each channel that
// is asked for.
func serve(nc net.Conn, host ssh.Signer, open func(ssh.NewChannel)) {
	cfg := &ssh.ServerConfig{PublicKeyCallback: func(ssh.ConnMetadata, ssh.PublicKey) (*ssh.Permissions, error) {
		return &ssh.Permissions{}, nil
	}}
	cfg.AddHostKey(host)
	_, channels, requests, err := ssh.NewServerConn(buffered(nc), cfg)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for ch := range channels {
		open(ch)
	}
}

func ecdsaKey(t *testing.T) ssh.PublicKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	public, err := ssh.NewPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	return public
}
