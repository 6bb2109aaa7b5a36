// Package plugin carries the provider contract between two processes: Serve
// offers a provider from a process of its own, Start launches such a process
// and gives back a provider like any other.
//
// The transport is gRPC over a unix socket with certificates made for each
// start, so that nobody else on the machine can call a provider that holds an
// account's key. The protocol is in proto/, generated code in providerpb.
//
// No child outlives its parent: it holds the reading end of a pipe, and ends
// when the other end closes, once the effects in flight have finished. None
// dies of the terminal's signals before its parent has finished with it: it
// has a session of its own.
package plugin

import (
	goplugin "github.com/hashicorp/go-plugin"
)

// protocolVersion is the major version of the protocol, as in the name of its
// package.
const protocolVersion = 1

// maxMessage bounds a message in either direction.
const maxMessage = 16 << 20

// name is what the one service of a plugin is registered as.
const name = "provider"

// handshake tells a plugin from any other program. The cookie is no secret: it
// keeps a plugin from being run by hand.
func handshake() goplugin.HandshakeConfig {
	return goplugin.HandshakeConfig{
		ProtocolVersion:  protocolVersion,
		MagicCookieKey:   "OVERBRAINER_PLUGIN",
		MagicCookieValue: "b8a1f0c2d67e4f3c9a5e",
	}
}
