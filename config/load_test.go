package config

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// project writes files and loads them, with the base configuration beside.
func project(t testing.TB, files map[string]string, opt Options) (*Config, hcl.Diagnostics) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "project")
	data := map[string][]byte{"base.ob.hcl": []byte(base)}
	for name, text := range files {
		data[name] = []byte(text)
	}
	write(t, dir, data)
	return Load(t.Context(), dir, with(opt))
}

func with(opt Options) Options {
	opt.Schema = schema
	if opt.Version == "" {
		opt.Version = "0.1.0"
	}
	return opt
}

func must(t testing.TB, files map[string]string, opt Options) *Config {
	t.Helper()
	cfg, diags := project(t, files, opt)
	if diags.HasErrors() {
		t.Fatalf("%s", show(diags, cfg.Dir))
	}
	return cfg
}

func run(name string, lines ...string) string {
	text := fmt.Sprintf("run %q {\n  target  = target.gpu\n  cap     = cap.small\n  outputs = [\"output/**\"]\n", name)
	if !strings.Contains(strings.Join(lines, "\n"), "command") {
		text += "  command = [\"python\", \"job.py\"]\n"
	}
	return text + strings.Join(lines, "\n") + "\n}\n"
}

func hclFile(parts ...string) map[string]string {
	return map[string]string{MainFile: strings.Join(parts, "\n")}
}

const whole = `
overbrainer {
  required_version = ">= 0.1"
  backend "local" {}
}
variable "base_model" {
  type    = string
  default = "Qwen/Qwen3-4B"
}
secret "hf" { env = "HF_TOKEN" }
volume "cache" {
  data_center = "EU-RO-1"
  size_gb     = 100
}
target "cheap" {
  gpu_types          = "auto"
  min_vram_gb        = 24
  max_price_per_hour = 1.50
  data_centers       = ["EU-RO-1"]
  image              = "runpod/pytorch:1.0.2-cu1281-torch280-ubuntu2404"
  volume             = volume.cache
}
cap "evening" {
  max_hours     = 6
  max_cost_usd  = 8
  max_volume_gb = 300
}
run "sft" {
  for_each = { low = 1e-5, high = 1e-4 }
  target   = target.cheap
  cap      = cap.evening
  upload   = ["train.py", "requirements.txt", "data/**/*.jsonl"]
  setup    = "pip install -r requirements.txt"
  command  = ["python", "train.py", "--lr", each.value, "--model", var.base_model]
  secrets  = { HF_TOKEN = secret.hf }
  outputs  = ["output/**"]
  keep_pod = "1d12h"
  snapshot {
    every  = "20m"
    signal = "USR1"
  }
  lifecycle {
    rerun           = "manual"
    prevent_destroy = true
  }
}
check "budget" {
  assert {
    condition     = plan.max_cost_usd <= 20
    error_message = "This plan may spend ${plan.max_cost_usd} USD."
  }
}
output "adapters" { value = { for k, r in run.sft : k => r.output_dir } }
removed {
  from    = run.old
  destroy = false
}
moved {
  from = run.was["a"]
  to   = run.sft["low"]
}
`

