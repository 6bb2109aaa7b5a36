package state

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// journaling gives a store in a session on a state of so many runs.
func journaling(t *testing.T, dir string, runs int) (l *LocalStore, end func(context.Context) error) {
	t.Helper()
	l = Local(dir, "1", JournalFrom(0), LockTimeout(time.Minute))
	end = l.Session()
	mustUpdate(t, l, func(s *State) error { s.Resources = filled(runs).Resources; return nil })
	mustUpdate(t, l, bump)
	return l, end
}

// touch is an update that says what it alters.
func touch(l *LocalStore, change func(*State) error, addresses ...string) error {
	_, err := l.Update(Touching(context.Background(), addresses...), change)
	return err
}

func address(i int) string { return fmt.Sprintf("run.sweep[%q]", fmt.Sprintf("sweep-%05d", i)) }

func message(i int, text string) func(*State) error {
	return func(s *State) error {
		s.Resources[address(i)].Run.Runs[0].Message = text
		return bump(s)
	}
}

func journals(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, FileName+journalInfix+"*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// atRest checks that the state is one whole document that says this.
func atRest(t *testing.T, dir string, bumps int) *State {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, FileName))
	if err != nil {
		t.Fatal(err)
	}
	s, err := Decode("state", data)
	if err != nil || s.Spend["n"].Runs != bumps {
		t.Fatalf("at rest there is %+v, %v; want count %d", s, err, bumps)
	}
	if left := journals(t, dir); len(left) > 0 {
		t.Errorf("journals are left: %v", left)
	}
	return s
}

