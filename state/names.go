package state

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// Name is what a shell completes of an entry.
type Name struct {
	Address string
	Run     bool   // the entry is of a run block
	Current string // the ID of its current run
}

// Names gives the names in the state by address, as the lines of the document have
// them, in a small part of the time that reading it takes. It checks nothing: no
// effect may come of it. ok is false where the file is not as Encode writes it.
func (l *LocalStore) Names() (names []Name, ok bool) {
	path, err := l.resolve()
	if err != nil {
		return nil, false
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, errors.Is(err, fs.ErrNotExist)
	}
	defer file.Close()
	names, journal, ok := namesIn(file)
	if journal == "" || !ok {
		return names, ok
	}
	lines, err := os.ReadFile(loaded{path: path, journal: journal}.journalPath())
	if err != nil {
		return nil, false
	}
	return journaled(names, lines), true
}

// Beginnings of lines in a document. A text of JSON has no line break, so no other
// line begins so at its depth.
const (
	journalLine   = `  "journal": `
	resourcesLine = `  "resources": {`
	addressLine   = `    "`
	runLine       = `      "run": {`
	currentLine   = `        "current": `
)

func namesIn(document io.Reader) (names []Name, journal string, ok bool) {
	lines := bufio.NewReaderSize(document, 256<<10)
	within := false
	for n := 0; ; n++ {
		line, err := lines.ReadSlice('\n')
		for errors.Is(err, bufio.ErrBufferFull) { // a long text, which is no name
			_, err = lines.ReadSlice('\n')
		}
		line = bytes.TrimRight(line, ",\n")
		switch {
		case err != nil:
			return names, journal, false
		case n == 0 && string(line) != "{":
			return nil, "", false
		case within && string(line) == "  }":
			return names, journal, true
		case string(line) == resourcesLine:
			within = true
		case string(line) == resourcesLine+"}":
			return nil, journal, true
		case within:
			if names, ok = named(names, line); !ok {
				return nil, "", false
			}
		case bytes.HasPrefix(line, []byte(journalLine)):
			if json.Unmarshal(line[len(journalLine):], &journal) != nil {
				return nil, "", false
			}
		}
	}
}

// named takes in a line of an entry.
func named(names []Name, line []byte) ([]Name, bool) {
	last := len(names) - 1
	switch {
	case bytes.HasPrefix(line, []byte(addressLine)):
		text, opens := bytes.CutSuffix(line, []byte(": {"))
		var n Name
		if !opens || json.Unmarshal(bytes.TrimSpace(text), &n.Address) != nil {
			return nil, false
		}
		return append(names, n), true
	case last < 0:
		return nil, false
	case string(line) == runLine:
		names[last].Run = true
	case bytes.HasPrefix(line, []byte(currentLine)) && names[last].Run:
		return names, json.Unmarshal(line[len(currentLine):], &names[last].Current) == nil
	}
	return names, true
}

// journaled is names with what a journal changed. A line that cannot be read is one
// that is being written.
func journaled(names []Name, journal []byte) []Name {
	changed := map[string]*Name{}
	for line := range bytes.Lines(journal) {
		var rec struct {
			Resources map[string]*struct{ Run *struct{ Current string } }
		}
		_, encoded, _ := bytes.Cut(line, []byte(" "))
		if json.Unmarshal(encoded, &rec) != nil {
			continue
		}
		for address, r := range rec.Resources {
			switch {
			case r == nil:
				changed[address] = nil
			case r.Run == nil:
				changed[address] = &Name{Address: address}
			default:
				changed[address] = &Name{Address: address, Run: true, Current: r.Run.Current}
			}
		}
	}
	names = slices.DeleteFunc(names, func(n Name) bool { _, other := changed[n.Address]; return other })
	for _, n := range changed {
		if n != nil {
			names = append(names, *n)
		}
	}
	slices.SortFunc(names, func(a, b Name) int { return strings.Compare(a.Address, b.Address) })
	return names
}

// NamesOf gives the names of a state that was read.
func NamesOf(s *State) []Name {
	var names []Name
	for _, address := range s.Addresses() {
		n := Name{Address: address}
		if run := s.Resources[address].Run; run != nil {
			n.Run, n.Current = true, run.Current
		}
		names = append(names, n)
	}
	return names
}
