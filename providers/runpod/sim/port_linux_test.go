package sim

import (
	"context"
	"fmt"
	"net"
	"testing"
)

// A reserved port is given to nobody who asks for any, and to a server that asks
// for it.
func TestReservedPort(t *testing.T) {
	reserved := map[int]bool{}
	for range 200 {
		port, release, err := reservePort()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(release)
		if reserved[port] {
			t.Fatalf("port %d is reserved twice", port)
		}
		reserved[port] = true
	}
	for range 2000 {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = ln.Close() })
		if port := portOf(ln); reserved[port] {
			t.Fatalf("port %d was given to somebody else", port)
		}
	}
	for port := range reserved {
		for _, addr := range []string{"0.0.0.0", "127.0.0.1"} {
			ln, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp4", fmt.Sprintf("%s:%d", addr, port))
			if err != nil {
				t.Fatalf("the server cannot listen on it: %v", err)
			}
			_ = ln.Close()
		}
	}
}