func TestWholeExample(t *testing.T) {
	cfg := must(t, map[string]string{
		MainFile: whole, "train.py": "x", "requirements.txt": "y", "data/a/b.jsonl": "{}", "data/c.jsonl": "{}", "data/d.txt": "",
	}, Options{})
	if len(cfg.Runs) != 2 || cfg.Runs[0].Address != `run.sft["high"]` || cfg.Runs[1].Address != `run.sft["low"]` {
		t.Fatalf("runs: %v", cfg.Runs)
	}
	low := cfg.Run(`run.sft["low"]`)
	if want := []string{"python", "train.py", "--lr", "0.00001", "--model", "Qwen/Qwen3-4B"}; !slices.Equal(low.Command, want) {
		t.Errorf("command: %q", low.Command)
	}
	var paths []string
	for _, up := range low.Uploads {
		paths = append(paths, up.Path)
	}
	if want := []string{"data/a/b.jsonl", "data/c.jsonl", "requirements.txt", "train.py"}; !slices.Equal(paths, want) {
		t.Errorf("uploads: %q", paths)
	}
	if &low.Uploads[0] != &cfg.Runs[0].Uploads[0] {
		t.Error("instances with the same upload do not share it")
	}
	if low.Target != cfg.Targets["target.cheap"] || low.Cap != cfg.Caps["cap.evening"] || low.Secrets["HF_TOKEN"].Env != "HF_TOKEN" {
		t.Error("references lead elsewhere")
	}
	if low.KeepPod != 36*time.Hour || low.Snapshot.Every != 20*time.Minute || low.Snapshot.Signal != "SIGUSR1" || low.Snapshot.Path != "output/checkpoint-{step}" {
		t.Errorf("times: %v %+v", low.KeepPod, low.Snapshot)
	}
	if low.Lifecycle != (Lifecycle{Rerun: "manual", PreventDestroy: true}) || !slices.Equal(low.DependsOn, []string{"volume.cache"}) {
		t.Errorf("lifecycle %v, depends on %v", low.Lifecycle, low.DependsOn)
	}
	target := low.Target
	if !target.Auto || target.MinVRAMGB != 24 || target.DiskGB != 50 || target.DiskFrom != "default" || target.Volume.Name != "project-cache" || !target.InstallSSHD {
		t.Errorf("target: %+v", target)
	}
	if c := low.Cap; c.BootGrace != 30*time.Minute || c.RetrieveGrace != time.Hour || c.MaxVolumeGB != 300 {
		t.Errorf("cap: %+v", c)
	}
	if len(cfg.Moved) != 1 || cfg.Moved[0].From != `run.was["a"]` || cfg.Moved[0].To != `run.sft["low"]` || len(cfg.Removed) != 1 || cfg.Removed[0].Destroy {
		t.Errorf("moved %v removed %v", cfg.Moved, cfg.Removed)
	}
	if cfg.Digest == "" || cfg.Settings.Backend.Type != "local" || len(cfg.Files()) != 2 || len(cfg.Checks) != 1 {
		t.Error("settings, digest, files or checks are missing")
	}
}

func TestLoadIsDeterministic(t *testing.T) {
	files := map[string]string{MainFile: whole, "train.py": "x", "requirements.txt": "y", "data/c.jsonl": "{}"}
	a, b := must(t, files, Options{}), must(t, files, Options{})
	for i := range a.Runs {
		if a.Runs[i].Fingerprint != b.Runs[i].Fingerprint || a.Runs[i].Fingerprint == "" || a.Digest != b.Digest {
			t.Errorf("%s differs", a.Runs[i].Address)
		}
	}
}

