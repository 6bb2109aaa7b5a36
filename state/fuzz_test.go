package state

import (
	"bytes"
	"testing"
)

// Whatever the bytes are, decoding gives a state that can be used and written
// back, or an error; never a panic, never an empty state for a broken one.
func FuzzDecode(f *testing.F) {
	s := New("0123456789abcdef")
	s.Serial = 3
	s.Spend["cap.a"] = Spend{USD: 1.5, Runs: 1}
	put(s, `run.a["x"]`, &Run{ID: "1", Attempts: []*Attempt{{Name: "n"}}, Pod: &Pod{ID: "p"}}, &Run{ID: "2", Phase: Running})
	good, err := Encode(s)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(good[:len(good)/2])
	for _, seed := range []string{"", "null", "[]", "{}", `{"version":1}`, `{"version":99}`, `{"version":-1}`,
		`{"version":1,"resources":{"a":null}}`, `{"version":1,"resources":{"a":{"run":{"runs":[null]}}}}`,
		`{"version":1,"spend":{"a":{"usd":-1}}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Decode("f", data)
		if err != nil {
			_ = err.Error()
			return
		}
		s.EachRun(func(addr string, run *Run) { run.Holds() })
		for _, addr := range s.Addresses() {
			s.Prune(addr)
		}
		once, err := Encode(s)
		if err != nil {
			t.Fatalf("a state that was read cannot be written: %v", err)
		}
		again, err := Decode("f", once)
		if err != nil {
			t.Fatalf("a state that was written cannot be read: %v", err)
		}
		if twice, _ := Encode(again); !bytes.Equal(once, twice) {
			t.Error("the same state has two forms")
		}
	})
}
