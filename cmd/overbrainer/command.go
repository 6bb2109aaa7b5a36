package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// command is one row of the table.
type command struct {
	name     string // "run list"
	synopsis string // one line for the overview
	usage    string // what stands behind the name: "[flags] ADDR"
	text     string // what it does, in paragraphs
	example  string
	// exits tells the exit codes that this command gives besides 0 and 1.
	exits []int
	// args says how many arguments are taken: least and most (-1: any).
	least, most int
	// register declares the flags.
	register func(*flags)
	run      func(ctx context.Context, args []string) error
}

// meaning of the exit codes, as every command's help tells them.
var meaning = map[int]string{
	exitOK:          "success",
	exitError:       "an error, or a failed check",
	exitChanges:     "with -detailed-exitcode: there are changes",
	exitFormat:      "with -check: files are not in canonical form",
	exitJobFailed:   "everything worked, but a job failed",
	exitLocked:      "another process holds what this needs",
	exitNoCapacity:  "nothing could be rented within the limits, nothing was created",
	exitInterrupted: "interrupted; a message says what still runs and what it costs",
}

func (c *command) flagSet() *flags {
	f := &flags{}
	if c.register != nil {
		c.register(f)
	}
	f.boolean(new(bool), "no-color", "no colours, on a terminal either")
	return f
}

// help is the text of -help.
func (c *command) help() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: overbrainer [-chdir=DIR] %s\n\n", strings.TrimSpace(c.name+" "+c.usage))
	for _, para := range strings.Split(strings.TrimSpace(c.text), "\n") {
		fmt.Fprintln(&b, strings.TrimRight("  "+strings.TrimSpace(para), " "))
	}
	b.WriteString("\nFlags:\n\n" + c.flagSet().help())
	b.WriteString("\nExample:\n\n")
	for _, line := range strings.Split(strings.TrimSpace(c.example), "\n") {
		fmt.Fprintln(&b, strings.TrimRight("  "+strings.TrimSpace(line), " "))
	}
	b.WriteString("\nEXIT STATUS\n\n")
	for _, code := range c.codes() {
		fmt.Fprintf(&b, "  %-4d %s\n", code, meaning[code])
	}
	return strings.TrimRight(b.String(), "\n")
}

// codes are the exit codes that the command gives, in order.
func (c *command) codes() []int {
	codes := append([]int{exitOK, exitError}, c.exits...)
	slices.Sort(codes)
	return codes
}

// overview is what overbrainer says without a command.
func (a *app) overview() string {
	var b strings.Builder
	b.WriteString("Usage: overbrainer [-chdir=DIR] COMMAND [flags] [args]\n\n")
	b.WriteString("Plans jobs on rented GPUs, runs them, brings the results home and gives the\nmachines back.\n")
	wide := 0
	all := make([]*command, 0, len(commands))
	for _, make := range commands {
		c := make(a)
		all = append(all, c)
		wide = max(wide, len(c.name))
	}
	section := func(title string, in func(string) bool) {
		fmt.Fprintf(&b, "\n%s:\n", title)
		for _, c := range all {
			if in(c.name) {
				fmt.Fprintf(&b, "  %-*s  %s\n", wide, c.name, c.synopsis)
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
	b.WriteString("\noverbrainer COMMAND -help tells more of each.")
	return b.String()
}
