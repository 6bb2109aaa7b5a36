package ui

import (
	"bytes"
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
	const want = "60 runs, about $1.50 so far: 10 not begun, 12 booting, 17 training, 3 retrieving, 15 done, 1 failed, 1 skipped, 1 left running"
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
	if got = texts(v.screen(at)); len(got) != 2 || got[0] != "and 33 more" || !strings.HasPrefix(got[1], "60 runs, about $1.25 so far: ") {
		t.Errorf("on a low screen: %q", got)
	}
	v.runs.planned = few
	if got = texts(v.screen(at)); strings.Contains(strings.Join(got, "\n"), " runs, ") {
		t.Errorf("few are counted: %q", got)
	}
}

// TestLiveCountsOnNarrowScreens: however narrow and low one is, what all have cost is
// seen, and so is what an event says of money.
func TestLiveCountsOnNarrowScreens(t *testing.T) {
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for columns := 40; columns < 60; columns++ {
		v := &live{look: Look{Width: columns, Height: 3}, rows: map[string]*row{}, runs: counts{planned: 30}}
		for i, phase := range phases {
			v.keep(apply.Event{Time: at, Kind: apply.EventPhase, Address: fmt.Sprintf("run.x[%d]", i), RunID: phase, Phase: phase, SpentUSD: 0.25})
		}
		if got := texts(v.screen(at)); len(got) != 2 || !strings.HasPrefix(got[1], "30 runs, about $2.50 so far: ") {
			t.Errorf("%d columns: %q", columns, got)
		}
		for _, kind := range []apply.EventKind{apply.EventCreating, apply.EventCreated, apply.EventDeleted} {
			kept := v.keep(apply.Event{Time: at, Kind: kind, Address: "run.x[0]", Message: "pod abcdefghij, NVIDIA RTX 2000 Ada Generation at $0.247 an hour"})
			if !strings.HasSuffix(strings.Join(kept, " "), "at $0.247 an hour") {
				t.Errorf("%d columns: %q", columns, kept)
			}
		}
	}
}

// TestLiveMoneyGoesOn with the clock while a pod bills, at the speed of its hours, and
// no longer.
func TestLiveMoneyGoesOn(t *testing.T) {
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		change func(e *apply.Event)
		want   string
	}{
		"it bills":       {func(*apply.Event) {}, "training, about $0.60 of $2.00"},
		"hours are fast": {func(e *apply.Event) { e.Speed = 2 }, "training, about $1.10 of $2.00"},
		"it is gone":     {func(e *apply.Event) { e.RateUSD = 0 }, "training, about $0.10 of $2.00"},
		"it is free":     {func(e *apply.Event) { e.RateUSD, e.SpentUSD = 0, 0 }, "training, $0.00 of $2.00"},
		"without a cap":  {func(e *apply.Event) { e.CapUSD = 0 }, "training, about $0.60"},
		"free, no cap":   {func(e *apply.Event) { e.CapUSD, e.RateUSD, e.SpentUSD = 0, 0, 0 }, "training"},
	} {
		v := &live{look: Look{Width: 80}, rows: map[string]*row{}}
		e := apply.Event{Time: at, Kind: apply.EventPhase, Address: "run.a", Phase: "training", SpentUSD: 0.1, RateUSD: 3, CapUSD: 2}
		test.change(&e)
		v.keep(e)
		if got := texts(v.screen(at.Add(10 * time.Minute))); !slices.Equal(got, []string{"run.a  10m  " + test.want}) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestLiveRowsOfARemoval end as what they are about leaves the state, and are counted.
// What all of them have cost is not told: those without a pod do not tell it.
func TestLiveRowsOfARemoval(t *testing.T) {
	var b bytes.Buffer
	v := LiveEvents(&b, always(Look{Width: 80, Height: 24}), 0, 7).(*live)
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for i := range 4 {
		v.keep(apply.Event{Time: at, Kind: apply.EventDeleting, Address: fmt.Sprintf("run.x[%d]", i), RunID: fmt.Sprint(i), Phase: "ending", SpentUSD: 0.25, RateUSD: 1})
	}
	v.keep(apply.Event{Time: at, Kind: apply.EventRemoved, Address: "run.x[3]", RunID: "3", Message: "account secret s removed"})
	for _, i := range []int{0, 6} {
		v.keep(apply.Event{Time: at, Kind: apply.EventRemoved, Address: fmt.Sprintf("run.x[%d]", i), Phase: "done", Message: "it leaves the state"})
	}
	v.keep(apply.Event{Time: at, Kind: apply.EventFailed, Address: "run.x[1]", Message: "so"})
	want := []string{"run.x[2]  0s  ending, about $0.25", "run.x[3]  0s  ending, about $0.25", "7 runs: 2 not begun, 2 ending, 2 done, 1 failed"}
	if got := texts(v.screen(at)); !slices.Equal(got, want) {
		t.Errorf("%q", got)
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

// TestCountsTellHowRunsEnded: what was interrupted, cancelled or never begun has not
// failed, and what has ended does not go on.
func TestCountsTellHowRunsEnded(t *testing.T) {
	c := counts{planned: 8, unpriced: true}
	for i, e := range []apply.Event{
		{Kind: apply.EventEnded, State: "succeeded"},
		{Kind: apply.EventEnded, State: "failed", Reason: "exit_code"},
		{Kind: apply.EventEnded, State: "failed", Reason: "interrupted"},
		{Kind: apply.EventEnded, State: "cancelled", Reason: "user_cancelled"},
		{Kind: apply.EventFailed, State: apply.StateNotBegun},
		{Kind: apply.EventSkipped, State: apply.StateNotBegun},
		{Kind: apply.EventDetached, State: "succeeded"},
		{Kind: apply.EventDetached},
	} {
		e.Address = fmt.Sprintf("run.x[%d]", i)
		c.take(e)
	}
	const want = "8 runs: 2 not begun, 1 done, 1 failed, 1 cancelled, 1 interrupted, 1 waiting with results, 1 left running"
	if got := c.text(nil, time.Time{}); got != want {
		t.Errorf("%q", got)
	}
}
