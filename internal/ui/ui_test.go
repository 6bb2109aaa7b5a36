package ui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/hcl/v2"

	"github.com/overbrainer/overbrainer/apply"
	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/state"
)

func TestFigures(t *testing.T) {
	for want, got := range map[string]string{
		"45s":    Span(45 * time.Second),
		"1h30m":  Span(90 * time.Minute),
		"2h":     Span(2 * time.Hour),
		"3d4h":   Span(76 * time.Hour),
		"999 B":  Bytes(999),
		"1.5 MB": Bytes(1_500_000),
		"20 GB":  Bytes(20_000_000_000),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := usd(nil); got != "unknown" {
		t.Errorf("an unknown amount reads %q", got)
	}
}

// A long cell widens its column, the heading with it; cells are cleaned; and a
// table without rows is one line that says so.
func TestTable(t *testing.T) {
	table := Table{Columns: []string{"NAME", ">$/H", "NOTE"}}
	table.Add("a", "0.40", "first")
	table.Add("longer", "12.00", "x\x1b[31my")
	var b bytes.Buffer
	if err := table.Write(&b, Look{}); err != nil {
		t.Fatal(err)
	}
	want := "NAME      $/H  NOTE\na        0.40  first\nlonger  12.00  xy\n"
	if b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
	b.Reset()
	empty := Table{Columns: []string{"NAME"}, Empty: "No GPU type passes."}
	if err := empty.Write(&b, Look{}); err != nil || b.String() != "No GPU type passes.\n" {
		t.Errorf("without rows: %q, %v", b.String(), err)
	}
}

// What a terminal is too narrow for is broken at words, or stands below its row
// as a whole; what no terminal reads stays one line.
func TestTableOfANarrowTerminal(t *testing.T) {
	notes := Table{Columns: []string{"POD", "NOTE"}}
	notes.Add("abc", "its results wait to be collected on this pod")
	dirs := Table{Columns: []string{"RUN", ">COST", "DIR"}}
	dirs.Add("run.first", "$1.00", "runs/first-20261130-053020-b72rc51o")
	dirs.Add("run.other", "$1.00", "-")
	for _, test := range []struct {
		table Table
		width int
		want  string
	}{
		{notes, 40, "POD  NOTE\nabc  its results wait to be collected on\n     this pod\n"},
		{notes, 0, "POD  NOTE\nabc  its results wait to be collected on this pod\n"},
		{dirs, 50, "RUN         COST\nrun.first  $1.00\n    runs/first-20261130-053020-b72rc51o\nrun.other  $1.00\n"},
		{dirs, 80, "RUN         COST  DIR\nrun.first  $1.00  runs/first-20261130-053020-b72rc51o\nrun.other  $1.00  -\n"},
	} {
		var b bytes.Buffer
		if err := test.table.Write(&b, Look{Width: test.width}); err != nil || b.String() != test.want {
			t.Errorf("%d columns:\n%swant\n%s", test.width, b.String(), test.want)
		}
	}
}

func TestDiagnosticMarksThePlace(t *testing.T) {
	source := "run \"a\" {\n  taget = 1\n}\n"
	diags := hcl.Diagnostics{
		{Severity: hcl.DiagWarning, Summary: "careful"},
		{Severity: hcl.DiagError, Summary: "unknown argument", Detail: "did you mean `target`?", Subject: &hcl.Range{
			Filename: "overbrainer.hcl",
			Start:    hcl.Pos{Line: 2, Column: 3, Byte: 12}, End: hcl.Pos{Line: 2, Column: 8, Byte: 17},
		}},
	}
	var b bytes.Buffer
	err := WriteDiagnostics(&b, Diagnostics(diags, map[string][]byte{"overbrainer.hcl": []byte(source)}), Look{})
	if err != nil {
		t.Fatal(err)
	}
	want := `Error: unknown argument

  on overbrainer.hcl line 2:
    2:   taget = 1
         ^^^^^

  did you mean ` + "`target`" + `?

Warning: careful
`
	if b.String() != want {
		t.Errorf("%s\nwant\n%s", b.String(), want)
	}
}

// TestDiagnosticMarksBehindWideCharacters: columns of a source are characters, of
// which some take two columns of the screen and some none.
func TestDiagnosticMarksBehindWideCharacters(t *testing.T) {
	line := "a = { \"学習率\" = \"e\u0301\", b = nosuch }"
	d := plan.Diagnostic{Severity: "error", Summary: "no", Snippet: line, Range: &plan.Range{
		Filename: "x.hcl", Start: plan.Pos{Line: 1, Column: 24}, End: plan.Pos{Line: 1, Column: 30},
	}}
	var b bytes.Buffer
	if err := WriteDiagnostics(&b, []plan.Diagnostic{d}, Look{}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	before, _, _ := strings.Cut(lines[3], "nosuch")
	if want := strings.Repeat(" ", width(before)) + "^^^^^^"; lines[4] != want {
		t.Errorf("%s", b.String())
	}
}

// TestTableOfWideCharacters: columns stand below each other.
func TestTableOfWideCharacters(t *testing.T) {
	table := Table{Columns: []string{"RUN", "STATE"}}
	table.Add("学習率", "failed")
	table.Add("e\u0301", "succeeded")
	var b bytes.Buffer
	if err := table.Write(&b, Look{}); err != nil {
		t.Fatal(err)
	}
	if want := "RUN     STATE\n学習率  failed\ne\u0301       succeeded\n"; b.String() != want {
		t.Errorf("%q, not %q", b.String(), want)
	}
}

// TestPlanOfALongKeyFitsTheScreen: what is done stands below an address that is
// too long for both.
func TestPlanOfALongKeyFitsTheScreen(t *testing.T) {
	address := `run.x["` + strings.Repeat("k", 60) + `"]`
	p := &plan.Plan{Applyable: true, Steps: []*plan.Step{{Address: address, Type: "run", Action: plan.Rerun, Reason: "it changed"}}}
	var b bytes.Buffer
	if err := Plan(&b, p, Look{Width: 80}); err != nil {
		t.Fatal(err)
	}
	if want := "-/+ " + address + "\n      run again\n"; !strings.Contains(b.String(), want) {
		t.Errorf("no %q in\n%s", want, b.String())
	}
}

// A sweep whose uploads changed says it for each instance: a few files are named
// for the first one, in text, and in Markdown, and none is lost in JSON.
func TestManyChangedFilesAreNotAllNamed(t *testing.T) {
	var changed []string
	for i := range 2003 {
		changed = append(changed, fmt.Sprintf("file data/%d", i))
	}
	first := strings.Join(changed[:6], ", ")
	p := &plan.Plan{Applyable: true}
	for i := range 3 {
		inputs := append([]string{"command"}[:i/2], changed...)
		p.Steps = append(p.Steps, &plan.Step{
			Address: fmt.Sprintf("run.x[%d]", i), Type: "run", Action: plan.Rerun, ChangedInputs: inputs,
			Reason: "failed before, and changed: " + strings.Join(inputs, ", ") + " changed; begins without the snapshot",
		})
	}
	var b bytes.Buffer
	if err := Plan(&b, p, Look{Width: 400}); err != nil {
		t.Fatal(err)
	}
	for part, times := range map[string]int{
		"because    failed before, and changed: 2003 inputs changed; begins without the snapshot\n": 2,
		"because    failed before, and changed: 2004 inputs changed; begins without the snapshot\n": 1,
		"changed    " + first + " and 1997 more\n":                                                  1,
		"changed    as for run.x[0]\n":                                                              1,
		"changed    command, " + strings.Join(changed[:5], ", ") + " and 1998 more\n":               1,
	} {
		if n := strings.Count(b.String(), part); n != times {
			t.Errorf("%d times %q in\n%.3000s", n, part, b.String())
		}
	}
	short := "failed before, and changed: " + first + " and 1997 more changed; begins without the snapshot"
	if md := Markdown(p); !strings.Contains(md, "| "+short+" |") {
		t.Errorf("not shortened in\n%.2000s", md)
	}
	if data, err := json.Marshal(p); err != nil || strings.Count(string(data), "file data/2002") != 6 {
		t.Errorf("JSON lacks what is not named: %v", err)
	}
}

// TestColoursCanBeReadOnAnyGround: nothing is yellow, cyan, white, black or bright.
func TestColoursCanBeReadOnAnyGround(t *testing.T) {
	var b bytes.Buffer
	look := Look{Width: 80, Color: true}
	hourly := 0.4
	left := []plan.Leftover{{Kind: "pod", ID: "p", Hourly: &hourly, Fix: "overbrainer sweep"}}
	p := &plan.Plan{Applyable: true, Moves: []plan.Move{{From: "run.a", To: "run.b"}}, Leftovers: left,
		Checks: []plan.CheckResult{{Name: "a", Status: "undecided"}, {Name: "b", Status: "fail"}}}
	for _, a := range []plan.Action{plan.Run, plan.Create, plan.Adopt, plan.Rerun, plan.Resume, plan.Attach, plan.Collect, plan.Grow,
		plan.Refresh, plan.Destroy, plan.Sweep, plan.Forget, plan.Hold} {
		p.Steps = append(p.Steps, &plan.Step{Address: "run.a", Action: a, Reason: "so"})
	}
	view := LiveEvents(&b, always(look), 1, 0)
	for _, kind := range []apply.EventKind{apply.EventProgress, apply.EventLog, apply.EventWarning, apply.EventFailed, apply.EventEnded,
		apply.EventSkipped, apply.EventDetached, apply.EventWaiting, apply.EventPhase, apply.EventTransfer, apply.EventRemoved} {
		e := training("run.a")
		e.Kind, e.Message = kind, "text"
		view.Event(e)
		e.State = "succeeded"
		view.Event(e)
	}
	view.Close()
	for _, err := range []error{
		Plan(&b, p, look), Problem{Message: "x"}.Write(&b, look), Problem{Message: "x"}.Warn(&b, look),
		WriteDiagnostics(&b, []plan.Diagnostic{{Severity: "error"}, {Severity: "warning"}}, look),
		Outcome(&b, apply.Outcome{Skipped: []apply.Skipped{{}}, Waiting: []apply.Skipped{{}}}, look),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	used := map[string]int{}
	for _, m := range regexp.MustCompile(`\x1b\[([\d;]*)m`).FindAllStringSubmatch(b.String(), -1) {
		used[m[1]]++
	}
	for code := range used {
		if !slices.Contains([]string{"0", "1", "2", "31", "32", "35"}, code) {
			t.Errorf("%s is used %d times", code, used[code])
		}
	}
	if len(used) != 6 {
		t.Errorf("%v are used", used)
	}
}

func TestOffersOfManyFitTheScreen(t *testing.T) {
	offers := map[string][]plan.Offer{}
	for _, name := range []string{"careful", "fast", "medium", "slow"} {
		offers[`run.iris["`+name+`"]`] = []plan.Offer{
			{GPUType: "NVIDIA A40", VRAMGB: 48, Stock: "high", Chosen: true}, {GPUType: "NVIDIA L4", VRAMGB: 24, Stock: "high"},
		}
	}
	p := &plan.Plan{Applyable: true, Offers: offers}
	for _, address := range sortedKeys(offers) {
		p.Steps = append(p.Steps, &plan.Step{Address: address, Type: "run", Action: plan.Run, Run: &plan.RunSpec{}})
	}
	var b bytes.Buffer
	if err := Plan(&b, p, Look{Width: 80}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "in the order tried:") {
		t.Fatalf("no offers:\n%s", b.String())
	}
	for line := range strings.Lines(b.String()) {
		if n := width(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

func TestPlanFitsTheScreen(t *testing.T) {
	price, most, hourly := 0.39, 1.23, 0.4
	p := &plan.Plan{
		Applyable: true,
		Steps: []*plan.Step{{
			Address: "run.iris", Type: "run", Action: plan.Rerun,
			Reason:        "train.py changed and so did a variable with quite a long name, which makes a long line of reasons",
			ChangedInputs: []string{"file train.py"},
			Run:           &plan.RunSpec{Uploads: []plan.Upload{{Path: "a", Size: 40e9}, {Path: "b", Size: 2e9}}, Cap: plan.CapSpec{Address: "cap.small", Where: "overbrainer.hcl:31", MaxHours: 1, MaxCostUSD: 2}},
			Cost:          plan.RunCost{MaxUSD: &most, HourlyUSD: &hourly},
		}},
		Offers: map[string][]plan.Offer{"run.iris": {
			{GPUType: "NVIDIA A40", VRAMGB: 48, Cloud: "secure", PriceUSD: &price, Stock: "high", Chosen: true},
			{GPUType: "NVIDIA GeForce RTX 4090", VRAMGB: 24, Cloud: "secure", Stock: "low"},
		}},
		Cost: plan.Cost{MaxUSD: &most, HourlyUSD: &hourly, SpentUSD: map[string]float64{"cap.small": 0.5}},
	}
	var b bytes.Buffer
	if err := Plan(&b, p, Look{}); err != nil {
		t.Fatal(err)
	}
	out := b.String()
	for _, part := range []string{"-/+ run.iris", "NVIDIA A40 (48 GB), high stock", "$0.39 an hour", "NVIDIA GeForce RTX 4090 unknown",
		"uploads    2 files, 42 GB\n", "1h, $2.00 (cap.small, overbrainer.hcl:31)", "at most $1.23", "most it may cost  $1.23", "$0.50 under cap.small"} {
		if !strings.Contains(out, part) {
			t.Errorf("no %q in\n%s", part, out)
		}
	}
	for line := range strings.Lines(out) {
		if n := width(strings.TrimRight(line, "\n")); n > 80 {
			t.Errorf("%d columns: %q", n, line)
		}
	}
}

// The names of GPUs are read by people and copied into gpu_types: a long one
// makes no line too long and is never cut.
func TestLongNamesOfGPUsStayWhole(t *testing.T) {
	name := "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition"
	table := Table{Columns: []string{"", "ID", ">VRAM GB", ">$/H", "STOCK"}, Fit: true}
	table.Add(">", name, "96", "1.69", "medium")
	table.Add("", "NVIDIA A40", "48", "0.40", "medium, and in so many data centers")
	var b bytes.Buffer
	if err := table.Write(&b, Look{Width: 80}); err != nil {
		t.Fatal(err)
	}
	want := `   ID          VRAM GB   $/H  STOCK
>  NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition
                    96  1.69  medium
   NVIDIA A40       48  0.40  medium, and in so many data centers
`
	if b.String() != want {
		t.Errorf("%s", b.String())
	}
	b.Reset()
	if err := table.Write(&b, Look{Width: 140}); err != nil || !strings.Contains(b.String(), name+"       96") {
		t.Errorf("on a wide screen:\n%s", b.String())
	}
}

// A run with a part of each kind, one that is sized by its model and waits for
// stock, and the third of a sweep: what is hidden is no wait, and the first of
// those that are alike is the one that is named.
func TestPlanTellsHiddenFromLateAndWhatMemoryIsFor(t *testing.T) {
	estimate := plan.EstimateVRAM("Qwen/Qwen3-4B", plan.ModelShape{Params: 4022468096, Hidden: 2560, Layers: 36, Vocab: 151936}, plan.DefaultTraining())
	target := plan.TargetSpec{Address: "target.gpu", GPUTypes: []string{"NVIDIA A40"}, VRAMFloorGB: estimate.FloorGB, Estimate: &estimate, WaitForStockS: 7200}
	p := &plan.Plan{Applyable: true, Offers: map[string][]plan.Offer{}}
	for _, address := range []string{"run.cnt[0]", "run.cnt[1]", "run.cnt[2]"} {
		p.Steps = append(p.Steps, &plan.Step{Address: address, Type: "run", Action: plan.Run, Run: &plan.RunSpec{
			Target: target, Late: []string{"command", "env BEST", "env L"}, Sensitive: []string{"command", "env L"},
		}})
		p.Offers[address] = []plan.Offer{{GPUType: "NVIDIA A40", VRAMGB: 48, Cloud: "secure", Stock: "high", Chosen: true}}
	}
	var b bytes.Buffer
	if err := Plan(&b, p, Look{Width: 200}); err != nil {
		t.Fatal(err)
	}
	out := b.String()
	for part, times := range map[string]int{
		"later      known when other runs have ended: env BEST\n": 3,
		"sensitive  command, env L\n":                             3,
		"placed     like run.cnt[0]":                              2,
		"like run.cnt[1]":                                         0,
		"vram       at least 21 GB, estimated: 20.4 GB for Qwen/Qwen3-4B (weights 8.1, optimizer ": 1,
		"lora of rank 16, 2 sequences of 4096 tokens at once)":                                     1,
		"waits      up to 2h where nothing can be rented":                                          1,
		"else       nothing: gpu_types lists this type only":                                       1,
	} {
		if n := strings.Count(out, part); n != times {
			t.Errorf("%q stands there %d times, not %d, in\n%s", part, n, times, out)
		}
	}
	md := Markdown(p)
	if n := strings.Count(md, "`target.gpu` needs at least 21 GB of VRAM, estimated: 20.4 GB for Qwen/Qwen3-4B (weights 8.1, "); n != 1 {
		t.Errorf("%d estimates in\n%s", n, md)
	}
}

// Runs that run again have each cost something else before, which is no reason to
// show in full again where they are placed; what they may cost at most is.
func TestPlanOfRerunsTellsWhatIsAlikeOnce(t *testing.T) {
	p := &plan.Plan{Applyable: true, Offers: map[string][]plan.Offer{}}
	for i, most := range []float64{2, 2, 2, 3} {
		address, expected := fmt.Sprintf("run.sft[%d]", i), 0.25*float64(i+1)
		p.Steps = append(p.Steps, &plan.Step{
			Address: address, Type: "run", Action: plan.Rerun, Run: &plan.RunSpec{Cap: plan.CapSpec{Address: "cap.c", MaxHours: 1}},
			Cost: plan.RunCost{MaxUSD: &most, ExpectedUSD: &expected, ExpectedBy: fmt.Sprintf("run sft-%d", i)},
		})
		p.Offers[address] = []plan.Offer{{GPUType: "NVIDIA A40", VRAMGB: 48, Cloud: "secure", Stock: "high", Chosen: true}}
	}
	// What is done to others in between changes nothing of that.
	p.Steps = slices.Insert(p.Steps, 1, &plan.Step{Address: "run.other", Type: "run", Action: plan.Attach, Run: &plan.RunSpec{}})
	p.Steps[3].Run.KeepPodS = 3600
	p.Steps[4].Run.KeepPodS = 3600
	var b bytes.Buffer
	if err := Plan(&b, p, Look{Width: 200}); err != nil {
		t.Fatal(err)
	}
	out := b.String()
	for part, times := range map[string]int{
		"cost       at most $2.00, expected $0.25 (by run sft-0)\n":   1,
		"placed     like run.sft[0], at most $2.00, expected $0.50\n": 1,
		"the pod stays 1h after the end":                              2,
		"cost       at most $2.00, expected $0.75 (by run sft-2)\n":   1,
		"cost       at most $3.00, expected $1.00 (by run sft-3)\n":   1,
	} {
		if n := strings.Count(out, part); n != times {
			t.Errorf("%q stands there %d times, not %d, in\n%s", part, n, times, out)
		}
	}
}

// What a comparison found nothing in is said to be no more than compared.
func TestRefreshOnlyClaimsNothingOfTheConfiguration(t *testing.T) {
	for want, p := range map[string]*plan.Plan{
		"No changes. The state is empty, so there is nothing to compare.\n":                   {},
		"No changes. What the state has is as it says. The configuration was not compared.\n": {Steps: []*plan.Step{{Type: "run", Action: plan.NoOp}}},
	} {
		p.Applyable, p.RefreshOnly = true, true
		var b bytes.Buffer
		if err := Plan(&b, p, Look{}); err != nil || !strings.HasPrefix(b.String(), want) {
			t.Errorf("%q, want %q", b.String(), want)
		}
	}
}

// What was spent outlives what it was spent on, and a state that has nothing
// else is not called empty.
func TestStateTellsWhatWasSpent(t *testing.T) {
	st := state.New("0123")
	show := func() string {
		var b bytes.Buffer
		if err := State(&b, st, Look{}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if got := show(); !strings.HasPrefix(got, "The state is empty") {
		t.Errorf("%q", got)
	}
	st.Spend["cap.c"] = state.Spend{USD: 1.08, Runs: 3}
	if got := show(); strings.Contains(got, "empty") || !strings.Contains(got, "$1.08 under cap.c, by 3 runs") {
		t.Errorf("%q", got)
	}
}

// What an hour costs is the same amount wherever it stands, also of a run that
// max_cost_usd bounds.
func TestPricesAgree(t *testing.T) {
	disk := 20 * 0.10 / 720
	if one, other := Rates(0.49+disk, nil), Rates(0.4928, nil); one != other {
		t.Errorf("%s\n%s", one, other)
	}
	price, hourly, most := 0.24, 0.2428, 2.0
	p := &plan.Plan{
		Steps: []*plan.Step{{
			Address: "run.a", Type: "run", Action: plan.Run, Run: &plan.RunSpec{},
			Cost: plan.RunCost{HourlyUSD: &hourly, MaxUSD: &most},
		}},
		Offers: map[string][]plan.Offer{"run.a": {{GPUType: "NVIDIA A40", PriceUSD: &price, Chosen: true}}},
	}
	var b bytes.Buffer
	if err := Plan(&b, p, Look{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "$0.24 an hour, with its disk $0.2428") {
		t.Error(b.String())
	}
}
