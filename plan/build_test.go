package plan

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/overbrainer/overbrainer/config"
	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/state"
)

const base = `
provider "runpod" {}

target "gpu" {
  gpu_types         = ["NVIDIA GeForce RTX 4090", "NVIDIA A40"]
  data_centers      = ["EU-RO-1"]
  image             = "registry.example/train:1.0"
  container_disk_gb = 50
  ready_timeout     = "2m"
}

cap "small" {
  max_hours    = 2
  max_cost_usd = 3
}

run "train" {
  target  = target.gpu
  cap     = cap.small
  command = ["python", "train.py"]
  upload  = ["train.py"]
  outputs = ["output/**"]
}

output "spent_usd" {
  value = run.train.cost_usd
}
`

// place stands for one project under test.
type project struct {
	t     testing.TB
	dir   string
	cat   providers.Catalog
	reads int
	pods  []providers.Pod
	vols  []providers.Volume
	state *state.State
	input func(*Input)
	vars  config.Vars
}

var testNow = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

func wide(id, name string, vram int, price float64, stock providers.Stock) providers.GPUType {
	return providers.GPUType{ID: id, Name: name, VRAMGB: vram, Offered: true, Price: price, MaxCount: 8, Stock: stock,
		DataCenters: []providers.PlaceStock{{DataCenter: "EU-RO-1", Stock: stock}}}
}

func newProject(t testing.TB, hcl string) *project {
	t.Helper()
	p := &project{t: t, dir: t.TempDir(), state: state.New(""), cat: providers.Catalog{
		GPUs: []providers.GPUType{
			wide("NVIDIA GeForce RTX 4090", "RTX 4090", 24, 0.44, "high"),
			wide("NVIDIA A40", "A40", 48, 0.40, "medium"),
			wide("NVIDIA L40S", "L40S", 48, 0.79, "high"),
		},
		DataCenters: []providers.DataCenter{{ID: "EU-RO-1"}, {ID: "US-KS-2"}},
	}}
	p.write("overbrainer.hcl", hcl)
	p.write("train.py", "print(1)\n")
	return p
}

func (p *project) write(name, text string) {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p *project) load(replace ...string) *config.Config {
	p.t.Helper()
	c, diags := config.Load(p.t.Context(), p.dir, config.Options{
		Settled: Settled(p.state, replace), Volume: VolumeIDs(p.state), Version: "0.1.0", Vars: p.vars, Project: "proj",
	})
	if diags.HasErrors() {
		p.t.Fatal(diags)
	}
	return c
}

func (p *project) plan(change ...func(*Input)) *Plan {
	p.t.Helper()
	in := Input{
		State: p.state, Version: "0.1.0", Now: testNow, Files: os.DirFS(p.dir),
		Catalog: func(context.Context, string, providers.CatalogQuery) (providers.Catalog, error) {
			p.reads++
			return p.cat, nil
		},
		Pods: func(context.Context, string) (providers.PodList, error) { return providers.PodList{Pods: p.pods}, nil },
		Pod: func(_ context.Context, _, id string) (providers.Pod, error) {
			for _, pod := range p.pods {
				if pod.ID == id {
					return pod, nil
				}
			}
			return providers.Pod{}, &providers.Error{Kind: providers.NotFound, Message: "unknown pod"}
		},
		Volumes: func(context.Context, string) ([]providers.Volume, error) { return p.vols, nil },
	}
	if p.input != nil {
		p.input(&in)
	}
	for _, f := range change {
		f(&in)
	}
	if in.Config == nil {
		in.Config = p.load(in.Replace...)
	}
	plan, err := Build(p.t.Context(), in)
	if err != nil {
		p.t.Fatal(err)
	}
	return plan
}

// one gives the only step, or the one of the address.
func one(t *testing.T, p *Plan, addr string) *Step {
	t.Helper()
	for _, s := range p.Steps {
		if s.Address == addr {
			return s
		}
	}
	t.Fatalf("no step for %s in %d steps", addr, len(p.Steps))
	return nil
}

// said fails unless a diagnostic has all the words in its texts.
func said(t *testing.T, p *Plan, severity string, words ...string) Diagnostic {
	t.Helper()
next:
	for _, d := range p.Diagnostics {
		for _, w := range words {
			if !strings.Contains(d.Summary+"\n"+d.Detail, w) {
				continue next
			}
		}
		if d.Severity == severity {
			return d
		}
	}
	t.Errorf("no %s says %q; there are %+v", severity, words, p.Diagnostics)
	return Diagnostic{}
}

func quiet(t *testing.T, p *Plan) {
	t.Helper()
	if len(p.Diagnostics) > 0 {
		t.Errorf("diagnostics: %+v", p.Diagnostics)
	}
}

// did puts an ended run of run.train into the state, as an apply would leave
// it.
func (p *project) did(addr string, change func(*state.Run)) *state.Run {
	p.t.Helper()
	fingerprint, inputs := "", Inputs{}
	for _, run := range p.load().Runs {
		if run.Address == addr {
			fingerprint, inputs = run.Fingerprint, run.Inputs
		}
	}
	data, _ := json.Marshal(map[string]any{"inputs": inputs})
	start, end := testNow.Add(-2*time.Hour), testNow.Add(-time.Hour)
	id := "r-" + strings.NewReplacer("run.", "", `["`, "-", `"]`, "").Replace(addr)
	run := &state.Run{
		ID: id, Phase: state.Succeeded, Fingerprint: fingerprint, Try: 1, Dir: "runs/" + id, Retrieved: true, CostUSD: 0.44,
		InputsDigest: hexSum(data), CreatedAt: start, StartedAt: &start, EndedAt: &end, GPUType: "NVIDIA A40",
		Bounds: state.Bounds{Cap: "cap.small", MaxHours: 2, MaxCostUSD: 3, RetrieveGrace: 3600},
	}
	if change != nil {
		change(run)
	}
	p.write(run.Dir+"/inputs.json", string(data))
	p.state.Lineage = "0123"
	p.state.Resources[addr] = &state.Resource{Type: "run", Provider: "runpod", Run: &state.RunResource{Current: id, Runs: []*state.Run{run}}}
	return run
}

