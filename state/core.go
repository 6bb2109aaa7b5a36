package state

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// core is what every store does alike: updates that come at the same time
// share a write, a document that was replaced under us is noticed, and what
// could not be written is saved.
type core struct {
	dir     string // the project's directory
	path    string // names the state in messages
	version string // of overbrainer

	tempDir    string
	lastResort io.Writer
	writeFile  func(path string, data []byte) error // new file, durable, mode 0600

	commit chan struct{} // held by whoever writes

	mu    sync.Mutex
	queue []*update
	seen  seen
}

func newCore(dir, path, version string) core {
	return core{dir: dir, path: path, version: version, writeFile: writeDurable, commit: make(chan struct{}, 1)}
}

// seen is the newest state that this process met, to notice when the document
// is replaced under it.
type seen struct {
	lineage string
	serial  uint64
	digest  [sha256.Size]byte
	doc     *document
}

// loaded is a document as it was read.
type loaded struct {
	path    string // the real file, links resolved
	data    []byte
	state   *State // nil: there is none
	version int    // that the document had
}

// decode makes a document of what was read, nil data being none, and compares
// it with what was seen before the reading began.
func (c *core) decode(cur loaded, before seen) (loaded, error) {
	if cur.data == nil {
		return cur, c.compare(cur, before)
	}
	if before.doc != nil && bytes.Equal(cur.data, before.doc.data) {
		// Many read what one has just written: it is decoded once for all.
		known, version, err := before.doc.decode(c.path)
		if err != nil {
			return cur, err
		}
		cur.state, cur.version = known.copy(), version
		return cur, nil
	}
	var err error
	cur.state, cur.version, err = decodeUpgrading(c.path, cur.data, upgrades())
	if err != nil {
		return cur, err
	}
	return cur, c.compare(cur, before)
}

func (c *core) lastSeen() seen {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen
}

// compare detects a document that was replaced since want was seen, and
// remembers the newest.
func (c *core) compare(cur loaded, want seen) error {
	replaced := &ReplacedError{Path: c.path, WantLineage: want.lineage, WantSerial: want.serial}
	if cur.state == nil {
		if want.lineage != "" {
			return replaced
		}
		return nil
	}
	s := cur.state
	replaced.Lineage, replaced.Serial = s.Lineage, s.Serial
	digest := sha256.Sum256(cur.data)
	switch {
	case want.lineage == "":
		if pinned := c.pinned(); pinned != "" && pinned != s.Lineage {
			replaced.WantLineage, replaced.Pin = pinned, c.pin()
			return replaced
		}
	case want.lineage != s.Lineage, s.Serial < want.serial, s.Serial == want.serial && digest != want.digest:
		return replaced
	}
	c.notice(seen{lineage: s.Lineage, serial: s.Serial, digest: digest, doc: &document{data: cur.data}})
	return nil
}

// notice remembers a state unless a newer one was met meanwhile.
func (c *core) notice(s seen) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen.lineage != s.lineage || s.serial >= c.seen.serial {
		c.seen = s
	}
}

// remember notes what was written, for later commands too.
func (c *core) remember(s *State, doc *document) {
	c.notice(seen{lineage: s.Lineage, serial: s.Serial, digest: sha256.Sum256(doc.data), doc: doc})
	c.keepPin(s.Lineage)
}

func (c *core) pin() string { return filepath.Join(c.dir, filepath.FromSlash(pinName)) }

// pinned gives the lineage that this checkout used last, "" if unknown.
func (c *core) pinned() string {
	data, err := os.ReadFile(c.pin())
	if err != nil || len(data) > 256 {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// keepPin remembers the lineage for later commands. It is a convenience: a
// checkout without it works.
func (c *core) keepPin(lineage string) {
	if c.pinned() == lineage {
		return
	}
	if err := os.MkdirAll(filepath.Dir(c.pin()), 0o700); err == nil {
		_ = os.WriteFile(c.pin(), []byte(lineage+"\n"), 0o600)
	}
}

// Forget drops what this checkout remembers of the lineage it used last, for a
// project that is pointed at another state on purpose.
func Forget(dir string) error {
	err := os.Remove(filepath.Join(dir, filepath.FromSlash(pinName)))
	if os.IsNotExist(err) {
		return nil
	}
	return err
}

// pushed gives the document that Push writes in place of cur.
func (c *core) pushed(cur loaded, s *State, force bool) (*State, []byte, error) {
	next, err := s.Clone()
	if err != nil {
		return nil, nil, err
	}
	withhold(next)
	if cur.state != nil {
		if !force && (cur.state.Lineage != s.Lineage || s.Serial < cur.state.Serial) {
			return nil, nil, &PushError{Path: c.path, Lineage: cur.state.Lineage, Pushed: s.Lineage, Serial: cur.state.Serial, Behind: s.Serial}
		}
		next.Serial = max(next.Serial, cur.state.Serial)
	}
	if next.Lineage == "" {
		next.Lineage = newLineage()
	}
	next.Serial++
	next.Version, next.OverbrainerVersion = Version, c.version
	data, err := Encode(next)
	return next, data, err
}

// withhold leaves sensitive values out of what is written: no secret is in a
// state. The configuration has them wherever it is applied.
func withhold(s *State) {
	for name, o := range s.Outputs {
		if o.Sensitive {
			s.Outputs[name] = Output{Type: o.Type, Sensitive: true, Withheld: true}
		}
	}
}

// fresh is the state of a project that has none. It keeps the lineage that this
// checkout used last: where a state was lost, what still exists is known by it.
func (c *core) fresh() *State { return New(c.pinned()) }

// newLineage gives 32 random hexadecimal digits.
func newLineage() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	return fmt.Sprintf("%x", b)
}
