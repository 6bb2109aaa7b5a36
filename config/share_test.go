package config

import (
	"maps"
	"slices"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

const thousandKeys = "locals {\n  keys = toset([for i in range(1000) : format(\"k%04d\", i)])\n}\n"

// calls loads a configuration and counts the calls of each function.
func calls(t *testing.T, text ...string) (*Config, map[string]int) {
	t.Helper()
	count := map[string]int{}
	return must(t, hclFile(text...), Options{called: func(function string) { count[function]++ }}), count
}

func TestWhatIsTheSameInAllInstancesIsComputedOnce(t *testing.T) {
	for name, test := range map[string]struct {
		lines []string
		want  map[string]int
	}{
		"beside each":           {[]string{"for_each = toset([\"a\", \"b\", \"c\"])", `env = { N = "${upper(each.key)} of ${length(local.keys)}" }`}, map[string]int{"upper": 3, "length": 1}},
		"beside count":          {[]string{"count = 3", `env = { N = min(length(local.keys), 7) + abs(count.index) }`}, map[string]int{"abs": 3, "min": 1, "length": 1}},
		"an argument":           {[]string{"count = 3", `env = { N = join("-", [count.index], sort(local.keys)) }`}, map[string]int{"join": 3, "sort": 1}},
		"in rounds of a loop":   {[]string{"count = 3", `env = { N = join("-", [for x in range(count.index + 2) : x + length(local.keys)]) }`}, map[string]int{"join": 3, "length": 1, "range": 1 + 3}},
		"what a loop goes over": {[]string{"count = 3", `env = { N = join("-", [for x in reverse(["a"]) : "${x}${count.index}"]) }`}, map[string]int{"join": 3, "reverse": 1}},
		"in a dynamic block":    {[]string{"count = 3", "dynamic \"snapshot\" {\n  for_each = [\"1m\"]\n  content {\n    grace = \"${snapshot.value}${substr(upper(\"\"), 0, 0)}\"\n  }\n}"}, map[string]int{"substr": 1, "upper": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			_, count := calls(t, thousandKeys, run("r", test.lines...))
			for function, want := range test.want {
				if count[function] != want {
					t.Errorf("%s was called %d times, not %d", function, count[function], want)
				}
			}
		})
	}
}

func TestARoundOfALoopComputesOnceWhatIsTheSame(t *testing.T) {
	_, count := calls(t, thousandKeys+`
locals {
  shares = { for k in local.keys : upper(k) => length(local.keys) }
}
output "o" { value = local.shares["K0007"] }
`)
	if count["length"] != 1 || count["upper"] != 1000 {
		t.Errorf("%v", count)
	}
}

// TestSharingChangesNoValue compares each instance with the value that the
// expression has by the rules of the language.
func TestSharingChangesNoValue(t *testing.T) {
	cfg := must(t, hclFile(`
variable "token" {
  type      = string
  default   = "hunter2"
  sensitive = true
}
locals {
  list   = ["x", "y"]
  set    = toset(["a", "x"])
  empty  = toset([])
  hidden = sensitive(toset(["a"]))
  objs = [{ v = 1 }, { v = 2 }]
  none = {}
}
`+run("first")+run("r", `for_each = { a = ["p"], b = ["q", "r"] }`, `env = {
  UNTAKEN  = each.key == "c" ? upper(local.none.missing) : "${each.key}!"
  TRY      = try(upper(local.none.missing), "no ${each.key}")
  CAN      = "${can(upper(local.none.missing))} ${each.key}"
  SHADOW   = join(",", [for local in each.value : upper(local)])
  EACHNAME = join(",", [for each in local.list : upper(each)])
  NESTED   = join(",", flatten([for x in each.value : [for y in local.list : join("", [upper(x), lower("Z"), y])]]))
  SPLAT    = join(",", concat(local.objs[*].v, [each.key], local.objs[*].v))
  FILTER   = join(",", [for x in local.list : x if x != lower("X") || each.key == "b"])
  KEYED    = { (upper("k")) = each.key, upper = upper("v") }[upper("K")]
  SECRET   = "${upper(var.token)}${each.key}"
  LATE     = "${upper(run.first.id)}${each.key}"
  IN       = "${contains(local.set, each.key)} ${contains(toset(["b"]), each.key)} ${contains(local.list, each.key)} ${contains(local.empty, each.key)} ${contains([each.key], "a")}"
  HIDDEN   = contains(local.hidden, each.key) ? "in" : "out"
  ODD      = "${contains(local.set, 1)} ${contains(toset([1, 2]), each.key == "a" ? 1 : 3)}"
  DOLLAR   = "%{ for x in each.value }${upper("u")}${x}%{ endfor }"
}`)), Options{})
	want := map[string][2]string{
		"UNTAKEN": {"a!", "b!"}, "TRY": {"no a", "no b"}, "CAN": {"false a", "false b"},
		"SHADOW": {"P", "Q,R"}, "EACHNAME": {"X,Y", "X,Y"}, "NESTED": {"Pzx,Pzy", "Qzx,Qzy,Rzx,Rzy"}, "SPLAT": {"1,2,a,1,2", "1,2,b,1,2"},
		"FILTER": {"y", "x,y"}, "KEYED": {"a", "b"}, "SECRET": {"HUNTER2a", "HUNTER2b"}, "DOLLAR": {"Up", "UqUr"},
		"IN": {"true false false false true", "false true false false false"}, "HIDDEN": {"in", "out"}, "ODD": {"false true", "false false"},
	}
	for i, key := range []string{"a", "b"} {
		r := cfg.Run(`run.r["` + key + `"]`)
		for name, values := range want {
			if r.Env[name] != values[i] {
				t.Errorf("%s of %s is %q, not %q", name, key, r.Env[name], values[i])
			}
		}
		if !slices.Equal(r.Sensitive, []string{"env HIDDEN", "env SECRET"}) || !slices.Equal(r.Late, []string{"env LATE"}) || !slices.Equal(r.DependsOn, []string{"run.first"}) {
			t.Errorf("sensitive %v, late %v, after %v", r.Sensitive, r.Late, r.DependsOn)
		}
	}
	late, diags := cfg.Late(`run.r["b"]`, map[string]RunResult{"run.first": {ID: "first-1", State: "succeeded"}})
	if diags.HasErrors() || late.Env["LATE"] != "FIRST-1b" {
		t.Errorf("%v: %q", diags, late.Env["LATE"])
	}
	other, _ := cfg.Late(`run.r["a"]`, map[string]RunResult{"run.first": {ID: "first-2", State: "succeeded"}})
	if other.Env["LATE"] != "FIRST-2a" {
		t.Errorf("another result gave %q", other.Env["LATE"])
	}
}

// TestASetThatIsSearchedInEachInstanceIsAList: each call sorts a set it is given.
func TestASetThatIsSearchedInEachInstanceIsAList(t *testing.T) {
	for text, want := range map[string]bool{
		"contains(local.keys, each.key)":           true,
		"!contains((local.keys), upper(each.key))": true,
		"contains(each.value, local.key)":          false,
		"contains(local.keys, local.key)":          false, // as a whole
		"setunion(local.keys, [each.key])":         false,
	} {
		expr, diags := hclsyntax.ParseExpression([]byte(text), "x", hcl.InitialPos)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		p := &program{shared: map[*sharedExpr]cty.Value{}}
		p.share(expr, scope{})
		found := false
		_ = hclsyntax.VisitAll(expr, func(n hclsyntax.Node) hcl.Diagnostics {
			if call, ok := n.(*hclsyntax.FunctionCallExpr); ok {
				shared, ok := call.Args[0].(*sharedExpr)
				found = found || ok && shared.listed
			}
			return nil
		})
		if found != want {
			t.Errorf("%s: %v", text, found)
		}
	}
	set := cty.SetVal([]cty.Value{cty.StringVal("b"), cty.StringVal("a")}).Mark("m")
	if got := listed(set); !got.RawEquals(cty.ListVal([]cty.Value{cty.StringVal("a"), cty.StringVal("b")}).Mark("m")) {
		t.Errorf("%#v", got)
	}
}

// TestWhatFailsInAllInstancesIsToldOnce holds the place and the text of a fault
// in a part that is the same in all instances.
func TestWhatFailsInAllInstancesIsToldOnce(t *testing.T) {
	cfg, diags := project(t, hclFile(run("r", `for_each = toset(["a", "b"])`, `env = { N = "${each.key} ${upper(parseint("7x", 10))}" }`)), Options{})
	const want = "error overbrainer.hcl:7,44-46: invalid function argument\n  invalid value for \"number\" parameter: cannot parse \"7x\" as a base 10 integer; in run.r[\"a\"], where each.key is \"a\", and in one more instance\n"
	if got := string(show(diags, cfg.Dir)); got != want {
		t.Errorf("%s", got)
	}
}

// BenchmarkLoad10k reads 10,000 instances: each of its own, and with a part that
// is the same in all.
func BenchmarkLoad10k(b *testing.B) {
	const locals = "locals {\n  a = toset([for i in range(100) : tostring(i)])\n  p = { for x in setproduct(local.a, local.a) : join(\"-\", x) => x }\n}\n"
	envs := map[string]string{
		"each":   "env = { K = each.value[0], L = upper(each.value[1]) }",
		"shared": "env = { K = each.value[0], L = \"${upper(each.value[1])} of ${length(local.p)}\" }",
	}
	for _, name := range slices.Sorted(maps.Keys(envs)) {
		b.Run(name, func(b *testing.B) {
			dir := b.TempDir()
			write(b, dir, map[string][]byte{
				MainFile: []byte(base + locals + run("r", "for_each = local.p", `upload = ["**"]`, `command = ["python", "a.py", each.key]`, envs[name])),
				"a.py":   []byte("1"),
			})
			b.ReportAllocs()
			for b.Loop() {
				cfg, diags := Load(b.Context(), dir, with(Options{}))
				if diags.HasErrors() || len(cfg.Runs) != 10_000 {
					b.Fatal(diags)
				}
			}
		})
	}
}

// TestLateValuesAreNotKept: what hangs on runs is computed again by whoever needs
// it, and of many runs it is large.
func TestLateValuesAreNotKept(t *testing.T) {
	cfg := must(t, hclFile(run("r", "count = 3"), `
locals {
  now   = 1
  dirs  = run.r[*].dir
}
output "dirs" { value = [local.dirs, local.now, { for r in run.r : r.address => r.metrics }] }`), Options{
		Settled: func(string, string, string) (RunResult, bool) {
			return RunResult{ID: "x", Dir: "runs/x", State: "succeeded"}, true
		},
	})
	for d := range cfg.prog.base.values {
		if d.late {
			t.Errorf("the value of %s is kept", d.addr())
		}
	}
	for info := range cfg.prog.base.ctxs {
		for _, d := range info.refs {
			if d.late {
				t.Errorf("the value of %s is kept for an expression", d.addr())
			}
		}
	}
	out, diags := cfg.EvalOutputs(nil)
	if v := out["dirs"].Value; diags.HasErrors() || !v.IsWhollyKnown() || v.Index(cty.NumberIntVal(0)).LengthInt() != 3 {
		t.Errorf("%#v, %v", v, diags)
	}
}
