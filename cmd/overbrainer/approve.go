package main

import (
	"github.com/overbrainer/overbrainer/internal/ui"
)

// confirm asks for yes unless that was given beforehand.
func (a *app) confirm(given bool, text string) error {
	if given {
		return nil
	}
	ok, err := ui.Ask(a.in, a.err, a.errLook(), text)
	if err != nil {
		return &problem{code: "input", message: err.Error(), hint: "give -auto-approve"}
	}
	if !ok {
		return declined()
	}
	return nil
}