// The fingerprint changes with what decides the job, says which input it was,
// and does not change with anything else.
func TestFingerprint(t *testing.T) {
	start := map[string]string{
		MainFile: run("a", `upload = ["train.py", "data/**"]`, `env = { LR = "0.1" }`, `secrets = { T = secret.a }`, `setup = "true"`, `triggers = { v = 1 }`) +
			"secret \"a\" { env = \"A\" }\nsecret \"b\" { env = \"A\" }\n",
		"train.py": "x", "data/a": "1",
	}
	before := must(t, start, Options{}).Run("run.a")
	for name, c := range map[string]struct {
		file, old, new string
		changed        string
	}{
		"content":     {"train.py", "x", "y", "file train.py"},
		"env":         {MainFile, `"0.1"`, `"0.2"`, "env LR"},
		"command":     {MainFile, `"job.py"`, `"job.py", "-v"`, "command"},
		"setup":       {MainFile, `"true"`, `"false"`, "setup"},
		"secret name": {MainFile, "T = secret.a", "T = secret.b", "secret T"},
		"trigger":     {MainFile, "v = 1", "v = 2", "trigger v"},
		"image":       {"base.ob.hcl", "train:1.0", "train:1.1", "image"},
		"gpu count":   {"base.ob.hcl", "image ", "gpu_count = 2\n  image ", "gpu_count"},
		"price":       {"base.ob.hcl", "max_hours = 1", "max_hours = 2", ""},
		"gpu type":    {"base.ob.hcl", "NVIDIA A40", "NVIDIA L40S", ""},
		"outputs":     {MainFile, "output/**", "result/**", ""},
		"keep pod":    {MainFile, "setup =", "keep_pod = \"1h\"\nsetup =", ""},
		"secret from": {MainFile, `secret "a" { env = "A" }`, `secret "a" { file = "x" }`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			files := maps.Clone(start)
			files["base.ob.hcl"] = base
			if !strings.Contains(files[c.file], c.old) {
				t.Fatalf("%q is not in %s", c.old, c.file)
			}
			files[c.file] = strings.Replace(files[c.file], c.old, c.new, 1)
			after := must(t, files, Options{}).Run("run.a")
			var changed []string
			for input, sum := range after.Inputs.All() {
				if before.Inputs.Sum(input) != sum {
					changed = append(changed, input)
				}
			}
			if strings.Join(changed, ",") != c.changed {
				t.Errorf("changed inputs: %q", changed)
			}
			if (after.Fingerprint != before.Fingerprint) != (c.changed != "") {
				t.Error("the fingerprint disagrees with the inputs")
			}
		})
	}
}

func TestResultsOfRuns(t *testing.T) {
	files := hclFile(
		run("a"), run("b", `for_each = { x = run.a.metrics.loss, y = 2 }`, `command = ["eval", each.value, local.dir]`),
		run("c", `env = { BEST = run.b["y"].output_dir, PLAIN = "1" }`), run("d", `resume_from = run.c`), run("e", `depends_on = [run.b]`),
		`locals { dir = run.a.output_dir }`, `output "loss" { value = try(run.a.metrics.loss, 0) }`,
	)
	results := map[string]RunResult{
		"run.a": {ID: "a-1", State: "succeeded", Dir: "runs/a-1", OutputDir: "runs/a-1/output", Metrics: map[string]float64{"loss": 0.25}},
	}
	var order []string
	settled := func(addr, fingerprint, _ string) (RunResult, bool) {
		order = append(order, addr)
		if fingerprint == "" {
			t.Errorf("%s has no fingerprint", addr)
		}
		r, ok := results[addr]
		return r, ok
	}
	cfg := must(t, files, Options{})
	b := cfg.Run(`run.b["x"]`)
	if b.Fingerprint != "" || b.Command != nil || !slices.Equal(b.Late, []string{"command"}) || !slices.Equal(b.DependsOn, []string{"run.a"}) {
		t.Errorf("before a has ended: %+v", b)
	}
	c := cfg.Run("run.c")
	if !slices.Equal(c.Late, []string{"env BEST"}) || c.Env["PLAIN"] != "1" || !slices.Equal(c.DependsOn, []string{`run.b["y"]`}) {
		t.Errorf("c: late %q env %v depends on %q", c.Late, c.Env, c.DependsOn)
	}
	if d := cfg.Run("run.d"); !slices.Equal(d.Late, []string{"resume_from"}) || d.ResumeFrom != "run.c" || !slices.Equal(d.DependsOn, []string{"run.c"}) {
		t.Errorf("d: %+v", d)
	}
	if e := cfg.Run("run.e"); !slices.Equal(e.DependsOn, []string{`run.b["x"]`, `run.b["y"]`}) || e.Fingerprint == "" {
		t.Errorf("e depends on %q", e.DependsOn)
	}
	out, diags := cfg.EvalOutputs(nil)
	if diags.HasErrors() || out["loss"].Value.IsKnown() {
		t.Errorf("loss before: %#v %v", out["loss"].Value, diags)
	}
	// What Late gives is what a later plan finds by itself.
	late, diags := cfg.Late(`run.b["x"]`, results)
	if diags.HasErrors() || late.Fingerprint == "" || !slices.Equal(late.Command, []string{"eval", "0.25", "runs/a-1/output"}) {
		t.Fatalf("late: %+v %v", late, diags)
	}
	again := must(t, files, Options{Settled: settled}).Run(`run.b["x"]`)
	if again.Fingerprint != late.Fingerprint || !slices.Equal(again.DependsOn, []string{"run.a"}) {
		t.Errorf("planned again: %+v", again)
	}
	if slices.Index(order, "run.a") > slices.Index(order, `run.b["x"]`) || slices.Contains(order, "run.c") {
		t.Errorf("order of questions: %q", order)
	}
	out, _ = cfg.EvalOutputs(results)
	if got := out["loss"].Value; !got.IsKnown() || got.AsBigFloat().String() != "0.25" {
		t.Errorf("loss after: %#v", got)
	}
	if _, diags := cfg.Late("run.none", nil); !diags.HasErrors() {
		t.Error("a run that is not there was found")
	}
	if still, diags := cfg.Late("run.c", results); diags.HasErrors() || len(still.Late) != 1 || still.Fingerprint != "" {
		t.Errorf("c hangs on b still: %+v %v", still, diags)
	}
}

