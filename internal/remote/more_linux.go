package remote

import (
	"errors"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// writeMore writes bytes that others follow: the kernel may keep them for those,
// for a fifth of a second at most (MSG_MORE).
func writeMore(nc net.Conn, p []byte) (n int, err error) {
	conn, is := nc.(syscall.Conn)
	if !is {
		return nc.Write(p)
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var failed error
	err = raw.Write(func(fd uintptr) (done bool) {
		for failed == nil && n < len(p) {
			var sent int
			sent, failed = unix.SendmsgN(int(fd), p[n:], nil, nil, unix.MSG_MORE|unix.MSG_NOSIGNAL)
			switch {
			case errors.Is(failed, unix.EAGAIN):
				failed = nil
				return false // until it can be written to, or its deadline
			case errors.Is(failed, unix.EINTR):
				failed = nil
			default:
				n += max(sent, 0)
			}
		}
		return true
	})
	return n, firstError(err, failed)
}
