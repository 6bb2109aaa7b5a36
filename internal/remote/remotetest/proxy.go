package remotetest

import (
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Proxy passes TCP connections on to a server and can be told to misbehave.
type Proxy struct {
	Host string
	Port int

	target   string
	delay    time.Duration
	up, down line         // from the client, from the server
	budget   atomic.Int64 // bytes from the server until the cut; negative: none
	rate     atomic.Int64 // bytes a second that pass each way of a connection; 0: any

	mu     sync.Mutex
	thaw   chan struct{} // closed when nothing is frozen
	conns  map[net.Conn]bool
	closed bool
}

// line is what went one way.
type line struct{ taken, passed, most atomic.Int64 }

// take counts bytes that set out.
func (l *line) take(n int) {
	way := l.taken.Add(int64(n)) - l.passed.Load()
	for most := l.most.Load(); way > most && !l.most.CompareAndSwap(most, way); most = l.most.Load() {
	}
}

// StartProxy starts a proxy before a server, which delays each byte by delay
// in each direction. It ends with the test.
func StartProxy(t T, s *Server, delay time.Duration) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	thaw := make(chan struct{})
	close(thaw)
	p := &Proxy{
		Host: "127.0.0.1", Port: l.Addr().(*net.TCPAddr).Port,
		target: net.JoinHostPort(s.Host, strconv.Itoa(s.Port)),
		delay:  delay, thaw: thaw, conns: map[net.Conn]bool{},
	}
	p.budget.Store(-1)
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { p.serve(conn) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		p.mu.Lock()
		p.closed = true
		p.mu.Unlock()
		p.Thaw()
		p.Cut()
		serving.Wait()
	})
	return p
}

// Up is how many bytes clients sent so far.
func (p *Proxy) Up() int64 { return p.up.taken.Load() }

// Down is how many bytes servers sent so far.
func (p *Proxy) Down() int64 { return p.down.taken.Load() }

// Most is how many bytes were under way at once at most, from clients and from
// servers.
func (p *Proxy) Most() (up, down int64) { return p.up.most.Load(), p.down.most.Load() }

// Cut closes every connection.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for conn := range p.conns {
		_ = conn.Close()
	}
}

// CutAfter closes every connection once servers have sent n more bytes.
func (p *Proxy) CutAfter(n int64) { p.budget.Store(n) }

// Limit is how many bytes a second pass from now on, each way of each connection.
// Connections that begin after it hold little back, as a home's line does.
func (p *Proxy) Limit(rate int64) { p.rate.Store(rate) }

// Freeze keeps connections open and passes nothing on until Thaw.
func (p *Proxy) Freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.thaw:
		p.thaw = make(chan struct{})
	default:
	}
}

// Thaw ends a Freeze. What was held back is passed on.
func (p *Proxy) Thaw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.thaw:
	default:
		close(p.thaw)
	}
}

func (p *Proxy) frozen() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.thaw
}

// hold remembers a connection to be cut; false when the proxy is closed.
func (p *Proxy) hold(conn net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		_ = conn.Close()
		return false
	}
	p.conns[conn] = true
	return true
}

func (p *Proxy) serve(client net.Conn) {
	if !p.hold(client) {
		return
	}
	server, err := net.Dial("tcp", p.target)
	if err != nil || !p.hold(server) {
		_ = client.Close()
		return
	}
	if p.rate.Load() > 0 {
		for _, conn := range []net.Conn{client, server} {
			_ = conn.(*net.TCPConn).SetReadBuffer(512 << 10)
		}
	}
	var both sync.WaitGroup
	both.Go(func() { p.pass(server, client, &p.up, nil) })
	both.Go(func() { p.pass(client, server, &p.down, &p.budget) })
	both.Wait()
	p.mu.Lock()
	delete(p.conns, client)
	delete(p.conns, server)
	p.mu.Unlock()
}

// packet is what was read at once and when it may go on.
type packet struct {
	data []byte
	due  time.Time
}

// pass copies one direction until either side ends, then closes both.
func (p *Proxy) pass(dst, src net.Conn, way *line, budget *atomic.Int64) {
	queue := make(chan packet, 4096)
	var writing sync.WaitGroup
	writing.Go(func() {
		for pk := range queue {
			if wait := time.Until(pk.due); wait > 0 {
				<-time.After(wait)
			}
			<-p.frozen()
			if _, err := dst.Write(pk.data); err != nil {
				_ = src.Close()
			}
			way.passed.Add(int64(len(pk.data)))
		}
		_ = dst.Close()
	})
	var free time.Time // when the line has carried what was read
	for {
		buf := make([]byte, 64<<10)
		n, err := src.Read(buf)
		if n > 0 {
			way.take(n)
			free = p.carry(free, n)
			queue <- packet{buf[:n], time.Now().Add(p.delay)}
		}
		if budget != nil && budget.Load() >= 0 && budget.Add(-int64(n)) < 0 {
			budget.Store(-1)
			p.Cut()
		}
		if err != nil {
			break
		}
	}
	close(queue)
	_ = src.Close()
	writing.Wait()
}

// carry waits as long as the line takes for n bytes after it was free, and tells
// when it is free again.
func (p *Proxy) carry(free time.Time, n int) time.Time {
	rate := p.rate.Load()
	if rate <= 0 {
		return time.Time{}
	}
	const late = 20 * time.Millisecond // of a timer: it makes up for that
	if least := time.Now().Add(-late); free.Before(least) {
		free = least
	}
	free = free.Add(time.Duration(n) * time.Second / time.Duration(rate))
	if wait := time.Until(free); wait > 0 {
		<-time.After(wait)
	}
	return free
}
