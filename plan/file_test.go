package plan

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/overbrainer/overbrainer/config"
	"github.com/overbrainer/overbrainer/state"
)

const sensitive = base + `
variable "lr" {
  default = "1e-4"
}
variable "token" {
  default   = "hunter2-hunter2"
  sensitive = true
}
secret "hf" { env = "HF_TOKEN" }

run "quiet" {
  target  = target.gpu
  cap     = cap.small
  command = ["python", "train.py", var.lr]
  env     = { TOKEN = var.token, LR = var.lr }
  secrets = { HF_TOKEN = secret.hf }
  outputs = ["output/**"]
}
`

func saved(t *testing.T, p *project) (string, *File) {
	t.Helper()
	plan := p.plan()
	f, err := NewFile(plan, p.load(), "/a/"+state.FileName)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "p")
	if err := WriteFile(path, f); err != nil {
		t.Fatal(err)
	}
	return path, f
}

func TestPlanFileHoldsEverythingButSecrets(t *testing.T) {
	p := newProject(t, sensitive)
	path, f := saved(t, p)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	back, err := ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	a, b := written(t, f.Plan), written(t, back.Plan)
	if !bytes.Equal(a, b) {
		t.Errorf("the plan changed:\n%s\n%s", a, b)
	}
	if !strings.Contains(back.Sources["overbrainer.hcl"], "target \"gpu\"") || string(back.Variables["lr"]) == "" || strings.Join(back.Sensitive, "") != "token" {
		t.Errorf("variables %v, sensitive %v", back.Variables, back.Sensitive)
	}
	s := one(t, back.Plan, "run.quiet")
	if _, there := s.Run.Env["TOKEN"]; there || s.Run.Env["LR"] != "1e-4" || !has(s.Run.Late, "env TOKEN") || s.Run.Fingerprint == "" {
		t.Errorf("env %v, late %v", s.Run.Env, s.Run.Late)
	}
	for _, w := range []string{`"TOKEN":"(sensitive)"`, `"HF_TOKEN":"(secret)"`} {
		if !strings.Contains(string(s.After), w) {
			t.Errorf("%s is not in %s", w, s.After)
		}
	}
	data, _ := os.ReadFile(path)
	// The text of the configuration is the user's own; all else must not know.
	plain := strings.Replace(string(data), "hunter2-hunter2", "", 1)
	if strings.Contains(plain, "hunter2") || strings.Contains(string(a), "hunter2") || strings.Contains(string(a), hexSum([]byte("hunter2-hunter2"))) {
		t.Error("the plan holds a sensitive value")
	}
}

func TestEveryByteOfAPlanFileCounts(t *testing.T) {
	path, _ := saved(t, newProject(t, base))
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, data []byte) {
		t.Helper()
		_, err := DecodeFile("p", data)
		var bad *FileError
		if !errors.As(err, &bad) || bad.Code != "damaged" && bad.Code != "not_a_plan" && bad.Code != "other_format" {
			t.Errorf("%s: %v", what, err)
		}
	}
	check("cut", data[:len(data)-10])
	check("cut at the end", data[:len(data)-1])
	check("longer", append(append([]byte{}, data...), ' '))
	for i := 0; i < len(data); i += 1 + len(data)/500 {
		broken := append([]byte{}, data...)
		broken[i] ^= 1
		check("byte "+string(rune(i)), broken)
	}
	check("something else", []byte("PK\x03\x04"))
	check("a state", []byte(`{"version":1}`))
	if _, err := ReadFile(filepath.Join(t.TempDir(), "none")); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("missing: %v", err)
	}
}

// sweep is a plan of n runs that upload the same files.
func sweep(t *testing.T, n int) *project {
	hcl := strings.Replace(base, `run "train" {`, fmt.Sprintf("run \"train\" {\n  count = %d", n), 1)
	hcl = strings.Replace(hcl, "run.train.cost_usd", "1", 1)
	p := newProject(t, strings.Replace(hcl, `["train.py"]`, `["train.py", "data/**"]`, 1))
	for i := range 50 {
		p.write(fmt.Sprintf("data/%02d", i), "x")
	}
	return p
}

