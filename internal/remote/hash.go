package remote

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
)

// hashBuffer is how much is hashed at once.
const hashBuffer = 256 << 10

// digest is a SHA-256 in the making.
type digest struct{ hash.Hash }

func newHash() digest { return digest{sha256.New()} }

func (d digest) hex() string { return hex.EncodeToString(d.Sum(nil)) }
