package config

import (
	"strings"
	"testing"
)

// Every function under its Terraform name, called once with what it is for.
func TestFunctions(t *testing.T) {
	calls := map[string]string{
		`abs(-1)`: `1`, `ceil(1.2)`: `2`, `floor(1.8)`: `1`, `log(8, 2)`: `3`, `max(1, 3)`: `3`, `min(1, 3)`: `1`,
		`parseint("ff", 16)`: `255`, `pow(2, 3)`: `8`, `signum(-2)`: `-1`,
		`chomp("a\n")`: `"a"`, `format("%03d-%s", 7, "x")`: `"007-x"`, `formatlist("a%s", ["b"])`: `["ab"]`, `indent(2, "a\nb")`: `"a\n  b"`,
		`join("-", ["a", "b"])`: `"a-b"`, `lower("A")`: `"a"`, `upper("a")`: `"A"`, `regex("b+", "abb")`: `"bb"`, `regexall("b", "abb")`: `["b","b"]`,
		`replace("a.b", ".", "-")`: `"a-b"`, `replace("a1b2", "/[0-9]/", "")`: `"ab"`, `split(",", "a,b")`: `["a","b"]`, `strrev("ab")`: `"ba"`,
		`substr("hello", 1, 2)`: `"el"`, `title("ab")`: `"Ab"`, `trim("--a-", "-")`: `"a"`, `trimprefix("ab", "a")`: `"b"`, `trimsuffix("ab", "b")`: `"a"`,
		`trimspace(" a ")`: `"a"`, `startswith("ab", "a")`: `true`, `endswith("ab", "a")`: `false`, `strcontains("abc", "b")`: `true`,
		`chunklist([1, 2, 3], 2)`: `[[1,2],[3]]`, `coalesce("", "a")`: `"a"`, `coalescelist([], [1])`: `[1]`, `compact(["a", ""])`: `["a"]`,
		`concat([1], [2])`: `[1,2]`, `contains([1, 2], 2)`: `true`, `distinct([1, 1])`: `[1]`, `element([1, 2], 3)`: `2`, `flatten([[1], [2]])`: `[1,2]`,
		`keys({ b = 1, a = 2 })`: `["a","b"]`, `length("grün")`: `4`, `length([1, 2])`: `2`, `length({})`: `0`, `lookup({ a = 1 }, "a")`: `1`,
		`lookup({ a = 1 }, "b", 2)`: `2`, `merge({ a = 1 }, { b = 2 })`: `{"a":1,"b":2}`, `range(3)`: `[0,1,2]`, `reverse([1, 2])`: `[2,1]`,
		`setintersection([1, 2], [2])`: `[2]`, `setproduct(["a"], ["b"])`: `[["a","b"]]`, `setsubtract([1, 2], [2])`: `[1]`, `setunion([1], [2])`: `[1,2]`,
		`slice([1, 2, 3], 1, 2)`: `[2]`, `sort(["b", "a"])`: `["a","b"]`, `values({ a = 1 })`: `[1]`, `zipmap(["a"], [1])`: `{"a":1}`,
		`sum([1, 2.5])`: `3.5`, `alltrue([true, false])`: `false`, `anytrue([true, false])`: `true`, `one([])`: `null`, `index(["a", "b"], "b")`: `1`,
		`matchkeys([1, 2], ["a", "b"], ["b"])`: `[2]`, `transpose({ a = ["x"], b = ["x"] })`: `{"x":["a","b"]}`,
		`csvdecode("a,b\n1,2")`: `[{"a":"1","b":"2"}]`, `jsondecode("[1]")`: `[1]`, `yamldecode("a: 1")`: `{"a":1}`, `yamlencode({ a = 1 })`: `"\"a\": 1\n"`,
		`base64encode("a")`: `"YQ=="`, `base64decode("YQ==")`: `"a"`, `urlencode("a b")`: `"a+b"`, `md5("")`: `"d41d8cd98f00b204e9800998ecf8427e"`,
		`substr(sha256("a"), 0, 8)`: `"ca978112"`, `substr(base64sha256("a"), 0, 4)`: `"ypeB"`, `formatdate("YYYY", "2024-01-02T03:04:05Z")`: `"2024"`,
		`timeadd("2024-01-02T03:04:05Z", "1h")`: `"2024-01-02T04:04:05Z"`, `tostring(1)`: `"1"`, `tonumber("1")`: `1`, `tobool("true")`: `true`,
		`toset(["a", "a"])`: `["a"]`, `tolist(["a"])`: `["a"]`, `tomap({ a = 1 })`: `{"a":1}`, `try(tonumber("x"), 2)`: `2`, `can(tonumber("x"))`: `false`,
		`issensitive(sensitive("a"))`: `true`, `nonsensitive(sensitive("a"))`: `"a"`, `file("a.txt")`: `"text\n"`, `fileexists("none")`: `false`,
		`fileset("sub", "**/*.py")`: `["deep/b.py"]`, `filesha256("a.txt") == sha256("text\n")`: `true`, `filebase64("a.txt")`: `"dGV4dAo="`,
		`templatefile("t.tpl", { names = ["x", "y"] })`: `"x y \n"`, `basename("a/b")`: `"b"`, `dirname("a/b")`: `"a"`, `path.root`: `"."`,
		`overbrainer.version`: `"0.1.0"`, `[for k, v in { a = 1 } : "${k}${v}" if v > 0]`: `["a1"]`, `{ for s in ["a", "a"] : s => s... }`: `{"a":["a","a"]}`,
		`[{ a = 1 }, { a = 2 }][*].a`: `[1,2]`, `"%{ if true }y%{ else }n%{ endif }"`: `"y"`, `<<-EOT
    a
      b
    EOT
`: `"a\n  b\n"`,
	}
	var env strings.Builder
	names := sorted(calls)
	for i, call := range names {
		env.WriteString("    V" + string(rune('A'+i/26)) + string(rune('A'+i%26)) + " = jsonencode(" + strings.TrimSuffix(call, "\n") + "\n)\n")
	}
	cfg := must(t, map[string]string{
		MainFile: run("a", "env = {\n"+env.String()+"}"), "a.txt": "text\n", "sub/deep/b.py": "", "sub/c.txt": "",
		"t.tpl": "%{ for n in names }${n} %{ endfor }\n",
	}, Options{})
	got := cfg.Run("run.a").Env
	for i, call := range names {
		if v := got["V"+string(rune('A'+i/26))+string(rune('A'+i%26))]; v != calls[call] {
			t.Errorf("%s = %s, want %s", call, v, calls[call])
		}
	}
}
