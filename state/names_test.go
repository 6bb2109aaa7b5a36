package state

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
)

// TestNamesAreThoseOfTheState: names from the lines of a document are those that
// reading it gives, with a journal, too.
func TestNamesAreThoseOfTheState(t *testing.T) {
	tricky := filled(3)
	tricky.Resources["volume.v"] = &Resource{Type: "volume", Provider: "p", Volume: &Volume{ID: "v", Name: "\n    \"run.none\": {"}}
	odd := tricky.Resources[address(0)]
	odd.Run.Runs[0].Message = "\n  }\n        \"current\": \"wrong\"" + strings.Repeat("long ", 100_000)
	tricky.Resources["run.r[\"<&>\\\" 日本\"]"] = &Resource{Type: "run", Provider: "p", Run: &RunResource{}}
	tricky.Outputs["o"] = Output{Value: map[string]any{"resources": map[string]any{"run.x": map[string]any{}}}}
	for what, s := range map[string]*State{"empty": New("l"), "many": filled(500), "tricky": tricky} {
		dir := t.TempDir()
		l := Local(dir, "1", JournalFrom(0))
		end := l.Session()
		check := func(when string) {
			t.Helper()
			st, err := l.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if names, ok := Local(dir, "1").Names(); !ok || !reflect.DeepEqual(names, NamesOf(st)) {
				t.Errorf("%s, %s: %v\n%+v\n%+v", what, when, ok, names, NamesOf(st))
			}
		}
		check("without a file")
		mustUpdate(t, l, func(st *State) error { st.Resources, st.Outputs = s.Resources, s.Outputs; return nil })
		check("as a document")
		mustUpdate(t, l, bump)
		err := touch(l, func(st *State) error {
			delete(st.Resources, address(1))
			st.Resources["run.a"] = &Resource{Type: "run", Provider: "p", Run: &RunResource{Current: "r", Runs: []*Run{{ID: "r", Phase: Running}}}}
			st.Resources["volume.a"] = &Resource{Type: "volume", Provider: "p", Volume: &Volume{ID: "a"}}
			return nil
		}, address(1), "run.a", "volume.a")
		if err != nil || len(journals(t, dir)) != 1 {
			t.Fatal(err, journals(t, dir))
		}
		check("with a journal")
		if err := end(t.Context()); err != nil {
			t.Fatal(err)
		}
		check("at rest")
	}
}

// TestNamesOfOtherForms: a document in another form is left to who reads it whole.
func TestNamesOfOtherForms(t *testing.T) {
	l := Local(t.TempDir(), "1")
	compact, err := json.Marshal(filled(3))
	if err != nil {
		t.Fatal(err)
	}
	tabs, _ := json.MarshalIndent(filled(3), "", "\t")
	whole, _ := Encode(filled(3))
	for what, text := range map[string][]byte{"compact": compact, "tabs": tabs, "cut": whole[:len(whole)/2], "empty": nil, "none": []byte("{\n}\n")} {
		if err := os.WriteFile(l.path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if names, ok := l.Names(); ok {
			t.Errorf("%s: %+v", what, names)
		}
	}
}
