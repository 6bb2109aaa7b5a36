package ui

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/overbrainer/overbrainer/apply"
)

func always(l Look) func() Look { return func() Look { return l } }

func texts(lines []drawing) []string {
	var out []string
	for _, l := range lines {
		out = append(out, l.name+l.text)
	}
	return out
}

// frame is what is written of rows.
func frame(rows string) string { return noWrap + rows + wraps }

// over draws over so many lines.
func over(n int, drawn string) string {
	up := fmt.Sprintf("\x1b[%dA", n)
	return up + "\r" + strings.Repeat("\x1b[2K\x1b[B", n) + up + drawn + "\x1b[J"
}

var controls = regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]`)

func TestLiveRedrawsItsRows(t *testing.T) {
	var b bytes.Buffer
	v := LiveEvents(&b, always(Look{Width: 80}), 1, 0)
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
		if n := width(controls.ReplaceAllString(strings.TrimRight(line, "\n"), "")); n > 80 {
			t.Errorf("%d columns: %q", n, line)
		}
	}
}

// TestLiveRowOfAnEarlierCommand: the clock of a run that an earlier command began
// shows how long the run has gone on, not how long it is looked at.
func TestLiveRowOfAnEarlierCommand(t *testing.T) {
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	r := newRow(apply.Event{Time: at, Since: at.Add(-90 * time.Minute), Kind: apply.EventPhase, Address: "run.a", Phase: "training"})
	if _, took := r.begins(at.Add(5 * time.Second)); strings.TrimSpace(took) != "1h30m" {
		t.Errorf("%q", took)
	}
}

// TestLiveTellsWhatTheCommandWaitsFor: what is of no run has no row, and stays above
// those there are.
func TestLiveTellsWhatTheCommandWaitsFor(t *testing.T) {
	v := &live{ask: always(Look{}), look: Look{Width: 80}, rows: map[string]*row{}, told: echoes{}}
	got := v.keep(apply.Event{Kind: apply.EventWaiting, Message: "interrupted: it finishes first"})
	if !slices.Equal(got, []string{"interrupted: it finishes first"}) || len(v.rows) != 0 {
		t.Errorf("%q, %d rows", got, len(v.rows))
	}
}

// TestUnseenEndInWords: of a job whose end nobody saw neither time nor money is told
// as a fact.
func TestUnseenEndInWords(t *testing.T) {
	e := apply.Event{Kind: apply.EventEnded, Address: "run.a", State: "failed", Reason: "lost", Seconds: 2649, SpentUSD: 0.18, Unseen: true}
	if got, want := ended(e), "failed (lost) after at most 44m9s, counted as about $0.18"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	var b bytes.Buffer
	run := apply.RunOutcome{Address: "run.a", State: "failed", Reason: "lost", Seconds: 2649, Unseen: true}
	if err := Outcome(&b, apply.Outcome{Runs: []apply.RunOutcome{run}}, Look{Width: 80}); err != nil || !strings.Contains(b.String(), "at most 44m9s") {
		t.Errorf("%v %q", err, b.String())
	}
}

// TestForgottenEndInWords: of a run that another process took out of the state, and
// of which nothing is known, time and cost are unknown, never zero.
func TestForgottenEndInWords(t *testing.T) {
	run := apply.RunOutcome{Address: "run.a", State: "removed", Forgotten: true, Unknown: true, Class: apply.Failure}
	out := apply.Outcome{Runs: []apply.RunOutcome{run}}
	var b bytes.Buffer
	if err := Outcome(&b, out, Look{Width: 80}); err != nil || !strings.Contains(b.String(), "run.a  removed  unknown  unknown") {
		t.Errorf("%v %q", err, b.String())
	}
	b.Reset()
	if err := OutcomeJSON(&b, out, time.Time{}, 1); err != nil || !strings.Contains(b.String(), `"cost_usd":null,"cost_basis":"unknown","seconds":null`) {
		t.Errorf("%v %q", err, b.String())
	}
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	var c counts
	c.take(apply.Event{Time: at, Kind: apply.EventPhase, Address: "run.a", RunID: "a", SpentUSD: 1, RateUSD: 6})
	c.take(apply.Event{Time: at.Add(10 * time.Minute), Kind: apply.EventEnded, Address: "run.a", RunID: "a", State: "removed"})
	if got := c.spent["a"].by(at.Add(time.Hour)); got != 2 {
		t.Errorf("it counts as $%g: it is reckoned on", got)
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
		"training": {steps, `run.iris["careful"]  5s  training, about $0.0006 of $2.00
    [############] █▆▅▄▃▃▂▂▂▁▁▁▁▁▁▁  step 200/200, loss 0.05
`},
		"transfer": {[]apply.Event{{Kind: apply.EventTransfer, Phase: "uploading", Done: 120e6, Total: 999e6, Rate: 3.4e6, SpentUSD: 0.0006, CapUSD: 2}},
			`run.iris["careful"]  5s  uploading, about $0.0006 of $2.00
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
		if got := strings.Join(texts(v.screen(at.Add(5*time.Second))), "\n") + "\n"; got != test.want {
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
	if got := texts(v.screen(at)); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestLiveTimePasses also while no event comes, until the view is closed.
func TestLiveTimePasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		v := LiveEvents(&b, always(Look{Width: 80}), 1, 0)
		v.Event(apply.Event{Time: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC), Kind: apply.EventPhase, Address: "run.a", Phase: "placing"})
		time.Sleep(2500 * time.Millisecond)
		v.Close()
		synctest.Wait()
		told := b.String()
		time.Sleep(5 * time.Second)
		if want := frame("run.a  0s  placing\n") + over(1, frame("run.a  1s  placing\n")) + over(1, frame("run.a  2s  placing\n")); told != want || b.String() != told {
			t.Errorf("%q", b.String())
		}
	})
}