func TestVolumeIDComesLater(t *testing.T) {
	files := hclFile("volume \"v\" {\n  size_gb = 20\n  data_center = \"X\"\n}\n", run("a", `env = { V = volume.v.id, W = volume.v.name }`))
	a := must(t, files, Options{}).Run("run.a")
	if !slices.Equal(a.Late, []string{"env V"}) || !slices.Equal(a.DependsOn, []string{"volume.v"}) || a.Env["W"] != "project-v" {
		t.Errorf("%+v", a)
	}
	opt := Options{Volume: func(addr string) (string, bool) { return "vol_1", addr == "volume.v" }}
	if a := must(t, files, opt).Run("run.a"); a.Env["V"] != "vol_1" || a.Fingerprint == "" {
		t.Errorf("%+v", a)
	}
	late, diags := must(t, files, Options{}).Late("run.a", map[string]RunResult{"volume.v": {ID: "vol_2"}})
	if diags.HasErrors() || late.Env["V"] != "vol_2" || len(late.Late) != 0 {
		t.Errorf("%+v %v", late, diags)
	}
}

func TestSensitiveParts(t *testing.T) {
	files := hclFile("variable \"t\" {\n  sensitive = true\n}\n",
		run("a", `command = ["x", var.t]`, `setup = "echo ${var.t}"`, `env = { A = "p-${var.t}", B = "plain" }`, `triggers = { k = var.t }`),
		`output "o" { value = { a = var.t } }`, `output "p" { value = nonsensitive(var.t) }`)
	cfg := must(t, files, Options{Vars: Vars{Flags: []string{"t=CANARY"}}})
	a := cfg.Run("run.a")
	if want := []string{"command", "env A", "setup", "trigger k"}; !slices.Equal(a.Sensitive, want) {
		t.Errorf("sensitive: %q", a.Sensitive)
	}
	if a.Env["A"] != "p-CANARY" || a.Inputs.Sum("env A") == hashText("p-CANARY") || a.Inputs.Sum("env B") != hashText("plain") {
		t.Error("values or inputs are wrong")
	}
	out, _ := cfg.EvalOutputs(nil)
	if !out["o"].Sensitive || out["o"].Value.ContainsMarked() || out["p"].Sensitive {
		t.Errorf("outputs: %+v", out)
	}
	if !cfg.Variables["t"].Sensitive || cfg.Variables["t"].From != "-var" {
		t.Errorf("variable: %+v", cfg.Variables["t"])
	}
}

