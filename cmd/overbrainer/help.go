package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/overbrainer/overbrainer/internal/ui"
)

func helpCommand(a *app) *command {
	return &command{
		name:     "help",
		synopsis: "what there is, or what a command does and takes",
		usage:    "[COMMAND]",
		text:     "Says the same as -help behind the command.",
		example:  "$ overbrainer help run list",
		most:     2,
		run:      func(_ context.Context, args []string) error { return a.help(args) },
	}
}

// helpWanted reports whether a command line asks for help, and on what.
func helpWanted(args []string) (words []string, asked bool) {
	for i, arg := range args {
		switch arg {
		case "--":
			return nil, false
		case "-h", "-help", "--help":
			return args[:i], true
		}
	}
	return nil, false
}

// help tells of the command that the words begin with, of a group of commands, or
// of all there is.
func (a *app) help(words []string) error {
	text := a.overview()
	if len(words) > 0 {
		all, _ := a.all()
		i := slices.IndexFunc(all, func(c *command) bool {
			return c.name == words[0] || len(words) > 1 && c.name == words[0]+" "+words[1]
		})
		switch {
		case i >= 0:
			text = all[i].help()
		case len(words) == 1 && commandGroups[words[0]]:
			text = a.groupHelp(words[0])
		default:
			return unknownCommand(words, commandNames())
		}
	}
	_, err := fmt.Fprintln(a.out, text)
	return err
}

// all gives every command, and the width of the longest name.
func (a *app) all() (all []*command, wide int) {
	for _, make := range commands {
		c := make(a)
		all, wide = append(all, c), max(wide, len(c.name))
	}
	return all, wide
}

func commandNames() []string {
	all, _ := (&app{environ: func(string) string { return "" }}).all()
	names := make([]string, len(all))
	for i, c := range all {
		names[i] = c.name
	}
	return names
}

// help is the text of -help.
func (c *command) help() string {
	var b strings.Builder
	hang(&b, "Usage: overbrainer [-chdir=DIR] "+c.name+" ", c.usage)
	b.WriteString("\n")
	for i, para := range strings.Split(strings.TrimSpace(c.text), "\n\n") {
		if i > 0 {
			b.WriteString("\n")
		}
		hang(&b, "  ", strings.Join(strings.Fields(para), " "))
	}
	b.WriteString("\nFlags:\n\n" + c.flagSet().help())
	b.WriteString("\nExample:\n\n")
	for _, line := range strings.Split(strings.TrimSpace(c.example), "\n") {
		fmt.Fprintln(&b, strings.TrimRight("  "+strings.TrimSpace(line), " "))
	}
	return b.String() + exitStatus(c.codes())
}

// groupHelp is what -help says of commands with the same first word.
func (a *app) groupHelp(group string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: overbrainer [-chdir=DIR] %s COMMAND [flags] [args]\n\n", group)
	codes := []int{exitOK, exitError}
	all, wide := a.all()
	for _, c := range all {
		if c.name == group || strings.HasPrefix(c.name, group+" ") {
			hang(&b, fmt.Sprintf("  %-*s  ", wide, c.name), c.synopsis)
			codes = append(codes, c.exits...)
		}
	}
	fmt.Fprintf(&b, "\noverbrainer help %s COMMAND tells more of each.\n", group)
	slices.Sort(codes)
	return b.String() + exitStatus(slices.Compact(codes))
}

// exitStatus tells exit codes.
func exitStatus(codes []int) string {
	var b strings.Builder
	b.WriteString("\nEXIT STATUS\n\n")
	for _, code := range codes {
		hang(&b, fmt.Sprintf("  %-4d ", code), meaning[code])
	}
	return strings.TrimRight(b.String(), "\n")
}

// helpWidth is how many columns help takes.
const helpWidth = 80

// hang writes text behind a beginning and breaks it at words, each line below the
// first one's text.
func hang(b *strings.Builder, begin, text string) {
	for _, line := range ui.Wrap(text, helpWidth-len(begin)) {
		b.WriteString(strings.TrimRight(begin+line, " ") + "\n")
		begin = strings.Repeat(" ", len(begin))
	}
}

// overview is what overbrainer says without a command.
func (a *app) overview() string {
	var b strings.Builder
	b.WriteString("Usage: overbrainer [-chdir=DIR] COMMAND [flags] [args]\n\n")
	b.WriteString("Plans jobs on rented GPUs, runs them, brings the results home and gives the\nmachines back.\n")
	all, wide := a.all()
	section := func(title string, in func(string) bool) {
		fmt.Fprintf(&b, "\n%s:\n", title)
		for _, c := range all {
			if in(c.name) {
				hang(&b, fmt.Sprintf("  %-*s  ", wide, c.name), c.synopsis)
			}
		}
	}
	first := []string{"init", "validate", "plan", "apply", "destroy"}
	section("Main commands", func(n string) bool { return slices.Contains(first, n) })
	section("Runs and pods", func(n string) bool {
		return strings.HasPrefix(n, "run ") || strings.HasPrefix(n, "pod ") || n == "sweep"
	})
	section("Everything else", func(n string) bool {
		return !slices.Contains(first, n) && !strings.HasPrefix(n, "run ") && !strings.HasPrefix(n, "pod ") &&
			!strings.HasPrefix(n, "sim ") && n != "sweep"
	})
	section("The local simulator", func(n string) bool { return strings.HasPrefix(n, "sim ") })
	b.WriteString("\noverbrainer help COMMAND tells more of each.")
	return b.String()
}
