package state

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
	// seen is the newest state that this process met, to notice when the
	// document is replaced under it.
	seen loaded
	// pending is what could not be written yet; nil: nothing. copied is the file
	// that holds it for people.
	pending *pending
	copied  string
}

func newCore(dir, path, version string) core {
	return core{dir: dir, path: path, version: version, writeFile: writeDurable, commit: make(chan struct{}, 1)}
}

// loaded is a state as it lies there.
type loaded struct {
	path    string // the real file, links resolved
	doc     print  // the document's; zero: there is none
	state   *State // what it says, shared by all who read it; nil: there is none
	version int    // that the document had

	file fs.FileInfo // the document's; nil where it may change without showing it

	// Of a document with a journal: the journal's ID, and how much of it is in state.
	journal string
	size    int64
}

// print tells documents apart without keeping them.
type print struct {
	size int
	sum  [sha256.Size]byte
}

func printOf(data []byte) print {
	if data == nil {
		return print{}
	}
	return print{size: len(data), sum: sha256.Sum256(data)}
}

// decode makes a state of what was read, nil data being none, and compares it
// with what was seen before the reading began.
func (c *core) decode(data []byte, before loaded) (loaded, error) {
	cur := loaded{path: c.path, doc: printOf(data)}
	if before.state != nil && data != nil && cur.doc == before.doc {
		cur.state, cur.version = before.state, before.version // decoded once for all
		return cur, nil
	}
	if data != nil {
		var err error
		if cur.state, cur.version, err = decodePlain(c.path, data); err != nil {
			return cur, err
		}
	}
	return cur, c.compare(cur, before)
}

func (c *core) lastSeen() loaded {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen
}

// compare detects a document that was replaced since want was seen, and
// remembers the newest.
func (c *core) compare(cur, want loaded) error {
	replaced := &ReplacedError{Path: c.path}
	if want.state != nil {
		replaced.WantLineage, replaced.WantSerial = want.state.Lineage, want.state.Serial
	}
	if cur.state == nil {
		if want.state != nil {
			return replaced
		}
		return nil
	}
	s := cur.state
	replaced.Lineage, replaced.Serial = s.Lineage, s.Serial
	switch {
	case want.state == nil:
		if pinned := c.pinned(); pinned != "" && pinned != s.Lineage {
			replaced.WantLineage, replaced.Pin = pinned, c.pin()
			return replaced
		}
	case want.state == s:
	case want.state.Lineage != s.Lineage, s.Serial < want.state.Serial, s.Serial == want.state.Serial && !same(s, want.state):
		return replaced
	}
	c.notice(cur)
	return nil
}

// same reports whether two states say the same, in whatever form they lay.
func same(a, b *State) bool {
	x, errX := Encode(a)
	y, errY := Encode(b)
	return errors.Join(errX, errY) == nil && bytes.Equal(x, y)
}

// notice remembers a state unless a newer one was met meanwhile.
func (c *core) notice(cur loaded) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if was := c.seen.state; was == nil || was.Lineage != cur.state.Lineage || cur.state.Serial >= was.Serial {
		c.seen = cur
	}
}

// remember notes what was written, for later commands too.
func (c *core) remember(cur loaded) {
	c.notice(cur)
	c.keepPin(cur.state.Lineage)
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

// pushed gives the state that Push writes in place of cur.
func (c *core) pushed(cur loaded, s *State, force bool) (*State, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	next := s.copy()
	next.fill()
	withhold(next)
	if cur.state != nil {
		if !force && (cur.state.Lineage != s.Lineage || s.Serial < cur.state.Serial) {
			return nil, &PushError{Path: c.path, Lineage: cur.state.Lineage, Pushed: s.Lineage, Serial: cur.state.Serial, Behind: s.Serial}
		}
		next.Serial = max(next.Serial, cur.state.Serial)
	}
	if next.Lineage == "" {
		next.Lineage = newLineage()
	}
	next.Serial++
	next.Version, next.OverbrainerVersion = Version, c.version
	return next, nil
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