func TestChecks(t *testing.T) {
	cfg := must(t, hclFile(run("train"), `
check "known_later" {
  assert {
    condition     = run.train.cost_usd <= 5
    error_message = "Too dear."
  }
}
check "null" {
  assert {
    condition     = null
    error_message = "x"
  }
}
check "not_a_bool" {
  assert {
    condition     = "maybe"
    error_message = "x"
  }
}
check "fails" {
  assert {
    condition     = tonumber("x") > 1
    error_message = "x"
  }
}
check "budget" {
  assert {
    condition     = plan.max_cost_usd <= 20
    error_message = "may spend ${plan.max_cost_usd}"
  }
  assert {
    condition     = plan.adds >= 0
    error_message = "x"
  }
}
check "each_run" {
  dynamic "assert" {
    for_each = ["run.train", "run.none"]
    content {
      condition     = length([for r in plan.runs : r if r.address == assert.value]) == 1
      error_message = "no ${assert.value}"
    }
  }
}
`), Options{})
	view := func(cost cty.Value) cty.Value {
		return cty.ObjectVal(map[string]cty.Value{
			"max_cost_usd": cost, "adds": cty.NumberIntVal(1),
			"runs": cty.TupleVal([]cty.Value{cty.ObjectVal(map[string]cty.Value{"address": cty.StringVal("run.train")})}),
		})
	}
	check := func(cost cty.Value, results map[string]RunResult, want string) {
		t.Helper()
		var got []string
		for _, c := range cfg.EvalChecks(view(cost), results) {
			got = append(got, c.Name+"="+string(c.Status))
			if c.Status != StatusPass && (c.Message == "" || c.Range.Filename == "") {
				t.Errorf("%s has no message or place", c.Name)
			}
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("got  %s\nwant %s", s, want)
		}
	}
	rest := " null=error not_a_bool=error fails=error "
	check(cty.NumberIntVal(10), nil, "known_later=undecided"+rest+"budget=pass each_run=fail")
	check(cty.NumberIntVal(30), map[string]RunResult{"run.train": {CostUSD: 6}}, "known_later=fail"+rest+"budget=fail each_run=fail")
	check(cty.NumberIntVal(10), map[string]RunResult{"run.train": {CostUSD: 4, CostOpen: true}}, "known_later=undecided"+rest+"budget=pass each_run=fail")
	check(cty.NullVal(cty.Number), map[string]RunResult{"run.train": {CostUSD: 4}}, "known_later=pass"+rest+"budget=fail each_run=fail")
	check(cty.UnknownVal(cty.Number), nil, "known_later=undecided"+rest+"budget=fail each_run=fail")
}

