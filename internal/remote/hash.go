package remote

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
)

// hashBuffer is how much is read, hashed and written at once: what one SSH packet
// carries, which is still in the processor's cache for each of these.
const hashBuffer = 32 << 10

// receiveBuffer is how much is taken from a channel at once: for each time it is
// asked, the library may tell the machine how much more it may send.
const receiveBuffer = 4 * hashBuffer

// digest is a SHA-256 in the making.
type digest struct{ hash.Hash }

func newHash() digest { return digest{sha256.New()} }

func hashOf(text string) string {
	h := newHash()
	_, _ = io.WriteString(h, text)
	return h.hex()
}

func (d digest) hex() string { return hex.EncodeToString(d.Sum(nil)) }
