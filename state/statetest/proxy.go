package statetest

import (
	"bytes"
	"net"
	"sync"
	"testing"
)

// Proxy stands between stores and a server, and can let the network fail.
type Proxy struct {
	listener net.Listener
	server   string // address, or the path of a socket

	mu    sync.Mutex
	down  bool
	conns map[net.Conn]bool
	lose  *loss
}

// loss is a request whose answer, or which itself, gets lost.
type loss struct {
	pattern []byte
	request bool // never reaches the server
	then    func()
}

// NewProxy listens on a loopback port in front of the server's address.
func NewProxy(t *testing.T, server string) *Proxy {
	t.Helper()
	p, stop, err := StartProxy(server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return p
}

// StartProxy is NewProxy for what is no Go test.
func StartProxy(server string) (p *Proxy, stop func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	p = &Proxy{listener: listener, server: server, conns: map[net.Conn]bool{}}
	var serving sync.WaitGroup
	serving.Go(func() { p.serve(&serving) })
	return p, func() {
		listener.Close()
		p.Down()
		serving.Wait()
	}, nil
}

// Addr is where the stores connect.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Down cuts every connection and takes no new one.
func (p *Proxy) Down() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = true
	for c := range p.conns {
		c.Close()
	}
}

// Up ends Down.
func (p *Proxy) Up() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = false
}

// LoseAnswer lets the next request with the pattern in it reach the server,
// and cuts the connection instead of passing on the answer, after then ran.
func (p *Proxy) LoseAnswer(pattern string, then func()) {
	p.arm(&loss{pattern: []byte(pattern), then: then})
}

// LoseRequest cuts the connection before the next request with the pattern in
// it reaches the server.
func (p *Proxy) LoseRequest(pattern string) {
	p.arm(&loss{pattern: []byte(pattern), request: true, then: func() {}})
}

func (p *Proxy) arm(l *loss) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lose = l
}

// Armed reports whether a loss that was asked for has not happened.
func (p *Proxy) Armed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lose != nil
}

// taken gives the loss that these bytes of a client trigger, once.
func (p *Proxy) taken(data []byte) *loss {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l := p.lose; l != nil && bytes.Contains(data, l.pattern) {
		p.lose = nil
		return l
	}
	return nil
}

func (p *Proxy) serve(serving *sync.WaitGroup) {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil || !p.keep(client, server) {
			client.Close()
			if err == nil {
				server.Close()
			}
			continue
		}
		serving.Go(func() { p.pass(client, server) })
	}
}

func (p *Proxy) keep(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.down {
		return false
	}
	for _, c := range conns {
		p.conns[c] = true
	}
	return true
}

// pass copies both ways until one side ends or a loss happens.
func (p *Proxy) pass(client, server net.Conn) {
	lost := make(chan *loss, 1)
	var ends sync.WaitGroup
	ends.Go(func() {
		defer server.Close()
		buf := make([]byte, 64<<10)
		for {
			n, err := client.Read(buf)
			if l := p.taken(buf[:n]); l != nil {
				if l.request {
					client.Close()
					return
				}
				lost <- l
			}
			if n > 0 {
				if _, err := server.Write(buf[:n]); err != nil {
					return
				}
			}
			if err != nil {
				return
			}
		}
	})
	ends.Go(func() {
		defer client.Close()
		buf := make([]byte, 64<<10)
		for {
			n, err := server.Read(buf)
			select {
			case l := <-lost:
				if n > 0 {
					l.then()
				}
				return
			default:
			}
			if n > 0 {
				if _, err := client.Write(buf[:n]); err != nil {
					return
				}
			}
			if err != nil {
				return
			}
		}
	})
	ends.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, client)
	delete(p.conns, server)
}
