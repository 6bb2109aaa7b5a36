package config

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestLanguageIsDocumented: docs/language.md tells every block with all its
// arguments and inner blocks in the block's own section, and its tables name no
// argument that is not there.
func TestLanguageIsDocumented(t *testing.T) {
	data, err := os.ReadFile("../docs/language.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for _, part := range strings.Split(string(data), "\n### ")[1:] {
		title, text, _ := strings.Cut(part, "\n")
		for _, name := range strings.Split(title, ", ") {
			name, _, _ = strings.Cut(name, " ")
			sections[name] = title + "\n" + text
		}
	}
	for name, schema := range schemas() {
		section, ok := sections[name]
		if !ok {
			t.Errorf("block %s has no section", name)
			continue
		}
		known := schema.attrNames()
		told(t, name, section, schema)
		for inner := range schema.blocks {
			known = append(known, inner)
		}
		if schema.open || name == "overbrainer" { // its table is of backends
			continue
		}
		// Of a row of a table, the first cell names arguments.
		for line := range strings.Lines(section) {
			cell, is := strings.CutPrefix(line, "| `")
			if !is || strings.Contains(line, "OVERBRAINER_") {
				continue
			}
			cell, _, _ = strings.Cut("`"+cell, " |")
			for _, m := range regexp.MustCompile("`([a-z_]+)").FindAllStringSubmatch(cell, -1) {
				if !slices.Contains(known, m[1]) {
					t.Errorf("block %s has no argument %s", name, m[1])
				}
			}
		}
	}
}

// TestBackendsAreDocumented: the table of backends tells every argument.
func TestBackendsAreDocumented(t *testing.T) {
	data, err := os.ReadFile("../docs/language.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, args := range backends() {
		_, row, ok := strings.Cut(string(data), "\n| `"+name+"`")
		row, _, _ = strings.Cut(row, "\n")
		if !ok {
			t.Errorf("backend %s has no row", name)
		}
		for arg := range args {
			if !strings.Contains(row, "`"+arg+"`") {
				t.Errorf("backend %s: its argument %s is not told", name, arg)
			}
		}
	}
}

// told checks that a section names what a block takes.
func told(t *testing.T, name, section string, schema *blockSchema) {
	t.Helper()
	words := regexp.MustCompile("`[^`]*`").FindAllString(section, -1)
	says := func(word string) bool {
		at := regexp.MustCompile(`\b` + regexp.QuoteMeta(word) + `\b`)
		return slices.ContainsFunc(words, at.MatchString)
	}
	for _, attr := range schema.attrNames() {
		if !says(attr) {
			t.Errorf("block %s: its argument %s is not told", name, attr)
		}
	}
	for inner, b := range schema.blocks {
		if !says(inner) {
			t.Errorf("block %s: its block %s is not told", name, inner)
		}
		told(t, name+" "+inner, section, b)
	}
}

// TestDocumentedLists: what docs/language.md makes a long list of does.
func TestDocumentedLists(t *testing.T) {
	data, err := os.ReadFile("../docs/language.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, found := strings.Cut(string(data), "`range` gives at most 1,024 numbers, as in Terraform.")
	if !found {
		t.Fatal("the limit of range is not told")
	}
	_, example, _ = strings.Cut(example, "```hcl\n")
	example, _, _ = strings.Cut(example, "```")
	cfg := must(t, map[string]string{MainFile: example + run("a", `env = {
    ENDS  = "${local.numbers[0]} ${local.numbers[1]} ${local.numbers[100]} ${local.numbers[9999]} ${length(local.numbers)}"
    RANGE = "${length(range(1024))} ${can(range(1025))}"
  }`)}, Options{})
	if env := cfg.Run("run.a").Env; env["ENDS"] != "0 1 100 9999 10000" || env["RANGE"] != "1024 false" {
		t.Error(env)
	}
}