// training is a run in the middle of its work.
func training(address string) apply.Event {
	return apply.Event{
		Time: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC), Kind: apply.EventProgress, Address: address, Phase: "training",
		Step: 120, MaxSteps: 4000, Metrics: map[string]float64{"loss": 0.1234}, SpentUSD: 0.25, CapUSD: 2,
	}
}

// TestLiveRowsOfWideCharacters take as many columns as a terminal gives them, so
// that none is broken and all are drawn over.
func TestLiveRowsOfWideCharacters(t *testing.T) {
	var b bytes.Buffer
	for columns := 20; columns <= 120; columns++ {
		b.Reset()
		v := &live{w: &b, look: Look{Width: columns, Height: 24}, rows: map[string]*row{}}
		v.keep(training(`run.a["学習率を大きくした実験そのいち学習率を大きくした"]`))
		v.keep(training("run.b[\"e\u0301\u0301tude 👩‍🔬\"]"))
		e := training("run.c")
		e.Kind, e.Message = apply.EventWaiting, "空きがありません。一分後にもう一度試します。空きがありません。一分後にもう一度試します。"
		v.keep(e)
		v.draw(nil)
		for _, line := range v.drawn {
			if n := width(line); n >= columns {
				t.Errorf("%d of %d columns: %s", n, columns, line)
			}
		}
		if n := v.above(); n != len(v.drawn) || n != strings.Count(b.String(), "\n") {
			t.Errorf("%d columns: %d lines are drawn over, %d were drawn", columns, n, len(v.drawn))
		}
	}
	for text, want := range map[string]int{"abc": 3, "学習": 4, "e\u0301": 1, "…": 1, "▁█": 2, "×": 1} {
		if got := width(text); got != want {
			t.Errorf("%q is %d columns wide, not %d", text, got, want)
		}
	}
	if got := cut("学習率", 4); got != "学…" {
		t.Errorf("cut to %q", got)
	}
}

