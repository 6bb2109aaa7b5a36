//go:build !linux

package remote

import "net"

func writeMore(nc net.Conn, p []byte) (int, error) { return nc.Write(p) }
