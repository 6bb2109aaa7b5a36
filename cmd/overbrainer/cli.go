package main

import (
	"slices"
	"strings"

	"github.com/mitchellh/cli"
	"github.com/posener/complete"
)

// dispatch finds the command of the command line and runs it. This file is
// the only one that knows the library behind it.
func (a *app) dispatch() int {
	table := map[string]cli.CommandFactory{}
	names := make([]string, 0, len(commands))
	code := exitOK
	for _, make := range commands {
		c := make(a)
		names = append(names, c.name)
		table[c.name] = func() (cli.Command, error) {
			return &adapter{app: a, command: c, code: &code}, nil
		}
	}
	c := &cli.CLI{
		Name:                  "overbrainer",
		Version:               versionText(),
		Args:                  a.args,
		Commands:              table,
		HelpFunc:              func(map[string]cli.CommandFactory) string { return a.overview() },
		HelpWriter:            a.out,
		ErrorWriter:           a.err,
		Autocomplete:          true,
		AutocompleteInstall:   "install-autocomplete",
		AutocompleteUninstall: "uninstall-autocomplete",
		AutocompleteGlobalFlags: complete.Flags{
			"-chdir": complete.PredictDirs("*"),
		},
	}
	if a.environ("COMP_LINE") == "" && !c.IsHelp() && !c.IsVersion() && len(a.args) > 0 {
		if err := unknownCommand(a.args, names); err != nil {
			return a.fail(err)
		}
	}
	if _, err := c.Run(); err != nil {
		return a.fail(err)
	}
	if len(a.args) == 0 {
		return exitError
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

// AutocompleteFlags completes the names of flags.
func (c *adapter) AutocompleteFlags() complete.Flags {
	out := complete.Flags{}
	for _, f := range c.command.flagSet().list {
		p := complete.Predictor(complete.PredictNothing)
		switch {
		case f.name == "target" || f.name == "replace":
			p = c.addresses()
		case strings.Contains(f.arg, "FILE"):
			p = complete.PredictFiles("*")
		}
		out["-"+f.name] = p
	}
	return out
}

// AutocompleteArgs completes addresses where a command takes them.
func (c *adapter) AutocompleteArgs() complete.Predictor {
	switch {
	case strings.Contains(c.command.usage, "ADDR"), strings.Contains(c.command.usage, "RUN"):
		return c.addresses()
	case strings.Contains(c.command.usage, "FILE"):
		return complete.PredictFiles("*")
	}
	return complete.PredictNothing
}

func (c *adapter) addresses() complete.Predictor {
	return complete.PredictFunc(func(in complete.Args) []string {
		known := c.app.knownAddresses()
		return slices.DeleteFunc(known, func(s string) bool { return !strings.HasPrefix(s, in.Last) })
	})
}