func TestVariableSources(t *testing.T) {
	files := map[string]string{
		MainFile: "variable \"v\" { default = \"default\" }\nvariable \"l\" {\n  type = list(number)\n  default = []\n}\n" + run("a", `env = { V = var.v, L = jsonencode(var.l) }`),
	}
	opt := Options{}
	step := func(want string) {
		t.Helper()
		if got := must(t, files, opt).Run("run.a").Env["V"]; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	step("default")
	opt.Vars.Environ = []string{"OVERBRAINER_VAR_v=env", "OVERBRAINER_VAR_l=[1, 2]", "HOME=/x"}
	step("env")
	files[VarsFile] = `v = "file"`
	step("file")
	files["b.auto.vars.hcl"] = `v = "b"`
	files["a.auto.vars.hcl"] = `v = "a"`
	step("b")
	extra := filepath.Join(t.TempDir(), "extra.hcl")
	if err := os.WriteFile(extra, []byte(`v = "extra"`), 0o600); err != nil {
		t.Fatal(err)
	}
	opt.Vars.Files = []string{extra}
	step("extra")
	opt.Vars.Flags = []string{"v=flag=1", "v=flag=2"}
	step("flag=2")
	cfg := must(t, files, opt)
	if got := cfg.Run("run.a").Env["L"]; got != "[1,2]" {
		t.Errorf("list: %s", got)
	}
	// A plan file's values are enough, whatever the directory says.
	given := map[string]json.RawMessage{}
	for name, v := range cfg.Variables {
		raw, err := v.JSON()
		if err != nil {
			t.Fatal(err)
		}
		given[name] = raw
	}
	files[VarsFile] = `v = "changed"`
	again := must(t, files, Options{Vars: Vars{Given: given}, Sources: cfg.Sources, Project: cfg.Project})
	if again.Run("run.a").Fingerprint != cfg.Run("run.a").Fingerprint || again.Digest != cfg.Digest {
		t.Error("a plan's values give another run")
	}
}

func TestAsking(t *testing.T) {
	var asked []string
	opt := Options{Vars: Vars{Ask: func(name, description string, sensitive bool) (string, error) {
		asked = append(asked, fmt.Sprint(name, description, sensitive))
		return "[1]", nil
	}}}
	cfg := must(t, hclFile("variable \"l\" {\n  type = list(number)\n  description = \"d\"\n  sensitive = true\n}\nvariable \"o\" {\n  type = object({ a = optional(number, 3) })\n  default = {}\n}\n", run("a", `env = { O = var.o.a }`)), opt)
	if !slices.Equal(asked, []string{"l d true"}) && !slices.Equal(asked, []string{"ldtrue"}) {
		t.Errorf("asked: %q", asked)
	}
	if cfg.Run("run.a").Env["O"] != "3" {
		t.Error("an optional attribute has no default")
	}
}

func TestProviderValues(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string][]byte{MainFile: []byte("variable \"k\" {\n  sensitive = true\n  default = \"CANARY\"\n}\nsecret \"k\" { command = [\"pass\", \"k\"] }\nprovider \"runpod\" {\n  api_key = var.k\n  simulator = true\n  cloud = \"community\"\n}\ntarget \"t\" {\n  gpu_types = [\"A\"]\n  image = \"i\"\n}\n")})
	cfg, diags := Load(t.Context(), dir, with(Options{}))
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	p := cfg.Providers["runpod"]
	if p.Values["api_key"] != "CANARY" || p.Values["simulator"] != true || cfg.Targets["target.t"].Cloud != "community" {
		t.Errorf("%+v", p)
	}
	text := strings.Replace(string(cfg.Sources[MainFile]), "var.k", "secret.k", 1)
	cfg, diags = Load(t.Context(), dir, with(Options{Sources: map[string][]byte{MainFile: []byte(text)}}))
	if p := cfg.Providers["runpod"]; diags.HasErrors() || p.Secrets["api_key"] == nil || p.Values["api_key"] != nil {
		t.Errorf("%+v %v", p, diags)
	}
}

// Conditionals, indexes and for expressions may choose a block.
func TestChoosingBlocks(t *testing.T) {
	cfg := must(t, hclFile(`
target "sized" {
  for_each       = { small = 24, big = 80 }
  gpu_types      = "auto"
  min_vram_gb    = each.value
  image          = "i"
  data_centers   = "auto"
  wait_for_stock = "2h"
}
cap "c" { max_hours = target.gpu.gpu_count * 2 }
locals { pick = { for t in ["a"] : t => target.sized["big"] } }
`, strings.Replace(run("a"), "target.gpu", `true ? target.sized["small"] : target.gpu`, 1), strings.NewReplacer("target.gpu", "local.pick.a", "cap.small", "[cap.small, cap.c][1]").Replace(run("b")),
		run("n", "count = 2", `command = ["x", count.index]`)), Options{})
	if got := cfg.Run("run.a").Target.Address; got != `target.sized["small"]` {
		t.Error(got)
	}
	b := cfg.Run("run.b")
	if b.Target.MinVRAMGB != 80 || b.Cap.MaxHours != 2 || b.Target.WaitForStock != 2*time.Hour {
		t.Errorf("%+v", b.Target)
	}
	if n := cfg.Run("run.n[1]"); n.Key != 1 || n.Command[1] != "1" {
		t.Errorf("%+v", n)
	}
}

type memory struct {
	mu   sync.Mutex
	sums map[HashKey]string
	hits int
}

func (m *memory) Get(k HashKey) (string, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	sum, ok := m.sums[k]
	if ok {
		m.hits++
	}
	return sum, ok
}

