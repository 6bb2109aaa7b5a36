package main

import (
	"os"

	"golang.org/x/term"
)

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// terminalWidth is the number of columns, 0 where there is no terminal.
func terminalWidth(f *os.File) int {
	w, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return w
}

// asks reports whether somebody is there to answer.
func (a *app) asks(input bool) bool {
	return input && a.environ("OVERBRAINER_INPUT") != "0" && isTerminal(a.in) && isTerminal(os.Stderr)
}

// readHidden reads a line that the terminal does not show.
func (a *app) readHidden() (string, error) {
	text, err := term.ReadPassword(int(a.in.Fd()))
	return string(text), err
}
