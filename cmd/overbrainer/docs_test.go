package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/overbrainer/overbrainer/internal/glob"
)

// TestProviderIsDocumented: docs/language.md tells every argument of the bundled
// provider's block.
func TestProviderIsDocumented(t *testing.T) {
	data, err := os.ReadFile("../../docs/language.md")
	if err != nil {
		t.Fatal(err)
	}
	a := &app{environ: func(string) string { return "" }}
	d, err := a.bundledProvider(nil).Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, attr := range d.Schema.Attributes {
		if !strings.Contains(string(data), "\n| `"+attr.Name+"`") {
			t.Errorf("%s is not told", attr.Name)
		}
	}
}

// TestReferenceIsCurrent: docs/reference is what the program's tables say.
func TestReferenceIsCurrent(t *testing.T) {
	a := &app{environ: func(string) string { return "" }}
	all := make([]*command, 0, len(commands))
	for _, of := range commands {
		all = append(all, of(a))
	}
	for name, want := range map[string]string{"commands.md": commandReference(all), "language.md": languageReference()} {
		data, err := os.ReadFile("../../docs/reference/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if string(data) != want {
			t.Errorf("docs/reference/%s is not what the program says: make reference", name)
		}
	}
}

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
	known := map[string]bool{"Errors": true, "The log": true}
	for _, make := range commands {
		c := make(&app{environ: func(string) string { return "" }, dir: t.TempDir()})
		known[c.name] = true
		section, ok := sections[c.name]
		if !ok {
			t.Errorf("%s has no section", c.name)
			continue
		}
		for _, code := range c.exits {
			if meaning[code] == "" {
				t.Errorf("%s: exit code %d has no meaning", c.name, code)
			}
		}
		for _, m := range documentedFlag.FindAllStringSubmatch(section, -1) {
			if _, err := c.flagSet().parse([]string{m[1] + sample(m[2])}); err != nil {
				t.Errorf("%s: the document tells %s%s: %v", c.name, m[1], m[2], err)
			}
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

// documentedFlag is a flag with its value, as the document writes them.
var documentedFlag = regexp.MustCompile("`(-[a-z][a-z-]*)(=[^`]*)?`")

// sample makes a value of a placeholder that says what it is.
func sample(value string) string {
	switch value {
	case "=N", "=GB", "=USD":
		return "=1"
	case "=DURATION":
		return "=1s"
	}
	return value
}

// TestTutorialIgnoresWhatIsNoSource: the .gitignore that the tutorial shows keeps
// out of a commit whatever a project's commands leave behind, and nothing else.
func TestTutorialIgnoresWhatIsNoSource(t *testing.T) {
	data, err := os.ReadFile("../../docs/tutorial.md")
	if err != nil {
		t.Fatal(err)
	}
	_, shown, _ := strings.Cut(string(data), "```gitignore .gitignore\n")
	shown, _, _ = strings.Cut(shown, "```")
	ignore := glob.ParseIgnore(shown)
	for name, want := range map[string]bool{
		"overbrainer.state.json": true, "overbrainer.state.json.backup": true, "overbrainer.state.json.journal-1a2b": true,
		"overbrainer.state.pending-1a2b.json": true, ".overbrainer.state.lock": true, ".overbrainer/cache/catalog.json": true,
		"runs/iris-1/output/x": true, "plan.bin": true, "plan.json": true, "events.jsonl": true, "report.html": true,
		".overbrainer.lock.hcl": false, "overbrainer.hcl": false, "overbrainer.vars.hcl": false, "train.py": false, "policy/cost.rego": false,
	} {
		if got, _, _ := ignore.Tree(name); got != want {
			t.Errorf("%s: ignored is %t", name, got)
		}
	}
}