func (m *memory) Put(k HashKey, sum string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sums[k] = sum
}

func TestHashCache(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string][]byte{MainFile: []byte(base + run("a", `upload = ["data/**"]`)), "data/a": []byte("1"), "data/b": []byte("2")})
	cache := &memory{sums: map[HashKey]string{}}
	for _, hits := range []int{0, 2} {
		cfg, diags := Load(t.Context(), dir, with(Options{Hashes: cache}))
		if diags.HasErrors() || cache.hits != hits || cfg.Run("run.a").Uploads[0].SHA256 != hashText("1") {
			t.Fatal(diags, cache.hits)
		}
	}
}

// Who plans nothing waits for no digest of what would be uploaded, and takes none for
// known; it is looked for all the same.
func TestUnread(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string][]byte{MainFile: []byte(base + run("a", `upload = ["data/**"]`)), "data/a": []byte("1")})
	cache := &memory{sums: map[HashKey]string{}}
	cfg, diags := Load(t.Context(), dir, with(Options{Hashes: cache, Unread: true}))
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	a := cfg.Run("run.a")
	if len(cache.sums) > 0 || len(a.Uploads) != 1 || a.Uploads[0].Size != 1 || a.Uploads[0].SHA256 != "" || a.Fingerprint != "" {
		t.Errorf("%d digests, %+v, %q", len(cache.sums), a.Uploads, a.Fingerprint)
	}
	write(t, dir, map[string][]byte{MainFile: []byte(base + run("a", `upload = ["other/**"]`))})
	if _, diags = Load(t.Context(), dir, with(Options{Unread: true})); len(diags) == 0 {
		t.Error("nothing is said of what is not there")
	}
}

func TestCancelled(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string][]byte{MainFile: []byte(base + "locals {\n  r = range(1000)\n  x = [for a in local.r : [for b in local.r : a]]\n}\n")})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	cfg, diags := Load(ctx, dir, with(Options{}))
	if !diags.HasErrors() || !strings.Contains(string(show(diags, dir)), "interrupted") || cfg == nil {
		t.Errorf("%s", show(diags, dir))
	}
}

// Many instances cost as much as they are, not as much as their product.
func TestManyInstances(t *testing.T) {
	const n = 2000
	cfg := must(t, map[string]string{
		MainFile: strings.Join([]string{
			fmt.Sprintf("locals { keys = toset([for i in range(%d) : format(\"k%%04d\", i)]) }", n/2),
			run("train", "for_each = local.keys", `upload = ["*.py"]`, `command = ["python", "a.py", each.key]`, "env = { K = each.key }"),
			run("eval", "for_each = local.keys", `command = ["eval", run.train[each.key].output_dir]`),
		}, "\n"), "a.py": "1", "b.py": "2",
	}, Options{})
	if len(cfg.Runs) != n {
		t.Fatal(len(cfg.Runs))
	}
	last := cfg.Run(`run.eval["k0999"]`)
	if !slices.Equal(last.DependsOn, []string{`run.train["k0999"]`}) {
		t.Errorf("depends on %q", last.DependsOn)
	}
	if late, diags := cfg.Late(last.Address, map[string]RunResult{`run.train["k0999"]`: {OutputDir: "d"}}); diags.HasErrors() || late.Command[1] != "d" {
		t.Errorf("%+v %v", late, diags)
	}
}

// Of a run whose results are not here no output names their directory.
func TestOutputDirOfNothing(t *testing.T) {
	cfg := must(t, hclFile(run("a"), `output "adapter" { value = run.a.output_dir }`), Options{})
	for dir, known := range map[string]bool{"": false, "runs/a-1/output": true} {
		outputs, diags := cfg.EvalOutputs(map[string]RunResult{"run.a": {ID: "a-1", State: "failed", Dir: "runs/a-1", OutputDir: dir}})
		if got := outputs["adapter"].Value.IsWhollyKnown(); diags.HasErrors() || got != known {
			t.Errorf("with %q: known %v, %v", dir, got, diags)
		}
	}
}
