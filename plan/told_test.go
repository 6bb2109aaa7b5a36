package plan

import (
	"bytes"
	"encoding/json"
	"maps"
	"strings"
	"testing"
)

// A document has uploads that many runs share in the first of them; whoever follows
// files_of finds what each run has. A plan file's view has them so as well.
func TestDocumentsHaveSharedUploadsOnce(t *testing.T) {
	path, f := saved(t, sweep(t, 20))
	back, err := ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var view bytes.Buffer
	if err := back.WriteJSON(&view, nil); err != nil {
		t.Fatal(err)
	}
	for what, doc := range map[string][]byte{"plan -json": written(t, f.Plan), "show -json FILE": view.Bytes()} {
		for _, name := range []string{`"source":"data/07"`, `"file data/07":`} {
			if n := bytes.Count(doc, []byte(name)); n != 1 {
				t.Errorf("%s: %s is there %d times", what, name, n)
			}
		}
		var read Plan
		if err := json.Unmarshal(doc, &read); err != nil {
			t.Fatal(err)
		}
		first := read.Steps[0]
		if len(first.Run.Uploads) != 51 || first.Run.FilesOf != "" {
			t.Errorf("%s: the first run has %d uploads, of %q", what, len(first.Run.Uploads), first.Run.FilesOf)
		}
		for i, s := range read.Steps[1:] {
			want := maps.Clone(s.Run.Inputs.Own)
			for name, sum := range first.Run.Inputs.Own {
				if strings.HasPrefix(name, "file ") {
					want[name] = sum
				}
			}
			if s.Run.FilesOf != first.Address || s.Run.Uploads != nil || !maps.Equal(want, maps.Collect(f.Plan.Steps[i+1].Run.Inputs.All())) {
				t.Errorf("%s: %s has %d uploads, those of %q, and %d inputs", what, s.Address, len(s.Run.Uploads), s.Run.FilesOf, len(s.Run.Inputs.Own))
			}
		}
	}
	if s := f.Plan.Steps[19]; len(s.Run.Uploads) != 51 || len(s.Run.Inputs.Files) != 51 || s.Run.FilesOf != "" {
		t.Error("the plan changed by being written")
	}
}

// A few uploads are in each run, shared or not, and so are none.
func TestDocumentsHaveFewUploadsInEachRun(t *testing.T) {
	for _, n := range []int{0, 1, mostRepeated} {
		list := make([]Upload, n)
		p := &Plan{Steps: []*Step{{Run: &RunSpec{Uploads: list}}, {Type: "volume"}, {Run: &RunSpec{Uploads: list}}}}
		if doc := string(written(t, p)); strings.Count(doc, `"uploads":[`) != 2 || strings.Count(doc, `"sha256"`) != 2*n || strings.Contains(doc, "files_of") {
			t.Errorf("%d: %s", n, doc)
		}
	}
}

// Lists that are not the same are told whole, though they have one length.
func TestDocumentsTellDifferentUploads(t *testing.T) {
	list := func() []Upload { return make([]Upload, mostRepeated+1) }
	shared := list()
	inputs := []map[string]string{{"file a": "1"}, {"file a": "2"}}
	p := &Plan{}
	for _, spec := range []RunSpec{
		{Uploads: shared, Inputs: Inputs{Files: inputs[0]}}, {Uploads: list(), Inputs: Inputs{Files: inputs[0]}},
		{Uploads: shared, Inputs: Inputs{Files: inputs[1]}}, {Uploads: shared, Inputs: Inputs{Files: inputs[0]}},
	} {
		p.Steps = append(p.Steps, &Step{Address: string(rune('a' + len(p.Steps))), Run: &spec})
	}
	var of []string
	for _, s := range p.told().Steps {
		of = append(of, s.Run.FilesOf)
	}
	if got := strings.Join(of, ","); got != ",,,a" {
		t.Errorf("files of %s", got)
	}
}
