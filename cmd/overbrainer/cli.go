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
		Name:         "overbrainer",
		Version:      versionText(),
		Args:         a.args,
		Commands:     table,
		HelpFunc:     func(map[string]cli.CommandFactory) string { return a.overview() },
		HelpWriter:   a.out,
		ErrorWriter:  a.err,
		Autocomplete: true,
		// The completion command takes the place of flags that change start files.
		AutocompleteNoDefaultFlags: true,
		AutocompleteGlobalFlags: complete.Flags{
			"-chdir": complete.PredictDirs("*"),
		},
	}
	if _, asked := a.completing(); !asked && !c.IsHelp() && !c.IsVersion() && len(a.args) > 0 {
		if err := unknownCommand(a.args, names); err != nil {
			return a.fail(err)
		}
	}
	if _, err := c.Run(); err != nil {
		return a.fail(err)
	}
	if _, asked := a.completing(); len(a.args) == 0 && !asked {
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

// AutocompleteFlags completes the names of flags and what may follow them.
func (c *adapter) AutocompleteFlags() complete.Flags {
	out := complete.Flags{}
	for _, f := range c.command.flagSet().list {
		value := strings.TrimPrefix(f.arg, "=")
		if f.name == "provider" {
			value = "PROVIDER"
		}
		out["-"+f.name] = c.predict(value)
	}
	return out
}

// AutocompleteArgs completes arguments by what the usage calls them.
func (c *adapter) AutocompleteArgs() complete.Predictor {
	words := strings.Fields(c.command.usage)
	for _, word := range slices.Backward(words) {
		word = strings.Trim(word, "[].")
		if word == "NAME" { // of what, the command tells
			word = map[string]string{"output": "OUTPUT", "sim fault": "FAULT"}[c.command.name]
		}
		if strings.HasPrefix(word, "-") || word == "ID" || word == "TO" || word == "CMD" {
			continue
		}
		return c.predict(word)
	}
	return complete.PredictNothing
}

func (c *adapter) predict(placeholder string) complete.Predictor {
	switch placeholder {
	case "FILE":
		return complete.PredictFiles("*")
	case "DIR":
		return complete.PredictDirs("*")
	case "", "flags":
		return complete.PredictNothing
	}
	return complete.PredictFunc(func(in complete.Args) []string {
		known := c.app.candidates(c.command.name, placeholder)
		return slices.DeleteFunc(known, func(s string) bool { return !strings.HasPrefix(s, in.Last) })
	})
}
