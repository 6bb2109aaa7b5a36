package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// manual writes what a package of the program holds besides it, and what docs/
// holds of the program, all from its own tables: a manual page for each command,
// the completion scripts, the reference. `overbrainer manual DIR` is called by
// the making of a release and by make reference.
func (a *app) manual(args []string) int {
	if len(args) != 1 {
		return a.fail(&usageError{text: "manual takes a directory"})
	}
	dir := a.path(args[0])
	files := map[string]string{}
	for shell, name := range completionFiles {
		files["completions/"+name] = completionScripts[shell]
	}
	all := make([]*command, 0, len(commands))
	for _, make := range commands {
		all = append(all, make(a))
	}
	date := a.manualDate()
	files["reference/commands.md"], files["reference/language.md"] = commandReference(all), languageReference()
	files["man/overbrainer.1"] = a.mainPage(date, all)
	for _, c := range all {
		files["man/"+pageName(c)+".1"] = c.page(date, all)
	}
	var errs []error
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err == nil {
			err = os.WriteFile(path, []byte(text), 0o644)
		}
		errs = append(errs, err)
	}
	return a.fail(errors.Join(errs...))
}

// manualDate is that of SOURCE_DATE_EPOCH, so that the same source gives the
// same pages; without it there is none.
func (a *app) manualDate() string {
	seconds, err := strconv.ParseInt(a.environ("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return ""
	}
	return time.Unix(seconds, 0).UTC().Format(time.DateOnly)
}

func pageName(c *command) string { return "overbrainer-" + strings.ReplaceAll(c.name, " ", "-") }

// page is a command's manual page.
func (c *command) page(date string, all []*command) string {
	p := newPage(pageName(c), date)
	p.section("NAME", pageName(c)+` \- `+roff(c.synopsis))
	p.section("SYNOPSIS", `\fBoverbrainer\fR [\fB\-chdir=\fR\fIDIR\fR] \fB`+roff(c.name)+`\fR `+roff(c.usage))
	p.section("DESCRIPTION", "")
	p.paragraphs(c.text)
	p.section("OPTIONS", "")
	for _, f := range c.flagSet().list {
		p.term(`\fB\-`+roff(f.name)+`\fR`+roff(f.arg), f.text)
	}
	p.section("EXIT STATUS", "")
	for _, code := range c.codes() {
		p.term(strconv.Itoa(code), meaning[code])
	}
	p.section("EXAMPLES", "")
	p.verbatim(c.example)
	group, _, _ := strings.Cut(c.name, " ")
	see := []string{`\fBoverbrainer\fR(1)`}
	for _, other := range all {
		if sibling, _, _ := strings.Cut(other.name, " "); other.name != c.name && sibling == group {
			see = append(see, `\fB`+roff(pageName(other))+`\fR(1)`)
		}
	}
	p.section("SEE ALSO", strings.Join(see, ",\n"))
	return p.String()
}

// mainPage is the page of the program.
func (a *app) mainPage(date string, all []*command) string {
	p := newPage("overbrainer", date)
	p.section("NAME", `overbrainer \- plan, run and bring home jobs on rented GPUs`)
	p.section("SYNOPSIS", `\fBoverbrainer\fR [\fB\-chdir=\fR\fIDIR\fR] \fICOMMAND\fR [\fIflags\fR] [\fIargs\fR]`)
	p.section("DESCRIPTION", "")
	p.paragraphs("Plans jobs on rented GPUs, runs them, brings the results home and gives the machines back. " +
		"A project is a directory with an overbrainer.hcl; -chdir names another one than the present.")
	p.section("COMMANDS", "")
	for _, c := range all {
		p.term(`\fB`+roff(pageName(c))+`\fR(1)`, c.synopsis)
	}
	p.section("EXIT STATUS", "")
	codes := make([]int, 0, len(meaning))
	for code := range meaning {
		codes = append(codes, code)
	}
	slices.Sort(codes)
	for _, code := range codes {
		p.term(strconv.Itoa(code), meaning[code])
	}
	p.section("ENVIRONMENT", "")
	for _, v := range variables {
		p.term(`\fB`+roff(v[0])+`\fR`, v[1])
	}
	return p.String()
}

// variables of the environment, as the manual tells them.
var variables = [][2]string{
	{"RUNPOD_API_KEY", "the provider's key"},
	{"OVERBRAINER_VAR_name", "the value of a variable"},
	{"OVERBRAINER_KEY", "what the keys of runs are derived from, at least 32 random bytes in base64"},
	{"OVERBRAINER_SIMULATOR", "1: rents from the local simulator"},
	{"OVERBRAINER_INPUT", "0: never asks"},
	{"OVERBRAINER_CLI_ARGS", "flags put behind the name of every command"},
	{"OVERBRAINER_CLI_ARGS_plan", "flags put behind the name of this command; _run_list for run list"},
	{"OVERBRAINER_PLUGIN_DIR", "where programs of providers are looked for first"},
	{"OVERBRAINER_LOG", "off, error, warn, info, debug or trace: the technical log"},
	{"OVERBRAINER_LOG_PATH", "the file it goes to instead of the standard error"},
	{"NO_COLOR", "no colours"},
}

// manPage writes a page in the macros of man(7).
type manPage struct{ strings.Builder }

func newPage(name, date string) *manPage {
	p := &manPage{}
	fmt.Fprintf(p, ".TH %s 1 \"%s\" \"overbrainer %s\" \"overbrainer\"\n", roff(strings.ToUpper(name)), date, roff(version))
	return p
}

func (p *manPage) section(title, text string) {
	fmt.Fprintf(p, ".SH %s\n", title)
	if text != "" {
		fmt.Fprintln(p, text)
	}
}

func (p *manPage) term(term, text string) { fmt.Fprintf(p, ".TP\n%s\n%s\n", term, roff(text)) }

func (p *manPage) paragraphs(text string) {
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		if line = strings.TrimSpace(line); line == "" {
			fmt.Fprintln(p, ".PP")
		} else {
			fmt.Fprintln(p, roff(line))
		}
	}
}

func (p *manPage) verbatim(text string) {
	fmt.Fprintln(p, ".nf")
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		fmt.Fprintln(p, roff(strings.TrimSpace(line)))
	}
	fmt.Fprintln(p, ".fi")
}

// roff escapes what troff would interpret.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "…", "...").Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}
