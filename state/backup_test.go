package state

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// backupSerial is the serial of the backup, 0 where there is none.
func backupSerial(t *testing.T, dir string) uint64 {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, FileName+backupSuffix))
	if errors.Is(err, os.ErrNotExist) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	s, err := Decode("backup", data)
	if err != nil {
		t.Fatalf("the backup is not whole: %v", err)
	}
	return s.Serial
}

// TestBackupIsFromBeforeTheCommand: whatever a command writes, and however, the
// backup is the state that it found.
func TestBackupIsFromBeforeTheCommand(t *testing.T) {
	const none, always = 1 << 30, 0 // from which size there is a journal
	for name, c := range map[string]struct {
		before      func(t *testing.T, dir string)
		journalFrom int
	}{
		"no state":               {func(*testing.T, string) {}, none},
		"no state, then journal": {func(*testing.T, string) {}, always},
		"small":                  {func(t *testing.T, dir string) { mustUpdate(t, Local(dir, "1"), bump) }, none},
		"with a journal":         {func(t *testing.T, dir string) { mustUpdate(t, Local(dir, "1"), bump) }, always},
		"after one that was killed": {func(t *testing.T, dir string) {
			l, _ := journaling(t, dir, 3)
			if err := touch(l, bump); err != nil || len(journals(t, dir)) != 1 {
				t.Fatal(err, journals(t, dir))
			}
		}, always},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			c.before(t, dir)
			found, err := Local(dir, "1").Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			l := Local(dir, "1", JournalFrom(c.journalFrom))
			end := l.Session()
			for range 5 {
				if err := touch(l, bump); err != nil {
					t.Fatal(err)
				}
				if got := backupSerial(t, dir); got != found.Serial {
					t.Fatalf("the backup has serial %d, the state before the command %d", got, found.Serial)
				}
			}
			if err := end(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := backupSerial(t, dir); got != found.Serial {
				t.Errorf("in the end the backup has serial %d, the state before the command %d", got, found.Serial)
			}
		})
	}
}

// TestLastWriteIsOne: what a command writes last puts the state together at once,
// and where it is all that the command writes, it is written once.
func TestLastWriteIsOne(t *testing.T) {
	dir := t.TempDir()
	mustUpdate(t, Local(dir, "1"), func(s *State) error { s.Resources = filled(3).Resources; return nil })
	l := Local(dir, "1", JournalFrom(0))
	write, files := l.sys.write, 0
	l.sys.write = func(path string, data []byte) error { files++; return write(path, data) }
	end := l.Session()
	_, err := l.Update(Last(Touching(context.Background(), Overall)), func(s *State) error {
		s.Catalogs, s.Outputs = map[string]Catalog{"c": {}}, map[string]Output{"o": {Withheld: true}}
		return bump(s)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := end(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := atRest(t, dir, 1); files != 1 || len(s.Catalogs) != 1 || len(s.Outputs) != 1 || len(s.Resources) != 3 {
		t.Errorf("%d files were written, and there is %+v", files, s)
	}
}

// TestOverallInAJournal: catalogs and outputs that change among runs are one line,
// and read back as they are.
func TestOverallInAJournal(t *testing.T) {
	dir := t.TempDir()
	l, end := journaling(t, dir, 300)
	written := 0
	write := l.sys.write
	l.sys.write = func(path string, data []byte) error { written += len(data); return write(path, data) }
	err := touch(l, func(s *State) error {
		delete(s.Outputs, "old")
		s.Outputs["o"] = Output{Value: "1", Type: json.RawMessage(`"string"`)}
		return bump(s)
	}, Overall)
	if err != nil || written > 0 {
		t.Fatalf("%v; %d bytes beside the journal", err, written)
	}
	other, err := Local(dir, "1").Read(t.Context())
	if err != nil || other.Outputs["o"].Value != "1" || len(other.Resources) != 300 {
		t.Errorf("another reader: %v, %+v", err, other.Outputs)
	}
	if err := end(t.Context()); err != nil {
		t.Fatal(err)
	}
	atRest(t, dir, 2)
}
