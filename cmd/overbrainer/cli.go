package main

import (
	"github.com/mitchellh/cli"
)

// dispatch finds the command of the command line and runs it. This file is
// the only one that knows the library behind it.
func (a *app) dispatch() int {
	if words, asked := helpWanted(a.args); asked {
		return a.fail(a.told(a.help(words)))
	}
	table := map[string]cli.CommandFactory{}
	code := exitOK
	all, _ := a.all()
	for _, c := range all {
		table[c.name] = func() (cli.Command, error) {
			return &adapter{app: a, command: c, code: &code}, nil
		}
	}
	c := &cli.CLI{
		Name:        "overbrainer",
		Version:     versionText(),
		Args:        a.args,
		Commands:    table,
		HelpFunc:    func(map[string]cli.CommandFactory) string { return a.overview() },
		HelpWriter:  a.out,
		ErrorWriter: a.err,
	}
	if !c.IsVersion() && len(a.args) > 0 {
		if err := unknownCommand(a.args, commandNames()); err != nil {
			return a.fail(err)
		}
	}
	if _, err := c.Run(); err != nil {
		return a.fail(err)
	}
	switch {
	case len(a.args) == 0:
		return exitError
	case code == exitOK: // the version was asked for
		return a.fail(a.told(nil))
	}
	return code
}

// adapter makes a command fit the library.
type adapter struct {
	app     *app
	command *command
	code    *int
}

func (c *adapter) Help() string     { return c.command.help() }
func (c *adapter) Synopsis() string { return c.command.synopsis }

func (c *adapter) Run(args []string) int {
	*c.code = c.app.run(c.command, args)
	return *c.code
}
