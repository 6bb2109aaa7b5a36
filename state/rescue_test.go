package state

import (
	"errors"
	"os"
	"testing"
	"time"
)

// unwritable lets every write of the state fail, but not that of its copies.
func unwritable(l *LocalStore) (mend func()) {
	real := l.sys.rename
	l.sys.rename = func(string, string) error { return errors.New("read-only") }
	return func() { l.sys.rename = real }
}

// TestPendingHoldsAll: the one copy has everything that could not be written, in
// the order in which it came, and pushing it loses nothing.
func TestPendingHoldsAll(t *testing.T) {
	dir := t.TempDir()
	l := Local(dir, "1")
	mustUpdate(t, l, bump)
	mend := unwritable(l)
	for i := range 3 {
		_, err := l.Update(t.Context(), func(s *State) error {
			put(s, address(i), &Run{ID: address(i), Pod: &Pod{ID: "pod", RateUSD: 0.5}})
			return bump(s)
		})
		if !is[*WriteError](err) {
			t.Fatalf("error %v", err)
		}
		copies := l.Rescued()
		if len(copies) != 1 {
			t.Fatalf("copies %v", copies)
		}
		data, _ := os.ReadFile(copies[0])
		s, err := Decode("copy", data)
		if err != nil || len(s.Resources) != i+1 || s.Spend["n"].Runs != i+2 {
			t.Errorf("after %d failures the copy has %+v, %v", i+1, s, err)
		}
	}
	mend()
	data, _ := os.ReadFile(l.Rescued()[0])
	s, _ := Decode("copy", data)
	if err := Local(dir, "1").Push(t.Context(), s, false); err != nil {
		t.Fatal(err)
	}
	if s, _ := Local(dir, "1").Read(t.Context()); len(s.Resources) != 3 || s.Spend["n"].Runs != 4 {
		t.Errorf("pushed: %+v", s)
	}
	if s := mustUpdate(t, l, bump); s.Spend["n"].Runs != 5 {
		t.Errorf("what was pushed was written once more: count %d", s.Spend["n"].Runs)
	}
}

// TestPendingIsWrittenLater: what could not be written goes along with the next
// write, on what others wrote meanwhile, but for what they took over.
func TestPendingIsWrittenLater(t *testing.T) {
	dir := t.TempDir()
	l := Local(dir, "1")
	now := time.Now()
	me, other := ClaimHolder{Who: "me"}, ClaimHolder{Who: "other"}
	mustUpdate(t, l, func(s *State) error {
		for i := range 3 {
			put(s, address(i), &Run{ID: address(i)})
		}
		_, _, err := s.Claim([]string{address(0), address(1)}, "apply", me, now)
		return err
	})
	mend := unwritable(l)
	for i := range 2 {
		if err := touch(l, message(i, "mine"), address(i)); err == nil {
			t.Fatal("it was written")
		}
	}
	mend()
	mustUpdate(t, Local(dir, "2"), func(s *State) error {
		delete(s.Claims, address(1))
		if _, _, err := s.Claim([]string{address(1)}, "apply", other, now); err != nil {
			return err
		}
		return errors.Join(message(1, "theirs")(s), message(2, "theirs")(s))
	})
	s := mustUpdate(t, l, bump)
	for i, want := range []string{"mine", "theirs", "theirs"} {
		if got := s.Resources[address(i)].Run.Runs[0].Message; got != want {
			t.Errorf("%s has %q, want %q", address(i), got, want)
		}
	}
	if s.Spend["n"].Runs != 5 { // each once
		t.Errorf("count %d", s.Spend["n"].Runs)
	}
	if len(l.Rescued()) > 0 {
		t.Error("the copy is left although all is written")
	}
	if s := mustUpdate(t, l, bump); s.Spend["n"].Runs != 6 {
		t.Errorf("it was written twice: count %d", s.Spend["n"].Runs)
	}
}
