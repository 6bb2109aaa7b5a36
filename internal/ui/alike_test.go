package ui

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/apply"
)

// soldOut is what each run says where nothing is to be had.
const soldOut = "nothing could be placed: NVIDIA A40, NVIDIA L4, NVIDIA L40S: create pod: no machine is free with what was asked for: please try again (set wait_for_stock)"

// TestSoldOutInManyRuns: what each of fifty runs says at length is told whole once,
// while it happens and at the end.
func TestSoldOutInManyRuns(t *testing.T) {
	var plain, end, terminal bytes.Buffer
	var o apply.Outcome
	views := []Events{PlainEvents(&plain), LiveEvents(&terminal, always(Look{Width: 400, Height: 24}), 1, 0)}
	for i := range 50 {
		address := fmt.Sprintf("run.x[%02d]", i)
		for _, v := range views {
			v.Event(apply.Event{
				Time: time.Date(2026, 1, 1, 12, 0, i, 0, time.UTC), Kind: apply.EventEnded, Address: address, State: "failed", Reason: "no_capacity",
				Dir: "runs/x", Message: address + ": " + soldOut,
			})
		}
		o.Runs = append(o.Runs, apply.RunOutcome{Address: address, State: "failed", Reason: "no_capacity", Message: address + ": " + soldOut})
	}
	for _, v := range views {
		v.Close()
	}
	if err := Outcome(&end, o, Look{Width: 400}); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"lines": plain.String(), "terminal": terminal.String()} {
		if n := strings.Count(text, soldOut); n != 1 {
			t.Errorf("%s: told %d times:\n%s", name, n, text)
		}
		if n := strings.Count(text, "failed (no_capacity), in runs/x: nothing could be placed: NVIDIA A40, NVIDIA L4, NVIDIA L40S… (as run.x[00])\n"); n != 49 {
			t.Errorf("%s: shortened %d times:\n%s", name, n, text)
		}
	}
	if text := end.String(); strings.Count(text, soldOut) != 1 || !strings.Contains(text, "\nrun.x[00], run.x[01], run.x[02] and 47 more: "+soldOut+"\n") {
		t.Errorf("%s", text)
	}
}

// TestEchoes: a short message, and one that a run says again of itself, stay whole.
func TestEchoes(t *testing.T) {
	told := echoes{}
	say := func(address, text string) string {
		e := apply.Event{Kind: apply.EventWarning, Address: address, Message: text, PodID: "p-" + address, RunID: "r-" + address}
		told.shorten(&e)
		return e.Message
	}
	const undeleted = "the deletion of pod p-%s is refused or not answered so far; it is tried again, and the pod bills at $0.25 an hour until it is gone (run r-%[1]s)"
	for _, test := range []struct{ address, text, want string }{
		{"run.a", fmt.Sprintf(undeleted, "run.a"), fmt.Sprintf(undeleted, "run.a")},
		{"run.b", fmt.Sprintf(undeleted, "run.b"), "the deletion of pod p-run.b is refused or not answered so f… (as run.a)"},
		{"run.a", "no more", "no more"},
		{"run.b", "no more", "no more"},
		{"run.a", soldOut, soldOut},
		{"run.a", soldOut, soldOut},
		{"", soldOut, soldOut},
		{"run.b", "run.b: " + soldOut, "nothing could be placed: NVIDIA A40, NVIDIA L4, NVIDIA L40S… (as run.a)"},
	} {
		if got := say(test.address, test.text); got != test.want {
			t.Errorf("%s: %q, not %q", test.address, got, test.want)
		}
	}
}