func TestFirstPlan(t *testing.T) {
	p := newProject(t, base)
	plan := p.plan()
	quiet(t, plan)
	s := one(t, plan, "run.train")
	if s.Action != Run || !plan.Applyable || !plan.HasChanges() || p.reads != 1 {
		t.Errorf("%s applyable %v changes %v reads %d", s.Action, plan.Applyable, plan.HasChanges(), p.reads)
	}
	offers := plan.Offers["run.train"]
	if len(offers) != 2 || !offers[0].Chosen || *offers[0].PriceUSD != 0.44 || offers[0].DataCenters[0] != "EU-RO-1" {
		t.Errorf("offers %+v", offers)
	}
	// Two boots of 7 min, 2 h, 1 h of grace at 0.44, and 50 GB of disk.
	hours := 2*7.0/60 + 3
	want := *usd((0.44+0.40)*7/60 + 0.44*3 + 50*0.10/720*hours)
	if s.Cost.MaxUSD == nil || *s.Cost.MaxUSD < want-1e-3 || *s.Cost.MaxUSD > want+1e-3 || *plan.Cost.MaxUSD != *s.Cost.MaxUSD {
		t.Errorf("max %v, want about %v", *s.Cost.MaxUSD, want)
	}
	if plan.Cost.ExpectedUSD != nil || *plan.Cost.HourlyUSD != *usd(0.44 + 50*0.10/720) || *plan.Cost.MonthlyStorageUSD != 0 {
		t.Errorf("cost %+v", plan.Cost)
	}
	if o := plan.Outputs["spent_usd"]; !o.Unknown || !o.Changed {
		t.Errorf("output %+v", o)
	}
	if string(s.Before) != "null" || !strings.Contains(string(s.After), `"image":"registry.example/train:1.0"`) {
		t.Errorf("before %s after %s", s.Before, s.After)
	}
}

func TestSecondPlanChangesNothing(t *testing.T) {
	p := newProject(t, base)
	p.did("run.train", nil)
	p.state.Outputs["spent_usd"] = state.Output{Value: 0.44}
	plan := p.plan()
	quiet(t, plan)
	if s := one(t, plan, "run.train"); s.Action != NoOp || plan.HasChanges() || *plan.Cost.MaxUSD != 0 {
		t.Errorf("%s %q, changes %v, outputs %+v, max %v", s.Action, s.Reason, plan.HasChanges(), plan.Outputs, *plan.Cost.MaxUSD)
	}
	// Only an output changed.
	p.write("overbrainer.hcl", strings.Replace(base, "run.train.cost_usd", "run.train.cost_usd + 1", 1))
	if plan := p.plan(); !plan.HasChanges() || one(t, plan, "run.train").Action != NoOp {
		t.Error("a changed output is no change")
	}
}

func TestChangedInputsAreNamed(t *testing.T) {
	p := newProject(t, base)
	p.did("run.train", nil)
	p.write("train.py", "print(2)\n")
	p.write("overbrainer.hcl", strings.Replace(base, `"train.py"]`, `"train.py", "-v"]`, 1))
	plan := p.plan()
	s := one(t, plan, "run.train")
	if s.Action != Rerun || strings.Join(s.ChangedInputs, ",") != "command,file train.py" || !strings.Contains(s.Reason, "file train.py") || s.Run.Try != 1 {
		t.Errorf("%s %q %q", s.Action, s.Reason, s.ChangedInputs)
	}
	// Expected by the run before, priced anew.
	if s.Cost.ExpectedUSD == nil || *s.Cost.ExpectedUSD != 0.44 || s.Cost.ExpectedBy != "run r-train" {
		t.Errorf("expected %v by %q", s.Cost.ExpectedUSD, s.Cost.ExpectedBy)
	}
}

func TestPlanningTwiceGivesTheSameBytes(t *testing.T) {
	hcl := strings.Replace(base, `run "train" {`, "run \"train\" {\n  for_each = { a = 1, b = 2, c = 3, d = 4 }", 1)
	hcl = strings.Replace(hcl, "run.train.cost_usd", "{ for k, r in run.train : k => r.cost_usd }", 1)
	p := newProject(t, hcl)
	var first []byte
	for range 5 {
		data := written(t, p.plan())
		if bytes.ContainsAny(data, "\n") {
			t.Error("more than one line")
		}
		if first == nil {
			first = data
		}
		if !bytes.Equal(first, data) {
			t.Fatalf("%s\n%s", first, data)
		}
	}
}

func TestThousandRunsOneCatalogRead(t *testing.T) {
	hcl := strings.Replace(base, `run "train" {`, "run \"train\" {\n  count = 1000", 1)
	hcl = strings.Replace(hcl, "run.train.cost_usd", "1", 1)
	p := newProject(t, hcl)
	if plan := p.plan(); len(plan.Steps) != 1000 || p.reads != 1 {
		t.Errorf("%d steps, %d reads", len(plan.Steps), p.reads)
	}
}

