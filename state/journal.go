package state

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A journal holds the writes since the document beside it was written, so that a
// command that writes often writes what changed and not each time everything.
// The document names its journal and then has a format version of its own, which
// programs that know no journals refuse. docs/state.md tells its rules.
const (
	journaledVersion = 2
	journalInfix     = ".journal-"
)

// errNoJournal: the journal that a document names is not there.
var errNoJournal = errors.New("the journal that it names is missing, so it lacks the newest changes")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// line is a record as the journal holds it: a checksum, JSON, a line feed.
func line(encoded []byte) []byte {
	return fmt.Appendf(nil, "%08x %s\n", crc32.Checksum(encoded, castagnoli), encoded)
}

// replay applies the records in data to s and gives the outcome and the length
// of what it applied. A last one that is not whole is a write that did not end,
// and was not.
func replay(s *State, data []byte) (*State, int64, error) {
	next, done := s.shallow(), 0
	for {
		end := bytes.IndexByte(data[done:], '\n')
		if end < 0 {
			return next, int64(done), nil
		}
		text, last := data[done:done+end], done+end+1 == len(data)
		sum, encoded, _ := bytes.Cut(text, []byte(" "))
		if string(sum) != fmt.Sprintf("%08x", crc32.Checksum(encoded, castagnoli)) {
			if last {
				return next, int64(done), nil
			}
			return nil, 0, fmt.Errorf("its journal is broken at byte %d", done)
		}
		rec, err := decodeRecord(encoded)
		if err != nil {
			return nil, 0, fmt.Errorf("its journal cannot be read at byte %d: %w", done, err)
		}
		if rec.Serial != next.Serial+1 {
			return nil, 0, fmt.Errorf("its journal goes on with serial %d after %d", rec.Serial, next.Serial)
		}
		next.apply(rec)
		done += end + 1
	}
}

// follow reads what the journal, if there is one, has beyond what cur knows of it.
func (cur loaded) follow() (loaded, error) {
	if cur.journal == "" {
		return cur, nil
	}
	file, err := os.Open(cur.journalPath())
	if errors.Is(err, fs.ErrNotExist) {
		return cur, errNoJournal
	}
	if err != nil {
		return cur, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || info.Size() == cur.size {
		return cur, err
	}
	if info.Size() < cur.size { // somebody cut it: what is left counts
		document, _, _, err := readStable(cur.path)
		if err != nil {
			return cur, err
		}
		if printOf(document) != cur.doc {
			return cur, errNoJournal
		}
		if cur.state, _, err = decodeUpgrading(cur.path, document, upgrades()); err != nil {
			return cur, err
		}
		cur.state.Version, cur.state.Journal, cur.size = Version, "", 0
	}
	data, err := io.ReadAll(io.NewSectionReader(file, cur.size, info.Size()-cur.size))
	if err != nil {
		return cur, err
	}
	next, n, err := replay(cur.state, data)
	if err != nil {
		return cur, &DamagedError{Path: cur.path, Err: err}
	}
	cur.state, cur.size = next, cur.size+n
	return cur, nil
}

func (cur loaded) journalPath() string { return cur.path + journalInfix + cur.journal }

// appendDurable writes data at a place in a file, in place of what is there and
// after it, and returns when it is on the disk. Where that fails the file ends
// at that place.
func appendDurable(path string, at int64, data []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if err = file.Truncate(at); err == nil {
		if _, err = file.WriteAt(data, at); err == nil {
			err = file.Sync()
		}
		if err != nil {
			_ = file.Truncate(at)
		}
	}
	return errors.Join(err, file.Close())
}

// dropJournals removes every journal of the document at path but the one kept.
func dropJournals(path, kept string) {
	dir, prefix := filepath.Dir(path), filepath.Base(path)+journalInfix
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if id, ok := strings.CutPrefix(e.Name(), prefix); ok && id != kept {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}
