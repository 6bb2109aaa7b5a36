package main

import (
	"context"
	"fmt"

	"github.com/overbrainer/overbrainer/internal/ui"
)

// confirm asks for yes unless that was given beforehand.
func (a *app) confirm(ctx context.Context, given bool, text string) error {
	if given {
		return nil
	}
	ok, err := typed(ctx, func() (bool, error) { return ui.Ask(a.in, a.err, a.errLook(), text) })
	switch {
	case ctx.Err() != nil:
		return a.leftOpen()
	case err != nil:
		return &problem{code: "input", message: err.Error(), hint: "give -auto-approve"}
	case !ok:
		return declined()
	}
	return nil
}

func declined() error {
	return &problem{code: "declined", message: "not confirmed: nothing was done"}
}

// leftOpen is how a command ends that was interrupted at a question. The line of
// the question is ended first.
func (a *app) leftOpen() error {
	fmt.Fprintln(a.err)
	return &problem{code: "interrupted", message: "interrupted at a question: nothing was done", exit: exitInterrupted}
}

// typed waits for what somebody types. An interrupt ends the wait at once: the
// reading itself cannot be ended, and what it still gets is nobody's answer.
func typed[T any](ctx context.Context, read func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	got := make(chan answer, 1)
	go func() {
		value, err := read()
		got <- answer{value, err}
	}()
	select {
	case a := <-got:
		return a.value, a.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}
