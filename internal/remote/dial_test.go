package remote

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/overbrainer/overbrainer/internal/remote/remotetest"
)

func TestDialStages(t *testing.T) {
	s := remotetest.StartBuiltin(t, remotetest.Options{})
	silent := listen(t, func(net.Conn) {})
	tests := []struct {
		name   string
		change func(*Config)
		stage  Stage
	}{
		{"refused", func(c *Config) { c.Port = closedPort(t) }, StageConnect},
		{"silent", func(c *Config) { c.Port, c.HandshakeTimeout = silent, 100*time.Millisecond }, StageBanner},
		{"no SSH", func(c *Config) {
			c.Port = listen(t, func(nc net.Conn) {
				_, _ = nc.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
				_ = nc.Close()
			})
		}, StageBanner},
		{"closed at once", func(c *Config) { c.Port = listen(t, func(nc net.Conn) { _ = nc.Close() }) }, StageBanner},
		{"banner only", func(c *Config) {
			c.HandshakeTimeout = 100 * time.Millisecond
			c.Port = listen(t, func(nc net.Conn) { _, _ = nc.Write([]byte("hello\r\nSSH-2.0-x\r\n")) })
		}, StageHandshake},
		{"wrong host key", func(c *Config) { c.HostKey = remotetest.Key(t, "").PublicKey() }, StageHostKey},
		{"refused key", func(c *Config) { c.Signer = remotetest.Key(t, "") }, StageAuth},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cfg := config(s)
			test.change(&cfg)
			c, err := Dial(t.Context(), cfg)
			var dialErr *DialError
			if !errors.As(err, &dialErr) {
				t.Fatalf("client %v, error %v", c, err)
			}
			if dialErr.Stage != test.stage {
				t.Errorf("stage %s (%v)", dialErr.Stage, err)
			}
			if test.stage == StageAuth && dialErr.Fingerprint != ssh.FingerprintSHA256(cfg.Signer.PublicKey()) {
				t.Errorf("fingerprint %q", dialErr.Fingerprint)
			}
		})
	}
}

// A server with keys of other kinds only is not the pinned machine.
func TestDialOtherKindOfHostKey(t *testing.T) {
	s := remotetest.StartBuiltin(t, remotetest.Options{})
	cfg := config(s)
	cfg.HostKey = ecdsaKey(t)
	_, err := Dial(t.Context(), cfg)
	var dialErr *DialError
	if !errors.As(err, &dialErr) || dialErr.Stage != StageHostKey {
		t.Fatal(err)
	}
}

func TestDialCancelled(t *testing.T) {
	s := remotetest.StartBuiltin(t, remotetest.Options{})
	cfg := config(s)
	accepted := make(chan bool, 1)
	cfg.Port = listen(t, func(net.Conn) { accepted <- true })
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-accepted; cancel() }()
	if _, err := Dial(ctx, cfg); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

// A machine that falls silent is noticed within a minute, one that answers
// keepalives is kept for ever.
func TestKeepalive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := remotetest.Key(t, "")
		ours, theirs := pipe()
		go serveNothing(theirs, host)
		c, err := Dial(t.Context(), Config{
			Host: "pod", Port: 22, User: "root", Signer: remotetest.Key(t, ""), HostKey: host.PublicKey(),
			Dial: func(context.Context, string, string) (net.Conn, error) { return ours, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if err := c.Err(); err != nil {
			t.Fatalf("after a quiet hour: %v", err)
		}
		theirs.freeze()
		start := time.Now()
		<-c.Done()
		if took := time.Since(start); took > time.Minute || took < 30*time.Second {
			t.Errorf("noticed after %s", took)
		}
		if !errors.Is(c.Err(), ErrLost) {
			t.Error(c.Err())
		}
		_, err = c.Run(t.Context(), Command{Script: "true"})
		if !errors.Is(err, ErrLost) {
			t.Errorf("run afterwards: %v", err)
		}
		theirs.Close()
	})
}

func TestClose(t *testing.T) {
	s := remotetest.StartBuiltin(t, remotetest.Options{})
	c := dial(t, s, nil)
	running := make(chan error, 1)
	go func() {
		_, err := c.Run(t.Context(), Command{Script: "exec sleep 600"})
		running <- err
	}()
	if _, err := c.Run(t.Context(), Command{Script: "true"}); err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	if err := <-running; !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	<-c.Done()
}

// listen serves connections with a function and returns the port.
func listen(t *testing.T, serve func(net.Conn)) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var conns []net.Conn
	go func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, nc)
			mu.Unlock()
			serve(nc)
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		defer mu.Unlock()
		for _, nc := range conns {
			_ = nc.Close()
		}
	})
	return l.Addr().(*net.TCPAddr).Port
}

func closedPort(t *testing.T) int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