// TestLiveFollowsTheTerminalsSize: what a terminal that became narrower has broken
// is drawn over whole, and a wider one is used.
func TestLiveFollowsTheTerminalsSize(t *testing.T) {
	var b bytes.Buffer
	look := Look{Width: 80, Height: 24}
	v := LiveEvents(&b, func() Look { return look }, 1, 0).(*live)
	defer v.Close()
	e := training(`run.sweep["` + strings.Repeat("ab", 10) + `"]`)
	v.Event(e)
	if want := []int{69, 46}; !slices.Equal(widths(v.drawn), want) {
		t.Fatalf("%d columns: %q", widths(v.drawn), v.drawn)
	}
	for _, step := range []struct {
		columns, up int
		want        []int
	}{
		{50, 2 + 1, []int{49, 46}}, // the first of the two is broken
		{80, 2, []int{69, 46}},
		{20, 4 + 3, []int{19, 19, 18, 10}},
		{120, 4, []int{113}},
	} {
		b.Reset()
		look.Width = step.columns
		e.Time = e.Time.Add(time.Second)
		v.Event(e)
		up, rest, _ := strings.Cut(strings.TrimPrefix(b.String(), "\x1b["), "A\r")
		if up != strconv.Itoa(step.up) || strings.Count(rest, "\n") != len(v.drawn) {
			t.Errorf("to %d columns: %s lines are drawn over, not %d, by %q", step.columns, up, step.up, v.drawn)
		}
		if got := widths(v.drawn); !slices.Equal(got, step.want) {
			t.Errorf("to %d columns: lines of %d, not %d: %q", step.columns, got, step.want, v.drawn)
		}
	}
	// Two columns do not share what is left of one.
	v.drawn, v.look.Width = []string{"学習率学習率", ""}, 5
	if got := v.above(); got != 3+1 {
		t.Errorf("%d lines of wide characters", got)
	}
}

func widths(lines []string) []int {
	var out []int
	for _, l := range lines {
		out = append(out, width(l))
	}
	return out
}

// TestLiveRowsOfManyRuns say on their one line as much as there is room for.
func TestLiveRowsOfManyRuns(t *testing.T) {
	v := &live{look: Look{Width: 80, Height: 24}, rows: map[string]*row{}}
	e := training("")
	for i := range 12 {
		e.Address = fmt.Sprintf("run.iris[%d]", i)
		for step := range 3 {
			e.Step = int64(120 + step)
			v.keep(e)
		}
	}
	e.Address, e.Kind, e.Message = "run.z", apply.EventWaiting, "nothing to rent; trying again in 1m0s, until 2026-11-30 12:34:56 UTC"
	v.keep(e)
	long := `run.iris["` + strings.Repeat("long ", 8) + `"]`
	e = training(long)
	v.keep(e)
	got := texts(v.screen(e.Time.Add(time.Minute)))
	if len(got) != 14 {
		t.Fatalf("%d lines", len(got))
	}
	for _, test := range []struct {
		n    int
		want string
	}{
		{0, "run.iris[\"long long long long long long lo…  1m  training, about $0.25 of $2.00"},
		{1, "run.iris[0]  1m  training, step 122/4000, loss 0.1234, about $0.25 of $2.00"},
		{13, "run.z  1m  training, step 122/4000, about $0.25 of $2.00: nothing to rent; try…"},
	} {
		if got[test.n] != test.want {
			t.Errorf("line %d: %q, not %q", test.n, got[test.n], test.want)
		}
	}
}

// TestLiveRowsKeepTheirLines: a row whose text came to be too long for one line keeps
// the second one when it is shorter again, until its phase or the screen changes.
func TestLiveRowsKeepTheirLines(t *testing.T) {
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	v := &live{look: Look{Width: 60, Height: 24}, rows: map[string]*row{}, told: echoes{}}
	lines := func(note string) int {
		v.keep(apply.Event{Time: at, Kind: apply.EventWaiting, Address: "run.a", Phase: "training", Message: note})
		return len(v.screen(at))
	}
	const short, long = "so", "something is waited for that takes a line of its own"
	if got := []int{lines(short), lines(long), lines(short)}; !slices.Equal(got, []int{1, 2, 2}) {
		t.Errorf("%d lines", got)
	}
	v.look.Width = 100
	if n := lines(short); n != 1 {
		t.Errorf("%d lines on a wider screen", n)
	}
	v.look.Width = 60
	lines(long)
	v.keep(apply.Event{Time: at, Kind: apply.EventPhase, Address: "run.a", Phase: "retrieving"})
	if n := len(v.screen(at)); n != 1 {
		t.Errorf("%d lines of another phase", n)
	}
}
