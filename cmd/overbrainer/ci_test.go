package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	yaml "github.com/zclconf/go-cty-yaml"
	"github.com/zclconf/go-cty/cty"

	"github.com/overbrainer/overbrainer/examples"
)

// TestCIExample: the workflows of the example are YAML, and what they call is
// there: the program's commands with their flags, and the example's own files.
func TestCIExample(t *testing.T) {
	files, err := examples.Files("ci")
	if err != nil {
		t.Fatal(err)
	}
	for name, least := range map[string][]string{
		".github/workflows/overbrainer.yml": {"init", "plan", "show", "apply", "sweep"},
		".gitlab-ci.yml":                    {"init", "plan", "show", "apply", "sweep"},
	} {
		text, ok := files[name]
		if !ok {
			t.Errorf("there is no %s", name)
			continue
		}
		kind, err := yaml.ImpliedType(text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		doc, err := yaml.Unmarshal(text, kind)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var used []string
		for _, script := range scripts(doc) {
			for _, line := range strings.Split(script, "\n") {
				if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "sh" && files[fields[1]] == nil {
					t.Errorf("%s: %q: there is no such file", name, line)
				}
				used = append(used, checkLine(t, name, line)...)
			}
		}
		for _, c := range least {
			if !slices.Contains(used, c) {
				t.Errorf("%s never calls overbrainer %s", name, c)
			}
		}
	}
}

// scripts gives every text of a document that a shell is to run.
func scripts(doc cty.Value) []string {
	var out []string
	_ = cty.Walk(doc, func(path cty.Path, v cty.Value) (bool, error) {
		if v.Type() != cty.String || v.IsNull() {
			return true, nil
		}
		for _, step := range path {
			if attr, ok := step.(cty.GetAttrStep); ok && slices.Contains([]string{"run", "script", "before_script", "after_script"}, attr.Name) {
				out = append(out, v.AsString())
				break
			}
		}
		return true, nil
	})
	return out
}

var operators = regexp.MustCompile(`\s*(\||&&|\|\||;|>)\s*`)

// checkLine checks calls of overbrainer on a line of a script and gives their
// commands.
func checkLine(t *testing.T, file, line string) []string {
	var used []string
	for _, part := range operators.Split(strings.TrimSpace(line), -1) {
		args, err := splitWords(part)
		if err != nil || len(args) < 2 || args[0] != "overbrainer" {
			continue
		}
		c := commandOf(t, args[1:])
		if c == nil {
			t.Errorf("%s: %q: there is no such command", file, line)
			continue
		}
		rest, err := c.flagSet().parse(args[1+len(strings.Fields(c.name)):])
		if err == nil {
			err = c.checkArgs(rest)
		}
		if err != nil {
			t.Errorf("%s: %q: %v", file, line, err)
		}
		used = append(used, c.name)
	}
	return used
}

func commandOf(t *testing.T, args []string) *command {
	for n := min(2, len(args)); n > 0; n-- {
		for _, make := range commands {
			if c := make(&app{environ: func(string) string { return "" }, dir: t.TempDir()}); c.name == strings.Join(args[:n], " ") {
				return c
			}
		}
	}
	return nil
}
