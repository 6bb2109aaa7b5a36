package sim

import (
	"io"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// forwarder is the public SSH port of a pod: it hands connections on to
// whatever serves SSH inside, and is the place where a network can fail.
type forwarder struct {
	ln    net.Listener
	sent  atomic.Int64 // bytes to the client
	taken atomic.Int64 // bytes from the client

	mu     sync.Mutex
	inner  int
	conns  map[net.Conn]bool
	until  time.Time // the way is cut until then
	silent bool      // accepts and says nothing
	every  int64     // bytes to the client between cuts
	budget int64     // bytes until the next cut
	cuts   int       // how many cuts are left
	pace   int64     // bytes a second to the client at most; 0: no limit

	reached func() // whatever serves SSH inside was asked for and is there
}

// newForwarder opens a port, any free one where it is 0.
func newForwarder(port int, reached func()) (*forwarder, error) {
	ln, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, err
	}
	f := &forwarder{ln: ln, conns: map[net.Conn]bool{}, reached: reached}
	go f.serve()
	return f, nil
}

func (f *forwarder) port() int { return portOf(f.ln) }

func portOf(ln net.Listener) int { return ln.Addr().(*net.TCPAddr).Port }

// freeListener listens on a free loopback port.
func freeListener() (*net.TCPListener, error) {
	return net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
}

// to says where connections go from now on.
func (f *forwarder) to(port int) {
	f.mu.Lock()
	f.inner = port
	f.mu.Unlock()
}

func (f *forwarder) serve() {
	for {
		c, err := f.ln.Accept()
		if err != nil {
			return
		}
		go f.handle(c)
	}
}

func (f *forwarder) handle(c net.Conn) {
	defer c.Close()
	if !f.keep(c) {
		return
	}
	defer f.forget(c)
	f.mu.Lock()
	port, silent := f.inner, f.silent
	f.mu.Unlock()
	if silent {
		_, _ = io.Copy(io.Discard, c)
		return
	}
	inner, err := net.DialTimeout("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), time.Second)
	if err != nil {
		return
	}
	defer inner.Close()
	f.reached()
	if !f.keep(inner) {
		return
	}
	defer f.forget(inner)
	var both sync.WaitGroup
	both.Go(func() { f.copy(inner, c, &f.taken, false) })
	both.Go(func() { f.copy(c, inner, &f.sent, true) })
	both.Wait()
}

// copy moves bytes one way until either side ends.
func (f *forwarder) copy(dst, src net.Conn, n *atomic.Int64, out bool) {
	buf := make([]byte, 64<<10)
	for {
		k, err := src.Read(buf)
		if k > 0 {
			if out && f.spend(int64(k)) {
				_ = dst.Close()
				_ = src.Close()
				return
			}
			if out {
				time.Sleep(f.delay(k))
			}
			n.Add(int64(k))
			if _, err := dst.Write(buf[:k]); err != nil {
				_ = src.Close()
				return
			}
		}
		if err != nil {
			if half, is := dst.(*net.TCPConn); is {
				_ = half.CloseWrite()
			}
			return
		}
	}
}

// spend counts bytes against the next cut and reports whether it is due.
func (f *forwarder) spend(n int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cuts == 0 {
		return false
	}
	if f.budget -= n; f.budget > 0 {
		return false
	}
	f.budget = f.every
	f.cuts--
	return true
}

// delay is how long bytes to the client take on a slow way.
func (f *forwarder) delay(n int) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pace <= 0 {
		return 0
	}
	return time.Duration(n) * time.Second / time.Duration(f.pace)
}

// slow limits the bytes a second that each connection sends to the client.
func (f *forwarder) slow(pace int64) {
	f.mu.Lock()
	f.pace = pace
	f.mu.Unlock()
}

// keep notes a connection so that it can be cut; false means that the way is
// cut now.
func (f *forwarder) keep(c net.Conn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Now().Before(f.until) || f.conns == nil {
		return false
	}
	f.conns[c] = true
	return true
}

func (f *forwarder) forget(c net.Conn) {
	f.mu.Lock()
	delete(f.conns, c)
	f.mu.Unlock()
}

// drop cuts every connection, and refuses new ones for so long.
func (f *forwarder) drop(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.until = time.Now().Add(d)
	for c := range f.conns {
		_ = c.Close()
	}
}

// cutEvery cuts the connection whenever so many bytes went to the client, n
// times in all.
func (f *forwarder) cutEvery(bytes int64, n int) {
	f.mu.Lock()
	f.every, f.budget, f.cuts = bytes, bytes, n
	f.mu.Unlock()
}

func (f *forwarder) setSilent(on bool) {
	f.mu.Lock()
	f.silent = on
	f.mu.Unlock()
}

// mend ends whatever was wrong with the way. A connection that nothing answered
// stays so; the next one is served.
func (f *forwarder) mend() {
	f.mu.Lock()
	f.until, f.silent, f.cuts, f.pace = time.Time{}, false, 0, 0
	f.mu.Unlock()
}

func (f *forwarder) close() {
	_ = f.ln.Close()
	f.mu.Lock()
	for c := range f.conns {
		_ = c.Close()
	}
	f.conns = nil
	f.mu.Unlock()
}
