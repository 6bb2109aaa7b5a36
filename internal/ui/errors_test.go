package ui

import (
	"bytes"
	"testing"
)

// TestProblemShowsWhatWasTyped: a name that is wrong by a character that nobody
// sees does not read like the right one.
func TestProblemShowsWhatWasTyped(t *testing.T) {
	var b bytes.Buffer
	p := Problem{Message: "run.x[\"a\u202eb\a\"] is not in the state", Hint: `did you mean run.x["ab"]?`}
	if err := p.Write(&b, Look{}); err != nil {
		t.Fatal(err)
	}
	want := "Error: run.x[\"a\\u{202e}b\\u{7}\"] is not in the state\n\n  did you mean run.x[\"ab\"]?\n"
	if b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}
