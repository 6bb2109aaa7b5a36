package ui

import (
	"github.com/overbrainer/overbrainer/apply"
	"github.com/overbrainer/overbrainer/plan"
)

// Alike gathers texts that are said of many, a hundred runs say, so that each is
// told once.
type Alike struct {
	// Texts in the order in which they came.
	Texts []string
	names map[string][]string
}

// Add says a text of a name.
func (a *Alike) Add(name, text string) {
	if a.names == nil {
		a.names = map[string][]string{}
	}
	if a.names[text] == nil {
		a.Texts = append(a.Texts, text)
	}
	a.names[text] = append(a.names[text], name)
}

// One reports whether a text is said of one name only.
func (a *Alike) One(text string) bool { return len(a.names[text]) == 1 }

// Names names those of whom a text is said.
func (a *Alike) Names(text string) string { return clean(plan.List(a.names[text], 3)) }

// echoes are the long messages that were told, with the address of which they were
// told first.
type echoes map[string]string

// shorten cuts an event's message that was told whole of another address: where
// nothing is to be had, each of a hundred runs says so at length.
func (told echoes) shorten(e *apply.Event) {
	const long, beginning = 120, 60
	text := ownWords(*e)
	if e.Address == "" || e.Kind == apply.EventDetached || width(text) <= long {
		return
	}
	switch first, known := told[text]; {
	case !known:
		told[text] = e.Address
	case first != e.Address:
		e.Message = cut(text, beginning) + " (as " + first + ")"
	}
}
