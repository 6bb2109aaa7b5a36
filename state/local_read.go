package state

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// load reads the file, with its journal where it has one, and compares it with
// what was seen before.
func (l *LocalStore) load() (loaded, error) {
	before := l.lastSeen()
	path, err := l.resolve()
	if err != nil {
		return loaded{}, err
	}
	var cur loaded
	for range loadTries {
		if cur, err = l.read(path, before); !errors.Is(err, errNoJournal) {
			break
		} // another process wrote the whole between our two looks
	}
	var newer *NewerError
	var damaged *DamagedError
	switch {
	case err == nil:
		err = l.compare(cur, before)
	case errors.Is(err, errNoJournal):
		err = &DamagedError{Path: l.path, Err: err, Backup: l.path + backupSuffix}
	case errors.As(err, &damaged):
		damaged.Path, damaged.Backup = l.path, l.path+backupSuffix
	case !errors.As(err, &newer):
		err = &ReadError{Path: l.path, Err: err}
	}
	return cur, err
}

// loadTries is how often a document and its journal are read until both are of
// one time.
const loadTries = 10

// read reads what has changed since before.
func (l *LocalStore) read(path string, before loaded) (loaded, error) {
	if cur := before; cur.path == path && cur.unchanged() {
		return cur.follow()
	}
	cur := loaded{path: path}
	data, file, age, err := readStable(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if left, _ := filepath.Glob(path + journalInfix + "*"); len(left) > 0 {
			return cur, &DamagedError{Path: path, Err: fmt.Errorf("it is missing, and its journal %s is there; remove that one, too, to begin anew", left[0])}
		}
		return cur, nil
	case err != nil:
		return cur, err
	}
	cur.doc = printOf(data)
	if before.state != nil && before.path == path && cur.doc == before.doc {
		cur = before
	} else {
		if cur.state, cur.version, err = decodeUpgrading(l.path, data, upgrades()); err != nil {
			return cur, err
		}
		cur.journal = cur.state.Journal
		cur.state.Version, cur.state.Journal = Version, ""
	}
	cur.file = nil
	if age >= plainStampAge || age >= stampAge && cur.journal != "" {
		cur.file = file
	}
	return cur.follow()
}

// How old a file's time has to be before it tells a change: a clock of files moves
// in steps, of two seconds at most. A document that came in the same step as the
// one before has another journal, where it has one.
const (
	stampAge      = 100 * time.Millisecond
	plainStampAge = 2 * time.Second
)

// readStable reads a file, and tells how old it was when that began.
func readStable(path string) (text []byte, info fs.FileInfo, age time.Duration, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, 0, err
	}
	defer file.Close()
	if info, err = file.Stat(); err != nil {
		return nil, nil, 0, err
	}
	age = time.Since(info.ModTime())
	data := bytes.NewBuffer(make([]byte, 0, info.Size()+bytes.MinRead))
	_, err = data.ReadFrom(file)
	return data.Bytes(), info, age, err
}

// unchanged reports whether the document is seen to be the one that was read: it
// need not be read again. While a command writes often, all that changes is the
// journal.
func (cur loaded) unchanged() bool {
	if cur.file == nil {
		return false
	}
	info, err := os.Stat(cur.path)
	return err == nil && os.SameFile(info, cur.file) && info.Size() == cur.file.Size() && info.ModTime().Equal(cur.file.ModTime())
}