// TestJournalInProportion: what a session writes is in proportion to what it
// changes, every reader sees it at once, and in the end it is one document.
func TestJournalInProportion(t *testing.T) {
	dir := t.TempDir()
	l, end := journaling(t, dir, 300)
	written := 0
	write, add := l.sys.write, l.sys.append
	l.sys.write = func(path string, data []byte) error { written += len(data); return write(path, data) }
	l.sys.append = func(path string, at int64, data []byte) error { written += len(data); return add(path, at, data) }
	for i := range 300 {
		if err := touch(l, message(i, "m"), address(i)); err != nil {
			t.Fatal(err)
		}
	}
	other, err := Local(dir, "1").Read(t.Context())
	if err != nil || other.Spend["n"].Runs != 301 || other.Resources[address(299)].Run.Runs[0].Message != "m" {
		t.Fatalf("another reader: %v", err)
	}
	if err := end(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := atRest(t, dir, 301)
	data, _ := os.ReadFile(filepath.Join(dir, FileName))
	if written > 6*len(data) {
		t.Errorf("%d bytes were written for a state of %d", written, len(data))
	}
	if s.Serial != 302 || s.Resources[address(7)].Run.Runs[0].Message != "m" {
		t.Errorf("serial %d", s.Serial)
	}
	backup, _ := os.ReadFile(filepath.Join(dir, FileName+backupSuffix))
	if _, err := Decode("backup", backup); len(backup) > 0 && err != nil {
		t.Errorf("the backup is not whole: %v", err)
	}
}

// TestJournalIsNotOverlooked: a document whose newest changes are elsewhere is
// refused by whoever does not know, and where its journal is gone.
func TestJournalIsNotOverlooked(t *testing.T) {
	dir := t.TempDir()
	l, _ := journaling(t, dir, 1)
	if err := touch(l, bump); err != nil {
		t.Fatal(err)
	}
	data, _ := os.ReadFile(l.path)
	if !bytes.Contains(data, []byte(`"version": 2`)) {
		t.Errorf("a program that knows no journals would read %.80s", data)
	}
	var damaged *DamagedError
	if _, err := Decode("copy", data); !errors.As(err, &damaged) || !strings.Contains(err.Error(), "journal") {
		t.Errorf("a copy of the document alone: %v", err)
	}
	journal := journals(t, dir)[0]
	if info, err := os.Stat(journal); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("journal: %v, %v", info, err)
	}
	records, _ := os.ReadFile(journal)
	_ = os.Remove(journal)
	for name, err := range map[string]error{"read": readError(l), "read anew": readError(Local(dir, "1")), "update": touch(Local(dir, "1"), bump)} {
		if !errors.As(err, &damaged) || !strings.Contains(err.Error(), "missing") {
			t.Errorf("%s without the journal: %v", name, err)
		}
	}
	if after, _ := os.ReadFile(l.path); !bytes.Equal(after, data) {
		t.Error("the document was changed")
	}
	if err := os.WriteFile(journal, records, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := touch(l, bump); err != nil {
		t.Errorf("with the journal again: %v", err)
	}
}

// A journal whose document is gone is told of, and no state begins beside it.
func TestJournalWithoutDocument(t *testing.T) {
	dir := t.TempDir()
	journaling(t, dir, 3)
	mustRemove(t, filepath.Join(dir, FileName))
	var damaged *DamagedError
	if err := readError(Local(dir, "1")); !errors.As(err, &damaged) || !strings.Contains(err.Error(), journals(t, dir)[0]) {
		t.Errorf("read: %v", err)
	}
	mustRemove(t, journals(t, dir)[0])
	if err := readError(Local(dir, "1")); err != nil {
		t.Errorf("without both: %v", err)
	}
}

func mustRemove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func readError(l *LocalStore) error {
	_, err := l.Read(context.Background())
	return err
}

// TestJournalCutAnywhere: a journal that ends within a record, at whatever byte,
// has the records before it, and the next write goes on after them.
func TestJournalCutAnywhere(t *testing.T) {
	dir := t.TempDir()
	l, _ := journaling(t, dir, 1)
	for range 2 {
		if err := touch(l, bump); err != nil {
			t.Fatal(err)
		}
	}
	document, _ := os.ReadFile(l.path)
	name := filepath.Base(journals(t, dir)[0])
	records, _ := os.ReadFile(filepath.Join(dir, name))
	first := bytes.IndexByte(records, '\n') + 1
	for cut := range len(records) + 1 {
		if edge := min(cut, len(records)-cut, max(cut-first, first-cut)); edge > 3 && cut%16 != 0 {
			continue
		}
		for _, tail := range []string{"", "\x00\x00\x00", "torn\n"} {
			dir := t.TempDir()
			_ = os.WriteFile(filepath.Join(dir, FileName), document, 0o600)
			_ = os.WriteFile(filepath.Join(dir, name), append(records[:cut:cut], tail...), 0o600)
			want := 1 // of the document
			if cut >= first {
				want++
			}
			if cut == len(records) {
				want++
			}
			if cut == first-1 && tail == "torn\n" || cut > first && cut < len(records) && tail == "torn\n" {
				continue // that is a broken record and no cut, see below
			}
			s, err := Local(dir, "1").Read(t.Context())
			if err != nil || s.Spend["n"].Runs != want {
				t.Fatalf("cut at %d of %d with %q: %v", cut, len(records), tail, err)
			}
			next := Local(dir, "1", JournalFrom(0))
			end := next.Session()
			if err := errors.Join(touch(next, bump), touch(next, bump), end(t.Context())); err != nil {
				t.Fatalf("cut at %d with %q, writing on: %v", cut, tail, err)
			}
			atRest(t, dir, want+2)
		}
	}
	broken := bytes.Clone(records)
	broken[first/2] ^= 1
	_ = os.WriteFile(filepath.Join(dir, name), broken, 0o600)
	var damaged *DamagedError
	if err := readError(Local(dir, "1")); !errors.As(err, &damaged) || damaged.Backup == "" {
		t.Errorf("a broken record before a whole one: %v", err)
	}
}

// TestJournalReaders: whoever reads while others write and put it together sees
// one state after the other.
func TestJournalReaders(t *testing.T) {
	dir := t.TempDir()
	l, end := journaling(t, dir, 20)
	var readers, writers sync.WaitGroup
	done := make(chan struct{})
	for range 3 {
		readers.Go(func() {
			store := Local(dir, "1")
			for last := 0; ; {
				s, err := store.Read(context.Background())
				if err != nil || s.Spend["n"].Runs < last {
					t.Errorf("after %d: %+v, %v", last, s, err)
					return
				}
				last = s.Spend["n"].Runs
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	for w := range 3 {
		writers.Go(func() {
			store := l
			if w > 0 {
				store = Local(dir, "1", JournalFrom(0), LockTimeout(time.Minute))
			}
			if w == 1 {
				defer store.Session()(context.Background())
			}
			for i := range 40 {
				if err := touch(store, message(i%20, "x"), address(i%20)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	close(done)
	readers.Wait()
	if err := end(context.Background()); err != nil {
		t.Fatal(err)
	}
	atRest(t, dir, 121)
}

// TestJournalKilled: killed at any instant of a session, what was written is
// there, and the next command leaves one whole document.
func TestJournalKilled(t *testing.T) {
	for moment, least := range map[string]int{
		"added": 2, "between journal and document": 4, "between document and removal": 4, "while it is put together": 5, "put together": 5,
	} {
		t.Run(moment, func(t *testing.T) {
			dir := t.TempDir()
			if err := start(t, "journal", dir, moment).Run(); err == nil {
				t.Fatal("it was not killed")
			}
			s, err := Local(dir, "1").Read(t.Context())
			if err != nil || s.Spend["n"].Runs < least {
				t.Fatalf("%+v, %v", s, err)
			}
			mustUpdate(t, Local(dir, "1"), bump)
			atRest(t, dir, s.Spend["n"].Runs+1)
		})
	}
}

// journalHelper writes in a session until it is killed at a moment.
func journalHelper(l *LocalStore, moment string, kill func()) error {
	l.journalFrom = 0
	end := l.Session()
	var err error
	for i := range 5 {
		real := l.sys
		switch {
		case moment == "added":
			l.sys.append = func(path string, at int64, data []byte) error {
				err := real.append(path, at, data)
				kill()
				return err
			}
		case i < 4:
		case moment == "between journal and document":
			l.sys.append = func(string, int64, []byte) error { return errors.New("to write all") }
			l.sys.rename = func(string, string) error { kill(); return nil }
		case moment == "between document and removal":
			l.sys.append = func(string, int64, []byte) error { return errors.New("to write all") }
			l.sys.rename = func(from, to string) error { err := rename(from, to); kill(); return err }
		}
		err = errors.Join(err, touch(l, bump))
	}
	switch moment {
	case "while it is put together":
		l.sys.rename = func(string, string) error { kill(); return nil }
	case "put together":
		l.sys.rename = func(from, to string) error { err := rename(from, to); kill(); return err }
	}
	return errors.Join(err, end(context.Background()))
}

// TestJournalUnwritable: where neither the journal nor a new document can be
// written, what was written stays, one copy has all that was not, and the next
// write that works has it, too.
func TestJournalUnwritable(t *testing.T) {
	dir := t.TempDir()
	l, end := journaling(t, dir, 3)
	if err := touch(l, bump); err != nil {
		t.Fatal(err)
	}
	real := l.sys
	full := errors.New("no space left on device")
	l.sys.append = func(path string, at int64, data []byte) error {
		return errors.Join(real.append(path, at, data[:len(data)/2]), full)
	}
	l.sys.rename = func(string, string) error { return full }
	var saved string
	for i := range 3 {
		err := touch(l, message(i, "not written"), address(i))
		var failed *WriteError
		if !errors.As(err, &failed) || failed.Saved == "" || saved != "" && failed.Saved != saved {
			t.Fatalf("write %d: %v", i, err)
		}
		saved = failed.Saved
	}
	if s, err := Local(dir, "1").Read(t.Context()); err != nil || s.Spend["n"].Runs != 2 {
		t.Errorf("what was there: %+v, %v", s, err)
	}
	if err := end(t.Context()); err == nil {
		t.Error("it is said to be put together")
	}
	data, _ := os.ReadFile(saved)
	s, err := Decode(saved, data)
	if err != nil || s.Spend["n"].Runs != 5 || s.Resources[address(0)].Run.Runs[0].Message == "" || s.Resources[address(2)].Run.Runs[0].Message == "" {
		t.Fatalf("the copy has not all that was not written: %+v, %v", s.Spend, err)
	}
	l.sys = real
	mustUpdate(t, l, bump)
	got := atRest(t, dir, 6)
	if got.Resources[address(1)].Run.Runs[0].Message != "not written" || len(l.Rescued()) > 0 {
		t.Errorf("what was pending is not written, or its copy is left: %v", l.Rescued())
	}
}

// TestJournalOnAFullDisk: what was said to be written before the disk was full
// is there, and half a record is in nobody's way.
func TestJournalOnAFullDisk(t *testing.T) {
	dir := t.TempDir()
	mustUpdate(t, Local(dir, "1"), func(s *State) error {
		s.Resources = filled(3).Resources
		return nil
	})
	out, err := start(t, "small-disk-journal", dir).Output()
	written := strings.Count(string(out), "written\n")
	if err == nil || written < 2 || !strings.Contains(string(out), "cannot be written") {
		t.Fatalf("%v: %s", err, out)
	}
	if len(journals(t, dir)) != 1 {
		t.Fatal("there is no journal")
	}
	s, err := Local(dir, "1").Read(t.Context())
	if err != nil || s.Spend["n"].Runs != written {
		t.Fatalf("%d were written, there is %+v, %v", written, s, err)
	}
	mustUpdate(t, Local(dir, "1"), bump)
	atRest(t, dir, written+1)
}
