package main

import (
	"context"
	"os"
	"time"

	"golang.org/x/term"
)

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// terminalSize is the number of columns and of lines, 0 where there is no terminal.
func terminalSize(f *os.File) (width, height int) {
	width, height, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0, 0
	}
	return width, height
}

// asks reports whether somebody is there to answer.
func (a *app) asks(input bool) bool {
	return input && a.environ("OVERBRAINER_INPUT") != "0" && isTerminal(a.in) && isTerminal(os.Stderr)
}

// readHidden reads a line that the terminal does not show. When it is left, the
// terminal shows what is typed again.
func (a *app) readHidden(ctx context.Context) (string, error) {
	fd := int(a.in.Fd())
	shown, err := term.GetState(fd)
	if err != nil {
		return "", err
	}
	text, err := typed(ctx, func() ([]byte, error) { return term.ReadPassword(fd) })
	if ctx.Err() != nil {
		// The reader may only be about to hide it, which must not come last.
		for range 100 {
			if now, err := term.GetState(fd); err != nil || *now != *shown {
				break
			}
			time.Sleep(2 * time.Millisecond)
		}
		_ = term.Restore(fd, shown)
	}
	return string(text), err
}
