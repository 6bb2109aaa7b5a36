package main

import (
	"context"
	"slices"
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

// codes are the exit codes that the command gives, in order.
func (c *command) codes() []int {
	codes := append([]int{exitOK, exitError}, c.exits...)
	slices.Sort(codes)
	return codes
}
