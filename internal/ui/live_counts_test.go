package ui

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/apply"
)

// TestLiveCountsManyRuns by their phase, with those that have ended or are still to
// begin, and tells what all of them have cost.
func TestLiveCountsManyRuns(t *testing.T) {
	v := &live{look: Look{Width: 120, Height: 12}, rows: map[string]*row{}, runs: counts{planned: 60}}
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	send := func(i int, kind apply.EventKind, phase, state string) {
		v.keep(apply.Event{
			Time: at.Add(time.Duration(i) * time.Second), Kind: kind, Address: fmt.Sprintf("run.x[%02d]", i), RunID: fmt.Sprint(i),
			Phase: phase, State: state, SpentUSD: 0.02, Message: "so",
		})
	}
	for i := range 50 {
		send(i, apply.EventPhase, "booting", "")
	}
	for i := range 38 {
		send(i, apply.EventProgress, "training", "")
	}
	for i := range 3 {
		send(i, apply.EventPhase, "retrieving", "")
	}
	for i := 3; i < 18; i++ {
		send(i, apply.EventEnded, "done", "succeeded")
	}
	send(18, apply.EventEnded, "done", "failed")
	send(19, apply.EventSkipped, "", "")
	send(20, apply.EventDetached, "", "")
	v.keep(apply.Event{Time: at, Kind: apply.EventCreated, Address: "volume.cache", Phase: "placing"})
	v.keep(apply.Event{Time: at.Add(-time.Minute), Kind: apply.EventProgress, Address: "run.x[48]", RunID: "48", SpentUSD: 0.02, RateUSD: 15}) // two minutes ago
	const want = "60 runs: 10 not begun, 12 booting, 17 training, 3 retrieving, 15 done, 1 failed, 1 skipped, 1 left running, about $1.50 so far"
	got := texts(v.screen(at.Add(time.Minute)))
	if len(got) != 11 || strings.Join(got[9:], " ") != want {
		t.Errorf("%d lines: %q", len(got), got)
	}
	for columns := 20; columns < 200; columns++ {
		v.look.Width = columns
		for _, line := range texts(v.screen(at)) {
			if width(line) >= columns {
				t.Errorf("%d columns: %q", columns, line)
			}
		}
	}
	v.look = Look{Width: 80, Height: 3}
	if got = texts(v.screen(at)); len(got) != 2 || got[0] != "and 33 more" || !strings.HasPrefix(got[1], "60 runs: ") {
		t.Errorf("on a low screen: %q", got)
	}
	v.runs.planned = few
	if got = texts(v.screen(at)); strings.Contains(strings.Join(got, "\n"), " runs: ") {
		t.Errorf("few are counted: %q", got)
	}
}

// TestLiveShowsTroubleFirst: where not all rows fit, those in trouble and those that
// changed last are seen, at their places.
func TestLiveShowsTroubleFirst(t *testing.T) {
	v := &live{look: Look{Width: 80, Height: 6}, rows: map[string]*row{}}
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	send := func(name string, after time.Duration, kind apply.EventKind, phase string) {
		v.keep(apply.Event{Time: at.Add(after * time.Second), Kind: kind, Address: "run." + name, Phase: phase, Message: "so"})
	}
	for _, name := range strings.Split("abcdefghij", "") {
		send(name, 0, apply.EventPhase, "training")
	}
	send("i", 1, apply.EventWaiting, "") // its connection is lost
	send("g", 2, apply.EventWaiting, "")
	send("c", 3, apply.EventPhase, "retrieving")
	send("f", 4, apply.EventPhase, "evaluating")
	send("d", 5, apply.EventPhase, "evaluating")
	send("g", 6, apply.EventProgress, "training") // it is heard of again
	send("a", 7, apply.EventProgress, "training") // which is no change
	want := []string{"run.c", "run.d", "run.f", "run.i", "and 6 more"}
	var got []string
	for _, line := range texts(v.screen(at)) {
		name, _, _ := strings.Cut(line, "  ")
		got = append(got, name)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
