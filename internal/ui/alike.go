package ui

import (
	"strings"

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

// echoes are the long messages that were told, without names, with the address of which they were
// told first.
type echoes map[string]string

// shorten cuts an event's message that was told whole of another address: where
// nothing is to be had, each of a hundred runs says so at length.
func (told echoes) shorten(e *apply.Event) {
	const long, beginning = 120, 60
	text := generic(ownWords(*e), e.PodID, e.RunID)
	if e.Address == "" || e.Kind == apply.EventDetached || width(text) <= long {
		return
	}
	switch first, known := told[text]; {
	case !known:
		told[text] = e.Address
	case first != e.Address:
		e.Message = cut(ownWords(*e), beginning) + " (as " + first + ")"
	}
}

// generic is a text without the names of the run that says it: that of its pod, of
// itself and of its directory.
func generic(text, podID, runID string) string {
	var names []string
	if podID != "" {
		names = append(names, "pod "+podID, "its pod", podID, "its pod")
	}
	if runID != "" {
		names = append(names, "runs/"+runID, "its directory", "run "+runID, "its run", runID, "ID")
	}
	return strings.NewReplacer(names...).Replace(text)
}
