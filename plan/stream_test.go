package plan

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/state"
)

// written is the plan's document.
func written(t *testing.T, p *Plan) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := p.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestStreamWritesWhatJSONDoes holds that a document written in parts is, byte
// for byte, the one that package json makes as a whole.
func TestStreamWritesWhatJSONDoes(t *testing.T) {
	hcl := strings.Replace(base, `run "train" {`, "run \"train\" {\n  for_each = { \"<a>\" = 1, b = 2 }", 1)
	p := newProject(t, strings.Replace(hcl, "run.train.cost_usd", `["<&>", { b = 1, a = [] }, null, 1.5]`, 1))
	pl := p.plan()
	pl.Catalogs = map[string]CatalogSeen{"b": {}, "a": {ReadAt: testNow}}
	file, err := NewFile(pl, p.load(), "here")
	if err != nil {
		t.Fatal(err)
	}
	for what, v := range map[string]any{
		"a plan": pl, "an empty plan": &Plan{}, "a plan file": file, "an empty plan file": &File{},
		"a state": &state.State{Resources: map[string]*state.Resource{"run.<x>": {Run: &state.RunResource{Runs: []*state.Run{{EndedAt: &time.Time{}}}}}}},
	} {
		for _, escape := range []bool{true, false} {
			var want, got bytes.Buffer
			enc := json.NewEncoder(&want)
			enc.SetEscapeHTML(escape)
			if err := enc.Encode(v); err != nil {
				t.Fatal(err)
			}
			if err := stream(&got, v, escape); err != nil {
				t.Fatal(err)
			}
			if got.String()+"\n" != want.String() {
				t.Errorf("%s:\n%s\n%s", what, got.String(), want.String())
			}
		}
	}
}

func TestStreamTellsWhatCannotBeWritten(t *testing.T) {
	if err := (&Plan{Outputs: map[string]OutputPlan{"x": {Value: func() {}}}}).WriteJSON(&bytes.Buffer{}); err == nil {
		t.Error("a function was written")
	}
}