func TestUnknownGPUTypes(t *testing.T) {
	p := newProject(t, strings.Replace(base, `"NVIDIA GeForce RTX 4090", "NVIDIA A40"`, `"NVIDIA RTX 4090", "A40"`, 1))
	plan := p.plan()
	d := said(t, plan, "error", `unknown GPU type "NVIDIA RTX 4090"`, `"NVIDIA GeForce RTX 4090"`)
	if d.Range == nil || d.Range.Start.Line != 5 || !strings.Contains(d.Snippet, "gpu_types") {
		t.Errorf("at %+v: %q", d.Range, d.Snippet)
	}
	said(t, plan, "error", `"A40"`, `"NVIDIA A40"`)
	if plan.Applyable {
		t.Error("can be applied")
	}
}

func TestDoubledSpaces(t *testing.T) {
	p := newProject(t, strings.Replace(base, `"NVIDIA GeForce RTX 4090", "NVIDIA A40"`, `"NVIDIA RTX A4500"`, 1))
	p.cat.GPUs = []providers.GPUType{wide("NVIDIA RTX A4500", "RTX A4500", 20, 0.25, "none"), wide("NVIDIA  RTX A4500", "RTX A4500", 20, 0.25, "high")}
	plan := p.plan()
	said(t, plan, "warning", "not in stock", `"NVIDIA  RTX A4500"`)
	if o := plan.Offers["run.train"]; len(o) != 1 || o[0].GPUType != "NVIDIA RTX A4500" || !plan.Applyable {
		t.Errorf("offers %+v", o)
	}
	p.cat.GPUs = p.cat.GPUs[1:]
	said(t, p.plan(), "error", `unknown GPU type "NVIDIA RTX A4500"`, "differs in its spaces")
}

func TestNearestMissesOfAuto(t *testing.T) {
	p := newProject(t, strings.Replace(base, `["NVIDIA GeForce RTX 4090", "NVIDIA A40"]`, "\"auto\"\n  min_vram_gb = 80\n  max_price_per_hour = 0.42", 1))
	plan := p.plan()
	said(t, plan, "error", "nothing can be rented for target.gpu", "min_vram_gb = 80", "NVIDIA A40 (48 GB, $0.40, stock medium): 32 GB of VRAM too small")
	p.write("overbrainer.hcl", strings.Replace(base, `["NVIDIA GeForce RTX 4090", "NVIDIA A40"]`, "\"auto\"\n  min_vram_gb = 40\n  max_price_per_hour = 0.42", 1))
	plan = p.plan()
	quiet(t, plan)
	if o := plan.Offers["run.train"]; len(o) != 1 || o[0].GPUType != "NVIDIA A40" {
		t.Errorf("offers %+v", o)
	}
}

func TestWaitingForStock(t *testing.T) {
	p := newProject(t, strings.Replace(base, `["NVIDIA GeForce RTX 4090", "NVIDIA A40"]`, "\"auto\"\n  wait_for_stock = \"2h\"", 1))
	for i := range p.cat.GPUs {
		p.cat.GPUs[i].Stock, p.cat.GPUs[i].DataCenters = "none", nil
	}
	plan := p.plan()
	said(t, plan, "warning", "waits for stock")
	if !plan.Applyable || len(plan.Offers["run.train"]) != 3 {
		t.Errorf("applyable %v, offers %v", plan.Applyable, plan.Offers)
	}
}

func TestUnknownDataCenter(t *testing.T) {
	p := newProject(t, strings.Replace(base, `["EU-RO-1"]`, `["EU-R0-1"]`, 1))
	said(t, p.plan(), "error", `there is no data center "EU-R0-1"`, "EU-RO-1")
}

