package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestCommandsAreDocumented: every command has its section in
// docs/commands.md, with every flag of it there or among those in common; and
// nothing is documented that is not there.
func TestCommandsAreDocumented(t *testing.T) {
	data, err := os.ReadFile("../../docs/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for _, part := range strings.Split(string(data), "\n#")[1:] {
		title, text, _ := strings.Cut(strings.TrimLeft(part, "# "), "\n")
		sections[title] = text
	}
	common := sections["Flags in common"]
	has := func(section, flag string) bool {
		return strings.Contains(section, "`-"+flag+"`") || strings.Contains(section, "`-"+flag+"=")
	}
	known := map[string]bool{"Errors": true}
	for _, make := range commands {
		c := make(&app{environ: func(string) string { return "" }, dir: t.TempDir()})
		known[c.name] = true
		section, ok := sections[c.name]
		if !ok {
			t.Errorf("%s has no section", c.name)
			continue
		}
		for _, f := range c.flagSet().list {
			if !has(section, f.name) && !has(common, f.name) {
				t.Errorf("%s: -%s is not told", c.name, f.name)
			}
		}
	}
	for _, line := range strings.Split(string(data), "\n") {
		if title, ok := strings.CutPrefix(line, "### "); ok && !known[title] {
			t.Errorf("there is no command %s", title)
		}
	}
	for code := range meaning {
		if !strings.Contains(sections["Exit codes"], fmt.Sprintf("\n| %d |", code)) {
			t.Errorf("exit code %d is not told", code)
		}
	}
}
