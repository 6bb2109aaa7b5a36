package ui

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/overbrainer/overbrainer/apply"
)

func TestLiveRedrawsItsRows(t *testing.T) {
	var b bytes.Buffer
	v := LiveEvents(&b, Look{Width: 80})
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	v.Event(apply.Event{Time: at, Kind: apply.EventPhase, Address: "run.a", Phase: "booting"})
	v.Event(apply.Event{Time: at.Add(time.Second), Kind: apply.EventPhase, Address: "run.b", Phase: "booting"})
	v.Event(apply.Event{Time: at.Add(2 * time.Second), Kind: apply.EventProgress, Address: "run.a", Phase: "training",
		Step: 5, MaxSteps: 10, Metrics: map[string]float64{"loss": 0.5}, SpentUSD: 0.1, CapUSD: 2})
	v.Event(apply.Event{Time: at.Add(3 * time.Second), Kind: apply.EventEnded, Address: "run.a", State: "succeeded", Seconds: 3})
	v.Close()
	out := b.String()
	for _, part := range []string{"\x1b[2A", "step 5/10", "loss 0.5", "$0.10 of $2.00", "[######......]", "run.a succeeded after 3s\n"} {
		if !strings.Contains(out, part) {
			t.Errorf("no %q in %q", part, out)
		}
	}
	for line := range strings.Lines(out) {
		if n := width(strings.TrimRight(line, "\n")); n > 90 {
			t.Errorf("%d columns: %q", n, line)
		}
	}
}

// TestLiveRowsOf80Columns: where one line is too narrow for everything, the money
// stays on the first one, and the curve, what is left of a transfer, and the reason
// of a wait with its end have lines below.
func TestLiveRowsOf80Columns(t *testing.T) {
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	steps := []apply.Event{}
	for i := range 20 {
		steps = append(steps, apply.Event{Kind: apply.EventProgress, Phase: "training", Step: int64(10 * (i + 1)), MaxSteps: 200,
			Metrics: map[string]float64{"loss": 1 / float64(i+1)}, SpentUSD: 0.0006, CapUSD: 2})
	}
	for name, test := range map[string]struct {
		events []apply.Event
		want   string
	}{
		"training": {steps, `run.iris["careful"]  5s  training, $0.0006 of $2.00
    [############] █▆▅▄▃▃▂▂▂▁▁▁▁▁▁▁  step 200/200, loss 0.05
`},
		"transfer": {[]apply.Event{{Kind: apply.EventTransfer, Phase: "uploading", Done: 120e6, Total: 999e6, Rate: 3.4e6, SpentUSD: 0.0006, CapUSD: 2}},
			`run.iris["careful"]  5s  uploading, $0.0006 of $2.00
    [#...........]  120 MB of 999 MB, 3.4 MB/s, 4m19s left
`},
		"waiting": {[]apply.Event{{Kind: apply.EventWaiting, Phase: "waiting", CapUSD: 2,
			Message: "still nothing to rent; trying again in 1m0s, until 2026-11-30 12:34:56 UTC"}},
			`run.iris["careful"]  5s  waiting, $0.00 of $2.00
    still nothing to rent; trying again in 1m0s, until 2026-11-30 12:34:56 UTC
`},
	} {
		v := &live{look: Look{Width: 80}, rows: map[string]*row{}}
		for _, e := range test.events {
			e.Address, e.Time = `run.iris["careful"]`, at
			v.keep(e)
		}
		if got := strings.Join(v.screen(at.Add(5*time.Second)), "\n") + "\n"; got != test.want {
			t.Errorf("%s:\n%swant\n%s", name, got, test.want)
		}
	}
}

// TestLiveRowsStayOnTheScreen: on a low screen each row has one line, and those
// without a place are counted.
func TestLiveRowsStayOnTheScreen(t *testing.T) {
	v := &live{look: Look{Width: 40, Height: 4}, rows: map[string]*row{}}
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for _, name := range []string{"a", "b", "c", "d"} {
		v.keep(apply.Event{Time: at, Kind: apply.EventWaiting, Address: "run." + name, Phase: "waiting", CapUSD: 1, Message: "nothing to rent; trying again in 1m"})
	}
	want := []string{"run.a  0s  waiting, $0.00 of $1.00", "run.b  0s  waiting, $0.00 of $1.00", "and 2 more"}
	if got := v.screen(at); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestLiveTimePasses also while no event comes, until the view is closed.
func TestLiveTimePasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		v := LiveEvents(&b, Look{Width: 80})
		v.Event(apply.Event{Time: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC), Kind: apply.EventPhase, Address: "run.a", Phase: "placing"})
		time.Sleep(2500 * time.Millisecond)
		v.Close()
		synctest.Wait()
		told := b.String()
		time.Sleep(5 * time.Second)
		if want := "run.a  0s  placing\n\x1b[1A\r\x1b[Jrun.a  1s  placing\n\x1b[1A\r\x1b[Jrun.a  2s  placing\n"; told != want || b.String() != told {
			t.Errorf("%q", b.String())
		}
	})
}
