package remote

import (
	"io"
	"net"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestPacketsAreNotTorn: the head of a packet stays here until its rest comes, and
// whatever else is written goes out at once.
func TestPacketsAreNotTorn(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	near, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	far, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	conn := newWatchedConn(near)
	for _, write := range []struct{ bytes, arrived int }{
		{10, 10}, {packetHead, 10}, {28700, 10 + packetHead + 28700},
		{packetHead, 10 + packetHead + 28700}, {1, 10 + 2*packetHead + 28701},
	} {
		if n, err := conn.Write(make([]byte, write.bytes)); n != write.bytes || err != nil {
			t.Fatal(n, err)
		}
		if got := waiting(t, far); got != write.arrived {
			t.Errorf("after %d bytes %d have arrived, want %d", write.bytes, got, write.arrived)
		}
	}
	_ = near.Close()
	if all, err := io.ReadAll(far); err != nil || len(all) != 10+2*packetHead+28701 {
		t.Errorf("%d bytes came in all, %v", len(all), err)
	}
	if _, err := conn.Write(make([]byte, packetHead)); err == nil {
		t.Error("a closed connection was written to")
	}
}

// waiting is how many bytes a connection has to be read.
func waiting(t *testing.T, conn net.Conn) (n int) {
	t.Helper()
	raw, err := conn.(syscall.Conn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if cerr := raw.Control(func(fd uintptr) { n, err = unix.IoctlGetInt(int(fd), unix.TIOCINQ) }); cerr != nil || err != nil {
		t.Fatal(cerr, err)
	}
	return n
}
