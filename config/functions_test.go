package config

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Every function under its Terraform name, called once with what it is for.
func TestFunctions(t *testing.T) {
	calls := functionCalls()
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

// functionCalls gives calls with their results as JSON.
func functionCalls() map[string]string {
	return map[string]string{
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
		`cidrhost("10.12.112.0/20", 16)`: `"10.12.112.16"`, `cidrhost("10.0.0.0/24", -1)`: `"10.0.0.255"`, `cidrhost("fd00:fd12:3456:7890::/56", 34)`: `"fd00:fd12:3456:7800::22"`,
		`cidrnetmask("172.16.0.0/12")`: `"255.240.0.0"`, `cidrsubnet("172.16.0.0/12", 4, 2)`: `"172.18.0.0/16"`, `cidrsubnet("fd00:fd12:3456:7890::/56", 16, 162)`: `"fd00:fd12:3456:7800:a200::/72"`,
		`cidrsubnets("10.1.0.0/16", 4, 4, 8, 4)`: `["10.1.0.0/20","10.1.16.0/20","10.1.32.0/24","10.1.48.0/20"]`, `can(cidrsubnets("10.1.0.0/16", 1, 1, 1))`: `false`,
		`uuidv5("dns", "www.terraform.io")`: `"a5008fae-b28c-5ba5-96cd-82b4c53552d6"`, `uuidv5("6ba7b810-9dad-11d1-80b4-00c04fd430c8", "www.terraform.io")`: `"a5008fae-b28c-5ba5-96cd-82b4c53552d6"`,
		`base64gunzip(base64gzip("äb"))`: `"äb"`, `textencodebase64("aä", "UTF-16LE")`: `"YQDkAA=="`, `textdecodebase64("YQDkAA==", "utf-16le")`: `"aä"`, `timecmp("2024-01-02T03:04:05Z", "2024-01-02T04:04:05+01:00")`: `0`,
		`startswith(pathexpand("~/a"), "~")`: `false`, `pathexpand("a~")`: `"a~"`, `strlen("grün")`: `4`, `sha1("")`: `"da39a3ee5e6b4b0d3255bfef95601890afd80709"`, `substr(sha512(""), 0, 8)`: `"cf83e135"`,
		`substr(base64sha512(""), 0, 8)`: `"z4PhNX7v"`, `filemd5("a.txt") == md5("text\n")`: `true`, `filesha1("a.txt") == sha1("text\n")`: `true`, `filesha512("a.txt") == sha512("text\n")`: `true`,
		`filebase64sha256("a.txt") == base64sha256("text\n")`: `true`, `filebase64sha512("a.txt") == base64sha512("text\n")`: `true`, `basename(abspath("a.txt"))`: `"a.txt"`, `jsonencode([1])`: `"[1]"`,
		`sensitive("a") == "a" ? 1 : 1`: `1`, `overbrainer.version`: `"0.1.0"`, `[for k, v in { a = 1 } : "${k}${v}" if v > 0]`: `["a1"]`, `{ for s in ["a", "a"] : s => s... }`: `{"a":["a","a"]}`,
		`[{ a = 1 }, { a = 2 }][*].a`: `[1,2]`, `"%{ if true }y%{ else }n%{ endif }"`: `"y"`, `<<-EOT
    a
      b
    EOT
`: `"a\n  b\n"`,
	}
}

// TestFunctionsAreDocumented: the table in the docs names exactly the functions
// that there are, and each of them is called above.
func TestFunctionsAreDocumented(t *testing.T) {
	data, err := os.ReadFile("../docs/language.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(data), "\n### Functions\n")
	section, _, _ = strings.Cut(section, "\n#")
	var told []string
	for _, line := range strings.Split(section, "\n") {
		if !strings.HasPrefix(line, "| ") {
			continue
		}
		for _, m := range regexp.MustCompile("`([a-z0-9]+)`").FindAllStringSubmatch(line, -1) {
			told = append(told, m[1])
		}
	}
	slices.Sort(told)
	there := sorted((&program{}).table())
	if !slices.Equal(told, there) {
		t.Errorf("told:  %q\nthere: %q", told, there)
	}
	all := strings.Join(sorted(functionCalls()), "\n")
	for _, name := range there {
		if !regexp.MustCompile(`(^|[^a-z0-9])` + name + `\(`).MatchString(all) {
			t.Errorf("%s is never called", name)
		}
	}
}
