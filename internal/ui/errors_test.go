package ui

import (
	"bytes"
	"strings"
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

// TestProblemFitsATerminal: it is broken at words, never before a flag, and what no
// terminal reads is one line.
func TestProblemFitsATerminal(t *testing.T) {
	p := Problem{
		Message: "run.sft: the pod that it was on is gone, and with it what it had written since the last snapshot of it\nsecond: " + strings.Repeat("word ", 20),
		Hint:    "overbrainer destroy -target='run.sft' ends it, where nothing of it is wanted; overbrainer pod rm sft-20261130-053020-b72rc51o -force does so too\n  set  as  it  is",
	}
	var b bytes.Buffer
	if err := p.Write(&b, Look{Width: 60, Color: true}); err != nil {
		t.Fatal(err)
	}
	want := "\x1b[31mError:\x1b[0m run.sft: the pod that it was on is gone, and with it\n" + `what it had written since the last snapshot of it
  second: word word word word word word word word word word
  word word word word word word word word word word

  overbrainer destroy -target='run.sft' ends it, where
  nothing of it is wanted; overbrainer pod rm
  sft-20261130-053020-b72rc51o -force does so too
    set  as  it  is
`
	if b.String() != want {
		t.Errorf("%s\nwant\n%s", b.String(), want)
	}
	b.Reset()
	if err := p.Warn(&b, Look{Width: 40}); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if n := width(strings.TrimSuffix(line, "\n")); n > 40 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	b.Reset()
	if err := p.Write(&b, Look{}); err != nil || strings.Count(b.String(), "\n") != 5 {
		t.Errorf("without a terminal:\n%s", b.String())
	}
}
