package main

import (
	"fmt"
	"strings"

	"github.com/overbrainer/overbrainer/config"
)

const written = "<!-- Written by `make reference` from the program: change it there. -->\n\n"

// commandReference is every command's help as one document.
func commandReference(all []*command) string {
	var b strings.Builder
	b.WriteString(written + "# All commands\n\nWhat `-help` says. [Commands](../commands.md) tells more of what they do.\n")
	for _, c := range all {
		fmt.Fprintf(&b, "\n## %s\n\n%s%s.\n\n```text\n%s\n```\n", c.name, strings.ToUpper(c.synopsis[:1]), c.synopsis[1:], c.help())
	}
	return b.String()
}

// languageReference is every block with its arguments.
func languageReference() string {
	var b strings.Builder
	b.WriteString(written + "# All blocks\n\nWhat each block takes. [The language](../language.md) tells what it means.\n")
	for _, f := range config.Forms() {
		b.WriteString(blockReference("##", f, ""))
	}
	return b.String()
}

func blockReference(heading string, f config.Form, within string) string {
	var b strings.Builder
	title := within + f.Kind
	if f.Label != "" {
		title += " \"" + strings.ToUpper(f.Label) + "\""
	}
	fmt.Fprintf(&b, "\n%s %s\n\n`%s`", heading, title, f.Example)
	if f.Repeats {
		b.WriteString(", once or more")
	}
	b.WriteString("\n")
	if len(f.Arguments) > 0 {
		b.WriteString("\n| argument | type | | for example |\n|---|---|---|---|\n")
	}
	for _, a := range f.Arguments {
		required := ""
		if a.Required {
			required = "required"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | `%s` |\n", a.Name, a.Type, required, a.Example)
	}
	switch {
	case f.Kind == "locals":
		b.WriteString("\nAny names, with any values.\n")
	case f.Open:
		b.WriteString("\nIts arguments depend on its label.\n")
	}
	for _, inner := range f.Blocks {
		b.WriteString(blockReference(heading+"#", inner, f.Kind+", "))
	}
	return b.String()
}