// Offers for a target that many runs have are in a plan file once, and in memory.
func TestPlanFileHasOffersOnce(t *testing.T) {
	path, f := saved(t, sweep(t, 20))
	f.Plan.Offers["run.none"] = []Offer{}
	if err := WriteFile(path, f); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(data, []byte(`"chosen":true`)); n != 1 {
		t.Errorf("the chosen offer is there %d times", n)
	}
	back, err := ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(back.Plan.Offers, f.Plan.Offers) || len(f.Plan.Offers) != 21 {
		t.Errorf("the offers changed: %v", back.Plan.Offers)
	}
	if o := back.Plan.Offers; &o["run.train[0]"][0] != &o["run.train[19]"][0] {
		t.Error("each run that was read has its offers for itself")
	}
}

// A list of uploads that many runs share is in a plan file once, and in memory,
// before and after; the plan and its JSON are the same.
func TestPlanFileHasAListOfUploadsOnce(t *testing.T) {
	path, f := saved(t, sweep(t, 20))
	runs := f.Plan.Steps
	if same := reflect.ValueOf(runs[0].Run.Inputs.Files).Pointer() == reflect.ValueOf(runs[19].Run.Inputs.Files).Pointer(); !same {
		t.Error("each run has the digests of its uploads for itself")
	}
	if n := len(runs[0].Run.Uploads); n != 51 || &runs[0].Run.Uploads[0] != &runs[19].Run.Uploads[0] {
		t.Fatalf("%d uploads, or each run has them for itself", n)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{`"source":"data/07"`, `"file data/07":`} {
		if n := bytes.Count(data, []byte(name)); n != 1 {
			t.Errorf("%s is there %d times", name, n)
		}
	}
	back, err := ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	whole := func(p *Plan) []byte {
		text, err := oneLine(p)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	if !bytes.Equal(whole(f.Plan), whole(back.Plan)) {
		t.Error("the plan changed")
	}
	if runs := back.Plan.Steps; &runs[0].Run.Uploads[0] != &runs[19].Run.Uploads[0] {
		t.Error("each run that was read has its uploads for itself")
	}

	// The first version had the lists in the runs, the second one the digests, and
	// both the offers.
	second := f.saved()
	second.Plan.Offers = f.Plan.Offers
	for i, s := range second.Plan.Steps {
		s.Run.Inputs.Files = f.Plan.Steps[i].Run.Inputs.Files
	}
	type apart struct {
		*File
		Uploads   [][]Upload `json:"uploads"`
		UploadsOf []int      `json:"uploads_of"`
	}
	for version, body := range map[int]any{1: f, 2: apart{second.File, second.Uploads, second.UploadsOf}} {
		head := fileHead{Format: fileFormat, FormatVersion: version, OverbrainerVersion: f.Plan.OverbrainerVersion}
		text, err := oneLine(body)
		if err != nil {
			t.Fatal(err)
		}
		sum := head.sum()
		sum.Write(text)
		head.Digest = hex.EncodeToString(sum.Sum(nil))
		start, err := head.text()
		if err != nil {
			t.Fatal(err)
		}
		old, err := DecodeFile("p", []byte(string(start)+string(text)+fileEnd))
		if err != nil || !bytes.Equal(whole(f.Plan), whole(old.Plan)) {
			t.Errorf("a file of version %d: %v", version, err)
		}
	}
	for _, wrong := range []savedFile{{UploadsOf: []int{1}}, {UploadsOf: []int{-1}}, {Uploads: make([][]Upload, 1), UploadsOf: []int{0, 1}}, {FilesOf: []int{1}},
		{OffersOf: map[string]int{"run.train[0]": 1}}, {Offers: make([][]Offer, 1), OffersOf: map[string]int{"run.train[0]": 0}}} {
		wrong.File = &File{Plan: &Plan{Steps: []*Step{{Run: &RunSpec{}}}, Offers: map[string][]Offer{}}}
		if wrong.restore() == nil {
			t.Errorf("%v of %d lists", wrong.UploadsOf, len(wrong.Uploads))
		}
	}
}

// What is too large to be read is not written, and either says how large it may be.
func TestPlanFileThatIsTooLarge(t *testing.T) {
	path, f := saved(t, newProject(t, base))
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	whole := mostFile
	t.Cleanup(func() { mostFile = whole })
	other := filepath.Join(t.TempDir(), "p")
	if mostFile = info.Size(); WriteFile(other, f) != nil {
		t.Error("one of just the size that is allowed is refused")
	}
	if _, err := ReadFile(other); err != nil {
		t.Error(err)
	}
	const words = "it has 1 MB, and may have at most 0 MB; plan fewer runs at once with -target, or upload fewer files"
	mostFile--
	empty := t.TempDir()
	err = WriteFile(filepath.Join(empty, "p"), f)
	if left, _ := os.ReadDir(empty); err == nil || err.Error() != "the plan cannot be saved: "+words || len(left) > 0 {
		t.Errorf("%v, and %v is left", err, left)
	}
	if _, err := ReadFile(path); err == nil || err.Error() != "plan file "+path+": "+words {
		t.Error(err)
	}
	if err := os.WriteFile(path, make([]byte, info.Size()), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(path); err == nil || err.Error() != path+" is no plan file" {
		t.Error(err)
	}
}

func TestStaleSaysWhich(t *testing.T) {
	p := newProject(t, sensitive)
	p.did("run.train", nil)
	_, f := saved(t, p)
	c := p.load()
	variables := func(c *config.Config) map[string]json.RawMessage {
		m := map[string]json.RawMessage{}
		for name, v := range c.Variables {
			if !v.Sensitive {
				m[name], _ = v.JSON()
			}
		}
		return m
	}
	// again loads the plan file's own configuration, as apply does.
	again := func() *config.Config {
		c, diags := config.Load(t.Context(), p.dir, config.Options{Sources: f.SourceBytes(), Settled: Settled(p.state, nil), Project: "proj",
			Vars: config.Vars{Given: f.Variables}})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		return c
	}
	now := Current{Version: "0.1.0", State: p.state, Where: "/a/" + state.FileName, Sources: c.Sources, Variables: variables(c), Config: again()}
	if stale := f.Stale(now); len(stale) > 0 {
		t.Fatalf("nothing changed: %v", stale)
	}
	for _, test := range []struct {
		code, words string
		change      func(*Current)
	}{
		{"version", "overbrainer 0.1.0, this is 0.2.0", func(c *Current) { c.Version = "0.2.0" }},
		{"state_moved", "serial 0 -> 3", func(c *Current) {
			c.State = altered(t, p.state, func(s *state.State) { s.Serial, s.Spend = 3, map[string]state.Spend{"cap.small": {USD: 1, Runs: 1}} })
		}},
		{"other_project", "/b/overbrainer.state.json (lineage ffff)", func(c *Current) { s := *p.state; s.Lineage = "ffff"; c.State, c.Where = &s, "/b/"+state.FileName }},
		{"config_changed", "overbrainer.hcl", func(c *Current) {
			p.write("overbrainer.hcl", strings.Replace(sensitive, "max_hours    = 2", "max_hours    = 20", 1))
			c.Sources = p.load().Sources
			p.write("overbrainer.hcl", sensitive)
		}},
		{"variables_changed", "var.lr", func(c *Current) {
			p.write("overbrainer.vars.hcl", `lr = "3e-4"`)
			c.Variables = variables(p.load())
			_ = os.Remove(filepath.Join(p.dir, "overbrainer.vars.hcl"))
		}},
		{"uploads_changed", "file train.py", func(c *Current) {
			p.write("train.py", "print(3)\n")
			c.Config = again()
			p.write("train.py", "print(1)\n")
		}},
	} {
		cur := now
		test.change(&cur)
		stale := f.Stale(cur)
		if len(stale) != 1 || stale[0].Code != test.code || !strings.Contains(stale[0].Message, test.words) {
			t.Errorf("%s: %v", test.code, stale)
		}
	}
	// Before the first apply only the project's name and the state's place
	// tell projects apart.
	young := *f.Plan
	young.Project.Lineage = ""
	first := File{Plan: &young, State: f.State}
	for _, test := range []struct {
		project, where, lineage string
		stale                   int
	}{
		{"proj", "/elsewhere/" + state.FileName, "", 0},
		{"other", "/elsewhere/" + state.FileName, "", 1},
		{"proj", "/elsewhere/" + state.FileName, "ffff", 1},
		{"renamed", f.State, "", 0},
	} {
		here := altered(t, p.state, func(s *state.State) { s.Lineage = test.lineage })
		if stale := first.Stale(Current{Version: "0.1.0", State: here, Where: test.where, Project: test.project}); len(stale) != test.stale {
			t.Errorf("%+v: %v", test, stale)
		}
	}
	// Without anything here but the plan file, there is nothing to compare.
	if stale := f.Stale(Current{Version: "0.1.0", State: p.state}); len(stale) > 0 {
		t.Errorf("on another machine: %v", stale)
	}
}

// altered gives a copy with a change.
func altered(t *testing.T, st *state.State, change func(*state.State)) *state.State {
	t.Helper()
	next, err := st.Clone()
	if err != nil {
		t.Fatal(err)
	}
	change(next)
	return next
}

// A plan is stale only when something has changed that it was decided from:
// another process that follows a run renews its claim, writes down metrics and
// snapshots, and raises the serial each time.
func TestOnlyWhatWasDecidedFromMakesAPlanStale(t *testing.T) {
	p := newProject(t, sensitive)
	p.did("run.train", func(r *state.Run) {
		r.Phase, r.Retrieved, r.Pod = state.Running, false, &state.Pod{ID: "pod1", State: state.PodRunning, RateUSD: 0.4, CreatedAt: testNow}
	})
	_, f := saved(t, p)
	run := func(s *state.State) *state.Run { return s.Resources["run.train"].Run.CurrentRun() }
	for _, test := range []struct {
		name   string
		stale  bool
		change func(*state.State)
	}{
		{"nothing", false, func(*state.State) {}},
		{"a claim", false, func(s *state.State) { s.Claims = map[string]state.Claim{"run.train": {ID: "c", Expires: testNow}} }},
		{"another version wrote it", false, func(s *state.State) { s.OverbrainerVersion = "0.2.0" }},
		{"what its follower notes", false, func(s *state.State) {
			r := run(s)
			r.Metrics, r.Snapshot = map[string]float64{"loss": 1}, &state.Snapshot{Path: "ckpt", Step: 3, At: testNow}
			r.Pod.SSH = &state.Endpoint{Host: "127.0.0.1", Port: 1, User: "root"}
		}},
		{"a catalog", false, func(s *state.State) { s.Catalogs = map[string]state.Catalog{"x": {ReadAt: testNow}} }},
		{"its end", true, func(s *state.State) { run(s).Phase = state.Succeeded }},
		{"its pod", true, func(s *state.State) { run(s).Pod.State = state.PodDeleted }},
		{"another run", true, func(s *state.State) {
			s.Resources["run.quiet"] = &state.Resource{Type: "run", Provider: "runpod", Run: &state.RunResource{}}
		}},
		{"an output", true, func(s *state.State) { s.Outputs = map[string]state.Output{"x": {Value: 1}} }},
		{"money spent", true, func(s *state.State) { s.Spend = map[string]state.Spend{"cap.small": {USD: 1}} }},
	} {
		here := altered(t, p.state, func(s *state.State) { s.Serial += 7; test.change(s) })
		stale := f.Stale(Current{Version: "0.1.0", State: here})
		if got := len(stale) > 0; got != test.stale {
			t.Errorf("%s: stale %v", test.name, stale)
		}
	}
}

func FuzzPlanFile(f *testing.F) {
	file := &File{Plan: &Plan{FormatVersion: FormatVersion, OverbrainerVersion: "0.1.0"}}
	path := filepath.Join(f.TempDir(), "p")
	encode := func(t testing.TB, file *File) []byte {
		if err := WriteFile(path, file); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	f.Add(encode(f, file))
	f.Add([]byte(`{"format":"overbrainer plan"}`))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := DecodeFile("p", data)
		if err != nil {
			_ = err.Error()
			return
		}
		if _, err := DecodeFile("p", encode(t, got)); err != nil {
			t.Fatal(err)
		}
	})
}
