package glob

import (
	"errors"
	"strings"
	"testing"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		patterns []string
		path     string
		want     bool
	}{
		{[]string{"output/**"}, "output/a", true},
		{[]string{"output/**"}, "output/a/b.bin", true},
		{[]string{"output/**"}, "outputs/a", false},
		{[]string{"output"}, "output/a/b", true},
		{[]string{"output/"}, "output/a/b", true},
		{[]string{"output"}, "output", true},
		{[]string{"output"}, "output2", false},
		{[]string{"./a.py"}, "a.py", true},
		{[]string{"."}, "x/y", true},
		{[]string{"*"}, "a", true},
		{[]string{"*"}, "a/b", false},
		{[]string{"*/"}, "a/b/c", true},
		{[]string{"**/*.py"}, "a.py", true},
		{[]string{"**/*.py"}, "x/y/a.py", true},
		{[]string{"checkpoint-*"}, "checkpoint-", true},
		{[]string{"checkpoint-*"}, "my-checkpoint-5", false},
		{[]string{"a?c"}, "abc", true},
		{[]string{"a?c"}, "ac", false},
		{[]string{"[ab].txt"}, "b.txt", true},
		{[]string{"{a,b}/c"}, "b/c", true},
		{[]string{`\*.txt`}, "*.txt", true},
		{[]string{`\*.txt`}, "a.txt", false},
		{[]string{"**", "!*.log"}, "a.log", false},
		{[]string{"**", "!*.log"}, "d/a.log", true},
		{[]string{"**", "!**/*.log", "keep.log"}, "keep.log", true},
		{[]string{"!a"}, "b", false},
		{[]string{"!a", "**"}, "a", true},
		{[]string{"a["}, "a[", false},
		{nil, "a", false},
	} {
		if got := Match(c.patterns, c.path); got != c.want {
			t.Errorf("Match(%q, %q) = %v", c.patterns, c.path, got)
		}
	}
}

func TestCheck(t *testing.T) {
	for pattern, want := range map[string]error{
		"a": nil, "!a/**": nil, "a..b": nil, "...": nil, "": ErrEmpty, "!": ErrEmpty, "/a": ErrAbsolute, "!/a": ErrAbsolute,
		"../a": ErrParent, "a/../b": ErrParent, "a/..": ErrParent, "~/a": ErrHome, "~": ErrHome, "a[": ErrSyntax, `a\`: ErrSyntax,
		`C:\a`: ErrAbsolute,
	} {
		if got := Check(pattern); !errors.Is(got, want) || want == nil && got != nil {
			t.Errorf("Check(%q) = %v, want %v", pattern, got, want)
		}
	}
}

func TestIgnore(t *testing.T) {
	g := ParseIgnore("# comment\n\n*.log\n!keep.log\n/top\nbuild/\na/b\n\\#x\ntrailing  \nv?.{x}\nd[0-9]\r\n**/deep/*.o\n")
	for path, want := range map[string]bool{
		"a.log": true, "x/a.log": true, "keep.log": false, "x/keep.log": false,
		"top": true, "x/top": false, "build/x": true, "x/build/y/z": true, "build": false,
		"a/b": true, "x/a/b": false, "a/b/c": true, "#x": true, "trailing": true,
		"v1.{x}": true, "v1.x": false, "d5": true, "dx": false, "q/deep/a.o": true, "deep/a.o": true, "plain": false,
	} {
		if got, line, text := g.Tree(path); got != want || got && (line == 0 || text == "") {
			t.Errorf("%s: %v by line %d %q", path, got, line, text)
		}
	}
	// What lies in an ignored directory cannot be taken back.
	if got, _, _ := ParseIgnore("d/\n!d/x").Tree("d/x"); !got {
		t.Error("d/x was taken back")
	}
}

// Below never denies a directory below which something matches.
func TestBelow(t *testing.T) {
	for list, want := range map[string]map[string]bool{
		"output/**":                {"output": true, "output/a": true, "out": false, "outputs": false, "other/output": false},
		"output/":                  {"output": true, "output/a/b": true, "outputs": false},
		"output/a/x":               {"output": true, "output/a": true, "output/b": false},
		"output/*/m":               {"output/a": true, "output/a/m": false, "output/a/b": false},
		"output/run-*/":            {"output/run-1": true, "output/run-1/a": true, "output/other": false},
		"**/*.bin":                 {"a": true, "a/b/c": true},
		"o/{a,b/c}/m":              {"o": true, "o/b": true, "o/b/c": true, "p": false},
		"output/** !output/a/**":   {"output": true, "output/a": false, "output/a/b": false, "output/b": true},
		"output/** !output/a":      {"output/a": false},
		"output/** !**/*.tmp":      {"output/a": true},
		"!output/a/** output/a/b/": {"output/a": true},
		".":                        {"a": true},
		"[":                        {"a": false},
	} {
		for dir, want := range want {
			if got := New(strings.Fields(list)).Below(dir); got != want {
				t.Errorf("%q below %s: %v", list, dir, got)
			}
		}
	}
}

func FuzzMatch(f *testing.F) {
	f.Add("**/*.py", "a/b.py")
	f.Add("!{a,[b", "x")
	f.Add("a/\n!b/**\n", "a/b")
	f.Fuzz(func(t *testing.T, pattern, path string) {
		if len(pattern) > 200 || len(path) > 200 {
			return
		}
		if Check(pattern) != nil && pattern != "" && Match([]string{pattern}, "never") {
			_ = Literal(pattern)
		}
		set := New([]string{pattern})
		if dir, _, deeper := cutLast(path); deeper && set.Match(path) && !set.Below(dir) {
			t.Errorf("%q matches %q and denies %q", pattern, path, dir)
		}
		ParseIgnore(pattern).Tree(path)
		Base(pattern)
	})
}

func cutLast(path string) (dir, name string, found bool) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return "", path, false
	}
	return path[:i], path[i+1:], true
}
