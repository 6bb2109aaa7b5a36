package state

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// many is a state of so many runs.
func many(n int) *State {
	s := New("lineage")
	for i := range n {
		id := fmt.Sprintf("r-%d", i)
		s.Resources[fmt.Sprintf("run.r[\"<%d>\"]", i)] = &Resource{Type: "run", Provider: "p", Run: &RunResource{Current: id, Runs: []*Run{{ID: id, HostKey: strings.Repeat("k", 500)}}}}
	}
	return s
}

// TestEncodeInPartsIsTheWhole holds that a document written entry by entry is, byte
// for byte, the one that package json makes at once.
func TestEncodeInPartsIsTheWhole(t *testing.T) {
	tricky := many(3)
	tricky.Outputs["x"] = Output{Value: json.RawMessage("{\"a\":\"\\n  \\\"resources\\\": {}\",\"resources\":{}}"), Type: json.RawMessage(`"string"`)}
	for what, s := range map[string]*State{"empty": New(""), "one": many(1), "tricky": tricky} {
		want, err := json.MarshalIndent(s, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Encode(s); err != nil || string(got) != string(want)+"\n" {
			t.Errorf("%s: %v\n%s\n%s", what, err, got, want)
		}
	}
}

// inLongPieces is how many bytes were ever taken in pieces of more than 32 KiB or so:
// small ones are garbage at once.
func inLongPieces(m runtime.MemStats) uint64 {
	n := m.TotalAlloc
	for _, class := range m.BySize {
		n -= class.Mallocs * uint64(class.Size)
	}
	return n
}

// TestDecodeTakesLittle: package json read all of a document into a buffer of its
// own, which doubled until it held it.
func TestDecodeTakesLittle(t *testing.T) {
	s := many(20_000)
	data, err := Encode(s)
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	back, err := Decode("f", data)
	if err != nil || len(back.Resources) != len(s.Resources) {
		t.Fatalf("%d entries, %v", len(back.Resources), err)
	}
	runtime.ReadMemStats(&after)
	took := inLongPieces(after) - inLongPieces(before)
	if took > 2*uint64(len(data)) {
		t.Errorf("a document of %d bytes took %d", len(data), took)
	}
}

// TestDecodeOfParts: what is read entry by entry is as strict as the whole.
func TestDecodeOfParts(t *testing.T) {
	const run = `{"type":"run","provider":"p","run":{"current":"","runs":[]}}`
	for doc, want := range map[string]string{
		`{"version":1,"lineage":"l","serial":1,"resources":{"run.a":` + run + `,"run.b":` + run + `},"spend":{}}`: "",
		`{"resources":{"run.a":` + run + `},"version":1}`:                                                         "",
		`{"version":1,"resources":null}`:                                                                          "",
		`{"version":1}`:                                                                                           "",
		`{"version":1,"resources":{"run.a":null}}`:                                                                "neither a run nor a volume",
		`{"version":1,"resources":[]}`:                                                                            "resources must be a JSON object",
		`{"version":1,"resources":{"run.a":{"type":7}}}`:                                                          "field resources.type must not be a JSON number",
		`{"version":1,"resources":{"run.a":7}}`:                                                                   "field resources must not be a JSON number",
		`{"version":1,"resources":{"run.a":{"type":"run","x":1}}}`:                                                `unknown field "x"`,
		`{"version":1,"x":1}`:                                                                                     `unknown field "x"`,
		`{"version":1,"claims":{"run.a":{"x":1}}}`:                                                                `unknown field "x"`,
		`{"version":1,"resources":{}} {}`:                                                                         "no JSON",
	} {
		s, err := Decode("f", []byte(doc))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, not %q", doc, err, want)
		}
		if err == nil && (len(s.Resources) != strings.Count(doc, `"run.`) || s.Resources == nil || s.Spend == nil) {
			t.Errorf("%s: %+v", doc, s)
		}
	}
}

// TestDocumentIsNotKept: what was read or written is compared with the next by its
// digest.
func TestDocumentIsNotKept(t *testing.T) {
	dir := t.TempDir()
	l := Local(dir, "1")
	mustUpdate(t, l, bump)
	data, err := os.ReadFile(l.path)
	if err != nil {
		t.Fatal(err)
	}
	const long = 64 << 20
	if err := os.WriteFile(l.path, append(data, bytes.Repeat([]byte(" "), long)...), 0o600); err != nil {
		t.Fatal(err)
	}
	l = Local(dir, "1")
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	if _, err := l.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if kept := int64(after.HeapAlloc) - int64(before.HeapAlloc); kept > long/2 {
		t.Errorf("of a document of %d bytes %d are kept", long, kept)
	}
	runtime.KeepAlive(l)
}

// TestUnchangedDocumentIsNotReadAgain: a command looks at the state often. One that
// was replaced by another of the same size and the same old time is noticed.
func TestUnchangedDocumentIsNotReadAgain(t *testing.T) {
	dir := t.TempDir()
	mustUpdate(t, Local(dir, "1"), func(s *State) error { s.Resources = many(5000).Resources; return nil })
	l := Local(dir, "1")
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(l.path, old, old); err != nil {
		t.Fatal(err)
	}
	serial := func() uint64 {
		s, err := l.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return s.Serial
	}
	serial()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	serial()
	runtime.ReadMemStats(&after)
	data, err := os.ReadFile(l.path)
	if err != nil {
		t.Fatal(err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > uint64(len(data))/2 {
		t.Errorf("a second look at %d bytes took %d", len(data), took)
	}
	next := l.path + ".next"
	if err := os.WriteFile(next, bytes.Replace(data, []byte(`"serial": 1`), []byte(`"serial": 2`), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(next, old, old); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, l.path); err != nil {
		t.Fatal(err)
	}
	if got := serial(); got != 2 {
		t.Errorf("serial %d after the state was replaced", got)
	}
}
