package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// documents are the texts that show commands.
func documents(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "examples/*/README.md"} {
		found, err := filepath.Glob("../../" + pattern)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, found...)
	}
	return out
}

// shownLines are the lines of code blocks, fenced with sh or indented, without
// a prompt and comments.
func shownLines(text string) []string {
	var out []string
	fence := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if mark, ok := strings.CutPrefix(strings.TrimSpace(line), "```"); ok {
			if fence == "" {
				fence, _, _ = strings.Cut("```"+mark, " ")
			} else {
				fence = ""
			}
			continue
		}
		code, indented := strings.CutPrefix(line, "    ")
		switch {
		case fence == "```sh" || fence == "```console" || fence == "```":
			code = line
		case fence != "" || !indented:
			continue
		}
		code = strings.TrimPrefix(strings.TrimSpace(code), "$ ")
		code, _, _ = strings.Cut(code, " # ")
		if code = strings.TrimSpace(code); code != "" {
			out = append(out, code)
		}
	}
	return out
}

var inlineCall = regexp.MustCompile("(?s)`(overbrainer(?: |\n)[^`]+)`")

// TestShownCommandsExist: every call of overbrainer that a document shows is
// one that the program takes: in a block with its flags and arguments, within
// a sentence the command and its flags.
func TestShownCommandsExist(t *testing.T) {
	shown := 0
	for _, file := range documents(t) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range shownLines(string(data)) {
			shown += len(checkLine(t, file, line))
		}
		for _, m := range inlineCall.FindAllStringSubmatch(string(data), -1) {
			words := strings.Fields(m[1])
			if strings.HasPrefix(words[1], "-") || strings.ContainsAny(words[1][:1], "[{") || internalCommand(words[1]) || isGroup(words[1:]) {
				continue
			}
			c := commandOf(t, words[1:])
			if c == nil {
				t.Errorf("%s: %q: there is no such command", file, m[1])
				continue
			}
			rest := words[1+len(strings.Fields(c.name)):]
			if i := slices.Index(rest, "--"); i >= 0 {
				rest = rest[:i]
			}
			if _, err := c.flagSet().parse(rest); err != nil {
				t.Errorf("%s: %q: %v", file, m[1], err)
			}
			shown++
		}
	}
	if shown < 20 {
		t.Errorf("only %d commands were found: the search is broken", shown)
	}
}

// isGroup reports whether words name a group of commands and no command.
func isGroup(words []string) bool { return len(words) == 1 && commandGroups[words[0]] }

// TestShownLinesAreFound: a block that is not read would never be wrong.
func TestShownLinesAreFound(t *testing.T) {
	text := "a\n\n```sh\n$ overbrainer plan   # looks\nmake x\n```\n\n```hcl\noverbrainer {\n```\n\n    overbrainer run list\n\noverbrainer no\n"
	want := []string{"overbrainer plan", "make x", "overbrainer run list"}
	if got := shownLines(text); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// documented FILE runs every call of overbrainer that FILE, named from the top
// of the source, shows in its blocks, one after the other.
func documented(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: documented FILE")
	}
	data, err := os.ReadFile(filepath.Join(sourceRoot, filepath.FromSlash(args[0])))
	ts.Check(err)
	ran := 0
	for _, line := range shownLines(string(data)) {
		if !strings.HasPrefix(line, "overbrainer ") {
			continue
		}
		words, err := splitWords(line)
		ts.Check(err)
		ts.Logf("%s: %s", args[0], line)
		ts.Check(ts.Exec(words[0], words[1:]...))
		ran++
	}
	if ran == 0 {
		ts.Fatalf("%s shows no command", args[0])
	}
}

// sourceRoot is the top of the source; tests start in their package.
var sourceRoot = func() string {
	root, err := filepath.Abs("../..")
	if err != nil {
		panic(err)
	}
	return root
}()
