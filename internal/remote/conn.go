package remote

import (
	"bytes"
	"net"
	"sync/atomic"
	"time"
)

// How much is taken from the socket at once. The SSH library asks for a few
// bytes, then for a packet's rest; asking the kernel for hundreds of kilobytes
// instead saves most of the system calls of a download. A connection begins with
// a few, which is all that one that is merely followed ever needs.
const (
	firstBuffer = 8 << 10
	readBuffer  = 256 << 10
)

// watchedConn is a connection that knows when the other side was last heard
// and whether it ever introduced itself as an SSH server.
type watchedConn struct {
	net.Conn
	buf, rest []byte // only touched by Read, which SSH calls from one goroutine

	start     time.Time
	heard     atomic.Int64 // when bytes last arrived, in nanoseconds since start
	sawBanner atomic.Bool
	head      []byte // the first bytes, until the banner was seen
}

func newWatchedConn(nc net.Conn) *watchedConn {
	return &watchedConn{Conn: nc, buf: make([]byte, firstBuffer), start: time.Now()}
}

func (c *watchedConn) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		n, err := c.Conn.Read(c.buf)
		if n <= 0 {
			return 0, err
		}
		c.heard.Store(int64(time.Since(c.start)))
		c.rest = c.buf[:n]
		if n == len(c.buf) && n < readBuffer {
			c.buf = make([]byte, min(4*n, readBuffer))
		}
		if !c.sawBanner.Load() {
			c.lookForBanner(c.rest)
		}
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// lookForBanner notes a line that begins with SSH-. Servers may send other
// lines before it.
func (c *watchedConn) lookForBanner(b []byte) {
	const limit = 64 << 10
	if len(c.head) < limit {
		c.head = append(c.head, b...)
	}
	if bytes.HasPrefix(c.head, []byte("SSH-")) || bytes.Contains(c.head, []byte("\nSSH-")) {
		c.sawBanner.Store(true)
		c.head = nil
	}
}

// silence is how long nothing arrived.
func (c *watchedConn) silence() time.Duration {
	return time.Since(c.start) - time.Duration(c.heard.Load())
}

// packetHead is how long the first piece of every large packet is: what the
// library's buffer holds. The rest follows at once, in a piece of its own.
const packetHead = 4096

// Write lets the head of a packet wait for its rest. Sent by themselves, half of
// all segments were short, and each woke the other side.
func (c *watchedConn) Write(p []byte) (int, error) {
	if len(p) == packetHead {
		return writeMore(c.Conn, p)
	}
	return c.Conn.Write(p)
}