func TestCatalogChanges(t *testing.T) {
	p := newProject(t, base)
	seen := p.plan().Catalogs
	p.cat.GPUs = []providers.GPUType{
		wide("NVIDIA GeForce RTX 4090", "RTX 4090", 24, 0.59, "low"), wide("NVIDIA L40S", "L40S", 48, 0.60, "low"),
	}
	plan := p.plan(func(in *Input) { in.Seen = seen })
	var got []string
	for _, c := range plan.CatalogDiff {
		got = append(got, strings.Join([]string{c.GPUType, c.Field, c.DataCenter, show(c.Before), show(c.After)}, " "))
	}
	want := []string{
		"NVIDIA A40 offered  true false",
		"NVIDIA GeForce RTX 4090 price  0.44 0.59",
		"NVIDIA GeForce RTX 4090 stock  \"high\" \"low\"",
		"NVIDIA GeForce RTX 4090 stock EU-RO-1 \"high\" \"low\"",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("changes:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	said(t, plan, "warning", "NVIDIA A40 is no longer offered")
	if !plan.Applyable {
		t.Error("cannot be applied with the type that is left")
	}
	// The newer of plan and state counts, and nothing moved is nothing said.
	p.state.Lineage = "0123"
	p.state.Catalogs = plan.StateCatalogs()
	if plan := p.plan(func(in *Input) { in.Seen = nil }); len(plan.CatalogDiff) != 0 {
		t.Errorf("changes against itself: %v", plan.CatalogDiff)
	}
	// Another choice is said with the rank that the old one has now.
	p.write("overbrainer.hcl", strings.Replace(base, `["NVIDIA GeForce RTX 4090", "NVIDIA A40"]`, `"auto"`, 1))
	p.cat.GPUs[1].Price = 0.50
	choices := 0
	for _, c := range p.plan().CatalogDiff {
		if c.Field == "choice" {
			choices++
			if c.Before != "NVIDIA GeForce RTX 4090" || c.After != "NVIDIA L40S" || c.Target != "target.gpu" {
				t.Errorf("choice %+v", c)
			}
		}
	}
	if choices != 1 {
		t.Errorf("%d choices", choices)
	}
}

func show(v any) string { data, _ := json.Marshal(v); return string(data) }

func TestUnknownPriceIsNeverZero(t *testing.T) {
	hcl := strings.Replace(base, "  max_cost_usd = 3\n", "", 1) + `
check "budget" {
  assert {
    condition     = plan.max_cost_usd <= 20
    error_message = "too dear"
  }
}
`
	p := newProject(t, hcl)
	plan := p.plan()
	if len(plan.Checks) != 1 || plan.Checks[0].Status != "pass" || !plan.Applyable {
		t.Errorf("checks %+v", plan.Checks)
	}
	p.cat.GPUs[1].Price = 0
	plan = p.plan()
	if plan.Cost.MaxUSD != nil || plan.Checks[0].Status == "pass" || plan.Applyable {
		t.Errorf("max %v, checks %+v", plan.Cost.MaxUSD, plan.Checks)
	}
	if data := written(t, plan); !bytes.Contains(data, []byte(`"max_usd":null`)) {
		t.Error("unknown is not null")
	}
	// A cost cap bounds what has no price.
	p.write("overbrainer.hcl", strings.Replace(hcl, "max_hours    = 2", "max_hours    = 2\n  max_cost_usd = 3", 1))
	if plan := p.plan(); plan.Cost.MaxUSD == nil || *plan.Cost.MaxUSD != 3 {
		t.Errorf("max %v", plan.Cost.MaxUSD)
	}
}

func TestKeptForEver(t *testing.T) {
	p := newProject(t, strings.Replace(base, `outputs = ["output/**"]`, "outputs = [\"output/**\"]\n  keep_pod = \"forever\"", 1))
	plan := p.plan()
	if plan.Cost.MaxUSD != nil || !strings.Contains(plan.Cost.Unbounded, "the pod is kept for ever, at $0.447 an hour until it is destroyed") {
		t.Errorf("cost %+v", plan.Cost)
	}
	// Of a sweep a few are named.
	forever, _, _ := strings.Cut(base, "output \"")
	p.write("overbrainer.hcl", strings.Replace(forever, `outputs = ["output/**"]`, "outputs = [\"output/**\"]\n  keep_pod = \"forever\"\n  count = 200", 1))
	const want = "run.train[0], run.train[1], run.train[2] and 197 more: the pod is kept for ever, at $0.447 an hour until it is destroyed or max_cost_usd = 3 is spent"
	if plan := p.plan(); plan.Cost.MaxUSD != nil || plan.Cost.Unbounded != want {
		t.Errorf("%.300s", plan.Cost.Unbounded)
	}
}

// TestShortBounds: a bound that leaves little of a pod is warned of, with how much
// of it a job has before it is asked to save itself.
func TestShortBounds(t *testing.T) {
	const snapshot = `snapshot { path = "output/checkpoint-{step}" }`
	tests := []struct {
		name, cap, block string
		says             []string // "": no warning
	}{
		{"hours", "max_hours = 0.2", "", []string{"max_hours leaves little time for target.gpu", "max_hours = 0.2 is 12 min from the pod's creation, the time to boot included."}},
		{"hours with snapshot", "max_hours = 0.2", snapshot, []string{"max_hours leaves little time", "The job is asked to save itself after 9 min."}},
		{"money", "max_hours = 1\nmax_cost_usd = 0.0814", "", []string{"max_cost_usd buys little for target.gpu", "buys 12 min at"}},
		{"money with snapshot", "max_hours = 1\nmax_cost_usd = 0.0814", snapshot, []string{"max_cost_usd buys little", "The job is asked to save itself after 9 min."}},
		{"odd money", "max_hours = 1\nmax_cost_usd = 0.0531", snapshot, []string{"buys 7 min 50 s at $0.407 an hour", "The job is asked to save itself after 5 min 52 s."}},
		{"enough", "max_hours = 0.5\nmax_cost_usd = 0.3", snapshot, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newProject(t, fmt.Sprintf(`
provider "runpod" {}
target "gpu" {
  gpu_types = ["NVIDIA A40"]
  image     = "registry.example/train:1.0"
}
cap "c" {
%s
}
run "train" {
  target  = target.gpu
  cap     = cap.c
  command = ["python", "train.py"]
  outputs = ["output/**"]
  %s
}
`, tt.cap, tt.block))
			plan := p.plan()
			if tt.says == nil {
				if len(plan.Diagnostics) > 0 {
					t.Errorf("%+v", plan.Diagnostics)
				}
				return
			}
			d := said(t, plan, "warning", tt.says...)
			if asked := strings.Contains(d.Detail, "asked to save"); asked != (tt.block != "") {
				t.Errorf("%q", d.Detail)
			}
		})
	}
}

func TestSharedTotal(t *testing.T) {
	hcl := `
target "gpu" {
  gpu_types = ["NVIDIA A40"]
  image     = "registry.example/train:1.0"
}
cap "shared" {
  max_hours     = 2
  max_total_usd = 1
}
run "both" {
  for_each = { a = 1, b = 2 }
  target   = target.gpu
  cap      = cap.shared
  command  = ["python", each.value]
  outputs  = ["output/**"]
}
provider "runpod" {}
`
	p := newProject(t, hcl)
	plan := p.plan()
	if plan.Cost.MaxUSD == nil || *plan.Cost.MaxUSD != 1 {
		t.Errorf("max %v", plan.Cost.MaxUSD)
	}
	said(t, plan, "warning", "cap.shared allows less")
	p.state.Spend["cap.shared"] = state.Spend{USD: 0.75, Runs: 1}
	if plan := p.plan(); *plan.Cost.MaxUSD != 0.25 || plan.Cost.SpentUSD["cap.shared"] != 0.75 {
		t.Errorf("cost %+v", plan.Cost)
	}
	said(t, plan, "warning", "it has to buy half an hour of its pod")
	p.state.Spend["cap.shared"] = state.Spend{USD: 1.2, Runs: 1}
	if plan := p.plan(); plan.Applyable {
		t.Error("can be applied with nothing left")
	}
	p.state.Spend["cap.shared"] = state.Spend{USD: 0.9, Runs: 1}
	plan = p.plan()
	said(t, plan, "error", "too little is left under cap.shared", "has to get half an hour of its pod for them, and gets less")
	// Less is enough for a run whose own bounds allow no more.
	p.write("overbrainer.hcl", strings.Replace(hcl, "max_hours     = 2", "max_hours = 2\n  max_cost_usd = 0.1", 1))
	if plan = p.plan(); !plan.Applyable {
		t.Errorf("%+v", plan.Diagnostics)
	}
	p.write("overbrainer.hcl", hcl)
	// What goes on and what has ended does not wait for more money.
	p.state.Spend["cap.shared"] = state.Spend{}
	live := p.did(`run.both["a"]`, func(r *state.Run) {
		r.Phase, r.EndedAt, r.Retrieved, r.CostUSD, r.Bounds.Cap, r.ReservedUSD = state.Running, nil, false, 0, "cap.shared", 1
		r.Pod = &state.Pod{ID: "pod1", State: state.PodRunning, RateUSD: 0.40, CreatedAt: testNow.Add(-time.Hour)}
	})
	p.pods = []providers.Pod{{ID: "pod1", Status: providers.Running, RatePerHour: 0.40}}
	plan = p.plan()
	said(t, plan, "warning", "too little is left under cap.shared", "$0.40 is spent and $0.60 reserved", `nothing is rented for run.both["b"]`)
	if a, b := one(t, plan, `run.both["a"]`), one(t, plan, `run.both["b"]`); !plan.Applyable || a.Action != Attach || b.Action != Run || !strings.Contains(b.Reason, "begins only if enough is left under cap.shared") {
		t.Errorf("applyable %v: %s, %s %q", plan.Applyable, a.Action, b.Action, b.Reason)
	}
	live.Phase, live.Pod.State = state.Failed, state.PodAwaiting
	if plan = p.plan(); !plan.Applyable || one(t, plan, `run.both["a"]`).Action != Collect {
		t.Errorf("applyable %v", plan.Applyable)
	}
	// A pod that apply deletes first reserves nothing, and is told until then, also where
	// its run is to run again.
	live.Phase, live.Retrieved = state.Succeeded, true
	plan = p.plan(func(in *Input) { in.Replace = []string{`run.both["a"]`} })
	if a := one(t, plan, `run.both["a"]`); !plan.Applyable || !a.Begins() || len(plan.Leftovers) != 1 || plan.Leftovers[0].ID != "pod1" {
		t.Errorf("applyable %v: %s, %+v", plan.Applyable, a.Action, plan.Leftovers)
	}
	live.Retrieved = false
	// A pod that is gone bills no more, and reserves nothing.
	live.Phase, live.Pod.State, p.pods = state.Running, state.PodRunning, nil
	p.input = func(in *Input) {
		in.UnseenEnd = func(provider string, run *state.Run) (time.Time, bool) {
			if provider != "runpod" {
				t.Errorf("asked of %q", provider)
			}
			return run.Pod.CreatedAt.Add(30 * time.Minute), true
		}
	}
	plan = p.plan()
	if got := plan.Cost.SpentUSD["cap.shared"]; got != 0.2 {
		t.Errorf("spent %v", got)
	}
	said(t, plan, "warning", "cap.shared allows less", "$0.20 is spent and $0.00 reserved")
}

func TestLiveRuns(t *testing.T) {
	p := newProject(t, base)
	p.did("run.train", func(r *state.Run) {
		r.Phase, r.EndedAt, r.Retrieved, r.CostUSD = state.Running, nil, false, 0.1
		r.Pod = &state.Pod{ID: "pod1", State: state.PodRunning, RateUSD: 0.40, DiskUSD: 0.01, CreatedAt: testNow.Add(-time.Hour)}
	})
	p.pods = []providers.Pod{{ID: "pod1", Status: providers.Running, RatePerHour: 0.40}}
	plan := p.plan()
	s := one(t, plan, "run.train")
	if s.Action != Attach || s.RunID != "r-train" || len(plan.Leftovers) != 0 {
		t.Errorf("%s %q leftovers %+v", s.Action, s.Reason, plan.Leftovers)
	}
	if *s.Cost.MaxUSD != *usd(0.1 + 0.41*3) || *plan.Cost.HourlyUSD != 0.41 {
		t.Errorf("cost %+v", s.Cost)
	}
	// Attaching alone is no change.
	p.write("overbrainer.hcl", base[:strings.Index(base, "output \"spent_usd\"")])
	if p.plan().HasChanges() {
		t.Error("attaching is a change")
	}
	// Gone elsewhere: lost, in a plan of nothing but that, too.
	p.pods = nil
	if s := one(t, p.plan(), "run.train"); s.Action != Rerun || !strings.Contains(s.Reason, "pod1 is not in the account") || s.Run.Try != 2 {
		t.Errorf("%s %q", s.Action, s.Reason)
	}
	plan = p.plan(func(in *Input) { in.RefreshOnly = true })
	if s := one(t, plan, "run.train"); s.Action != Refresh || !plan.HasChanges() {
		t.Errorf("%s %q", s.Action, s.Reason)
	}
	// Past a bound of its pod nothing runs again by itself, and nothing bills.
	run := p.state.Resources["run.train"].Run.Runs[0]
	passed := testNow.Add(-time.Minute)
	run.Pod.Deadline = &passed
	if s := one(t, p.plan(), "run.train"); s.Action != Attach || !strings.Contains(s.Reason, "time_limit") || *s.Cost.HourlyUSD != 0 {
		t.Errorf("%s %q %+v", s.Action, s.Reason, s.Cost)
	}
	run.Pod.Deadline = nil
	// A stopped pod does not go on, either.
	p.pods = []providers.Pod{{ID: "pod1", Status: providers.Exited}}
	if s := one(t, p.plan(), "run.train"); s.Action != Attach || !strings.Contains(s.Reason, "is stopped") || *s.Cost.HourlyUSD != 0 {
		t.Errorf("%s %q %+v", s.Action, s.Reason, s.Cost)
	}
	p.pods = nil
	// A listing that lags right after the create proves nothing.
	p.state.Resources["run.train"].Run.Runs[0].Pod.CreatedAt = testNow.Add(-30 * time.Second)
	if s := one(t, p.plan(), "run.train"); s.Action != Attach {
		t.Errorf("%s %q", s.Action, s.Reason)
	}
	// Replacing what runs is an error.
	said(t, p.plan(func(in *Input) { in.Replace = []string{"run.train"} }), "error", "cannot be replaced while it runs", "run stop")
}

// TestWhatIsNotDoneCostsNothing: a run that is held, or done, costs 0, which is
// not unknown.
func TestWhatIsNotDoneCostsNothing(t *testing.T) {
	p := newProject(t, base)
	for action, change := range map[Action]func(*state.Run){
		Hold: func(r *state.Run) {
			r.Phase, r.Reason, r.StartedAt, r.CostUSD = state.Failed, state.TimeLimit, &testNow, 1
		},
		NoOp: func(*state.Run) {},
	} {
		p.did("run.train", change)
		s := one(t, p.plan(), "run.train")
		if c := s.Cost; s.Action != action || c.MaxUSD == nil || *c.MaxUSD != 0 || c.HourlyUSD == nil || *c.HourlyUSD != 0 || c.ExpectedUSD == nil || *c.ExpectedUSD != 0 {
			t.Errorf("%s %q: %+v", s.Action, s.Reason, s.Cost)
		}
	}
}

func TestLeftovers(t *testing.T) {
	p := newProject(t, base)
	run := p.did("run.train", func(r *state.Run) {
		r.Pod = &state.Pod{ID: "kept1", State: state.PodKept, RateUSD: 0.4, DiskUSD: 0.01}
		r.Strays = []state.Stray{{PodID: "stray1", RateUSD: 0.5}}
		r.Attempts = []*state.Attempt{{Name: "overbrainer-r-train-1", Result: state.AttemptSent, RateUSD: 0.44}}
	})
	mark := func(run, lineage string) providers.Marker { return providers.Marker{RunID: run, Lineage: lineage} }
	p.pods = []providers.Pod{
		{ID: "kept1", Status: providers.Running, RatePerHour: 0.4, Marker: mark("r-train", "0123")},
		{ID: "adopt1", Name: "overbrainer-r-train-1", Status: providers.Running, RatePerHour: 0.44, Marker: providers.Marker{RunID: "r-train", Lineage: "0123", Attempt: "overbrainer-r-train-1"}},
		{ID: "orphan1", Status: providers.Running, RatePerHour: 0.6, Marker: mark("r-old", "0123")},
		{ID: "exited1", Status: providers.Exited, PersistentGB: 120, Marker: mark("r-old", "0123")},
		{ID: "theirs1", Status: providers.Running, RatePerHour: 0.7, Marker: mark("r-x", "ffff")},
		{ID: "console1", Name: "my-notebook", Status: providers.Running},
	}
	plan := p.plan()
	var got []string
	for _, l := range plan.Leftovers {
		got = append(got, strings.Join([]string{l.Kind, l.ID, show(l.Hourly), l.Fix}, " "))
	}
	want := []string{
		"pod orphan1 0.6 overbrainer pod rm r-old -force",
		"stopped exited1 0.0334 overbrainer pod rm r-old -force",
		"kept kept1 0.41 overbrainer pod rm r-train",
		"stray stray1 0.5 overbrainer pod rm r-train",
		"unanswered adopt1 0.44 overbrainer pod rm r-train",
		"foreign theirs1 0.7 ",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("leftovers:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if m := plan.Leftovers[1].MonthlyUSD; m == nil || *m != 24 {
		t.Errorf("a stopped pod's disk costs %v a month", m)
	}
	// Nothing is written by planning.
	if p.state.Resources["run.train"].Run.Runs[0] != run || len(p.state.Resources) != 1 {
		t.Error("the state changed")
	}
	// A secret that nobody needs.
	run.Pod, run.Strays, run.Attempts, p.pods = nil, nil, nil, nil
	run.Secrets = []state.SecretRef{{Name: "overbrainer_host_key_r-train"}}
	if l := p.plan().Leftovers; len(l) != 1 || l[0].Kind != "secret" || l[0].Fix != "overbrainer sweep" {
		t.Errorf("leftovers %+v", l)
	}
}

func TestResultsThatAreNotHere(t *testing.T) {
	p := newProject(t, base)
	file := resultFile{Path: "output/model.json", Size: 2, SHA256: hexSum([]byte("{}"))}
	p.did("run.train", func(r *state.Run) { r.ResultFiles, r.ResultsDigest = 1, digestOf([]resultFile{file}) })
	p.write("runs/r-train/run.json", `{"files": [`+show(file)+`]}`)
	p.write("runs/r-train/output/model.json", "{}")
	quiet(t, p.plan())
	p.write("runs/r-train/output/model.json", "[]")
	said(t, p.plan(), "warning", "results of run.train are not here", "output/model.json changed")
	_ = os.Remove(filepath.Join(p.dir, "runs/r-train/output/model.json"))
	s := one(t, p.plan(), "run.train")
	if s.Action != NoOp || !strings.Contains(s.Reason, "model.json is missing") {
		t.Errorf("%s %q", s.Action, s.Reason)
	}
	// Nothing of them is here: who fetched them is somebody else, or was here.
	_ = os.RemoveAll(filepath.Join(p.dir, "runs"))
	p.state.Resources["run.train"].Run.Runs[0].FetchedBy = "ann@desk"
	p.input = func(in *Input) { in.Holder = state.ClaimHolder{Who: "bob", Host: "lab"} }
	said(t, p.plan(), "warning", "results of run.train are on ann@desk", "lie nowhere else")
	p.input = func(in *Input) { in.Holder = state.ClaimHolder{Who: "ann", Host: "desk"} }
	if d := said(t, p.plan(), "warning", "results of run.train are not here any more", "by ann@desk"); strings.Contains(d.Detail, "nowhere else") {
		t.Error(d.Detail)
	}
}

// TestChangedInputsAreShared: instances that name the same changed files hold one
// list of them.
func TestChangedInputsAreShared(t *testing.T) {
	p := newProject(t, strings.NewReplacer(`run "train" {`, "run \"train\" {\n  for_each = { a = 1, b = 2 }",
		"value = run.train.cost_usd", `value = run.train["a"].cost_usd`).Replace(base))
	p.did(`run.train["a"]`, nil)
	p.did(`run.train["b"]`, nil)
	p.write("train.py", "changed")
	plan := p.plan()
	a, b := one(t, plan, `run.train["a"]`), one(t, plan, `run.train["b"]`)
	if len(a.ChangedInputs) == 0 || &a.ChangedInputs[0] != &b.ChangedInputs[0] || unsafe.StringData(a.Reason) != unsafe.StringData(b.Reason) {
		t.Errorf("%q (%s) and %q (%s)", a.ChangedInputs, a.Reason, b.ChangedInputs, b.Reason)
	}
}

// TestManyResultsThatAreNotHere: beyond a few runs of a block one warning counts
// them, and the reason of each step still says what is wrong with its own.
func TestManyResultsThatAreNotHere(t *testing.T) {
	p := newProject(t, strings.NewReplacer(`run "train" {`, "run \"train\" {\n  for_each = { a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7 }",
		"value = run.train.cost_usd", `value = run.train["a"].cost_usd`).Replace(base))
	for i, key := range strings.Split("abcdefg", "") {
		p.did(fmt.Sprintf("run.train[%q]", key), func(r *state.Run) {
			r.ResultFiles, r.ResultsDigest = 1, "1"
			if i < 5 {
				r.FetchedBy = "ann@desk"
			}
		})
	}
	p.input = func(in *Input) { in.Holder = state.ClaimHolder{Who: "bob", Host: "lab"} }
	plan := p.plan()
	d := said(t, plan, "warning", "results of 5 runs are on ann@desk")
	for _, part := range []string{`Of run.train["a"], run.train["b"], run.train["c"] and 2 more.`, "-replace=ADDRESS"} {
		if !strings.Contains(d.Detail, part) {
			t.Errorf("no %q in %q", part, d.Detail)
		}
	}
	said(t, plan, "warning", `results of run.train["f"] are not here as they were verified`)
	said(t, plan, "warning", `results of run.train["g"] are not here as they were verified`)
	if len(plan.Diagnostics) != 3 {
		t.Errorf("%d diagnostics: %+v", len(plan.Diagnostics), plan.Diagnostics)
	}
	if s := one(t, plan, `run.train["d"]`); !strings.Contains(s.Reason, "its results are on ann@desk") {
		t.Errorf("reason %q", s.Reason)
	}
}

func TestTargetsAndDependencies(t *testing.T) {
	hcl := base + `
run "eval" {
  target     = target.gpu
  cap        = cap.small
  command    = ["python", "eval.py", run.train.id]
  outputs    = ["output/**"]
}
run "other" {
  target  = target.gpu
  cap     = cap.small
  command = ["true"]
  outputs = ["output/**"]
}
`
	p := newProject(t, hcl)
	plan := p.plan(func(in *Input) { in.Targets = []string{"run.eval"} })
	if len(plan.Steps) != 2 || len(plan.Offers) != 2 {
		t.Errorf("%d steps", len(plan.Steps))
	}
	s := one(t, plan, "run.eval")
	if s.Run.Fingerprint != "" || !has(s.Run.Late, "command") || !has(s.AfterUnknown, "command") || !has(s.DependsOn, "run.train") {
		t.Errorf("late %v, unknown %v, after %v", s.Run.Late, s.AfterUnknown, s.DependsOn)
	}
	said(t, p.plan(func(in *Input) { in.Targets, in.Replace = []string{"run.train"}, []string{"run.eval"} }),
		"error", "-replace=run.eval is outside of what -target asks for", "leave one of the two out")
	plan = p.plan(func(in *Input) { in.Targets = []string{"run.evil"} })
	said(t, plan, "error", "-target=run.evil names nothing", "run.eval")
	// Once its dependency has ended the values are known.
	p.did("run.train", nil)
	if s := one(t, p.plan(), "run.eval"); len(s.Run.Late) != 0 || s.Run.Command[2] != "r-train" {
		t.Errorf("late %v, command %v", s.Run.Late, s.Run.Command)
	}
}

func TestGoneMovedReplaced(t *testing.T) {
	p := newProject(t, base)
	p.did("run.train", func(r *state.Run) { r.Pod = &state.Pod{ID: "kept1", State: state.PodKept} })
	renamed := strings.ReplaceAll(strings.ReplaceAll(base, `run "train"`, `run "sft"`), "run.train", "run.sft")
	p.write("overbrainer.hcl", renamed)
	plan := p.plan()
	if s := one(t, plan, "run.train"); s.Action != Destroy || !strings.Contains(s.Reason, "pod kept1") {
		t.Errorf("%s %q", s.Action, s.Reason)
	}
	if s := one(t, plan, "run.sft"); s.Action != Run {
		t.Errorf("%s", s.Action)
	}
	p.state.Resources["run.train"].Run.Runs[0].Pod = nil
	if s := one(t, p.plan(), "run.train"); s.Action != Forget {
		t.Errorf("%s %q", s.Action, s.Reason)
	}
	p.write("overbrainer.hcl", renamed+"\nmoved {\n  from = run.train\n  to   = run.sft\n}\n")
	plan = p.plan()
	if s := one(t, plan, "run.sft"); s.Action != NoOp || len(plan.Moves) != 1 || !plan.HasChanges() || len(plan.Steps) != 1 {
		t.Errorf("%s %q, moves %v", s.Action, s.Reason, plan.Moves)
	}
	p.write("overbrainer.hcl", base)
	if s := one(t, p.plan(func(in *Input) { in.Replace = []string{"run.train"} }), "run.train"); s.Action != Rerun || s.Run.Try != 2 {
		t.Errorf("%s %q", s.Action, s.Reason)
	}
}

func TestDestroy(t *testing.T) {
	p := newProject(t, base)
	destroy := func(in *Input) { in.Destroy = true }
	if plan := p.plan(destroy); len(plan.Steps) != 0 || plan.HasChanges() || !plan.Applyable {
		t.Errorf("destroying nothing: %+v", plan.Steps)
	}
	p.did("run.train", func(r *state.Run) { r.Pod = &state.Pod{ID: "kept1", State: state.PodKept} })
	p.state.Resources["volume.cache"] = &state.Resource{Type: "volume", Provider: "runpod", Volume: &state.Volume{ID: "v1", SizeGB: 500, Managed: true, Retain: false}}
	plan := p.plan(destroy)
	if s := one(t, plan, "run.train"); s.Action != Destroy {
		t.Errorf("%s", s.Action)
	}
	if s := one(t, plan, "volume.cache"); s.Action != NoOp || !strings.Contains(s.Reason, "$35.00 a month: -volumes deletes it") {
		t.Errorf("%s %q", s.Action, s.Reason)
	}
	if plan := p.plan(destroy, func(in *Input) { in.DestroyVolumes = true }); one(t, plan, "volume.cache").Action != Destroy || *plan.Cost.MonthlyStorageUSD != 0 {
		t.Error("-volumes does not destroy")
	}
	p.write("overbrainer.hcl", strings.Replace(base, `outputs = ["output/**"]`, "outputs = [\"output/**\"]\n  lifecycle {\n    prevent_destroy = true\n  }", 1))
	said(t, p.plan(destroy), "error", "run.train must not be destroyed", "pod kept1")
}

func TestFailedReadsAreSaid(t *testing.T) {
	p := newProject(t, base)
	broken := &providers.Error{Kind: providers.Transient, Op: "list", Message: "unreachable"}
	plan := p.plan(func(in *Input) {
		in.Catalog = func(context.Context, string, providers.CatalogQuery) (providers.Catalog, error) {
			return providers.Catalog{}, broken
		}
		in.Pods = func(context.Context, string) (providers.PodList, error) { return providers.PodList{}, broken }
	})
	said(t, plan, "error", "catalog of runpod cannot be read", "unreachable")
	said(t, plan, "warning", "pods of runpod could not be read")
	if plan.Applyable || plan.Cost.MaxUSD != nil && *plan.Cost.MaxUSD != 3 {
		t.Errorf("applyable %v max %v", plan.Applyable, plan.Cost.MaxUSD)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Build(ctx, Input{Config: p.load(), State: p.state}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// A cap that buys no boot would rent a pod and never start a job.
func TestCapsThatBuyNoBoot(t *testing.T) {
	with := func(usd string) *Plan {
		return newProject(t, strings.Replace(base, "max_cost_usd = 3", "max_cost_usd = "+usd, 1)).plan()
	}
	if d := said(t, with("0.0001"), "error", "max_cost_usd does not buy the boot", "half an hour costs"); d.Range == nil {
		t.Error("without a place")
	}
	if plan := with("0.1"); !plan.Applyable {
		t.Errorf("%+v", plan.Diagnostics)
	}
}
