package ui

import (
	_ "embed" // the page
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/overbrainer/overbrainer/internal/money"
	"github.com/overbrainer/overbrainer/state"
)

//go:embed report.html
var reportPage string

// ReportRun is a run in a report.
type ReportRun struct {
	Address string
	Run     *state.Run
	// Series are the metrics by name, in order of time.
	Series map[string][]Point
	// Config are lines of what it was started with: name and value.
	Config [][2]string
	// Tail are the last lines of its log.
	Tail []string
}

// Point is one value of a metric.
type Point struct {
	Step  float64
	Value float64
}

// Report writes one self-contained HTML page about runs: how they compare,
// their curves, the life of their pods, what they cost, their logs.
func Report(w io.Writer, title string, runs []ReportRun, now time.Time) error {
	page, err := template.New("report").Parse(reportPage)
	if err != nil {
		return err
	}
	doc := reportDoc{Title: title, Made: stamp(now)}
	for i, r := range runs {
		doc.Runs = append(doc.Runs, reportRun(r, i, now))
	}
	doc.Metrics = compared(runs)
	for i := range doc.Runs {
		for _, m := range doc.Metrics {
			text := "-"
			if v, ok := runs[i].Run.Metrics[m]; ok {
				text = number(v)
			}
			doc.Runs[i].Last = append(doc.Runs[i].Last, text)
		}
	}
	for _, name := range seriesNames(runs) {
		doc.Charts = append(doc.Charts, chartOf(name, runs))
	}
	return page.Execute(w, doc)
}

type reportDoc struct {
	Title, Made string
	Metrics     []string
	Runs        []runDoc
	Charts      []chartDoc
}

type runDoc struct {
	Address, ID, State, Color, Dash, GPU, Cost, Cap, Duration, Dir string
	// Share of the cap that was spent, in percent; -1 without a cap.
	Share    int
	Last     []string
	Timeline []eventDoc
	Config   [][2]string
	Tail     []string
}

type eventDoc struct {
	Left, Width float64 // percent of the whole
	Color, Text string
}

type chartDoc struct {
	Name                   string
	Low, High, First, Last string
	Lines                  []lineDoc
	// More runs have this curve than are drawn.
	More int
}

type lineDoc struct {
	Color, Dash, Points, Address string
}

// colors that are told apart in light and dark, and by most eyes.
var colors = strings.Fields("#0072b2 #d55e00 #009e73 #cc79a7 #e69f00 #56b4e9 #8a6d00 #666666")

// dashes is how many ways there are to break a line.
const dashes = 16

func colorOf(i int) string { return colors[i%len(colors)] }

// dashOf is how the line of a run is broken, as in SVG: those of the same colour
// have one dot more for each run of it before, until all dashes are in use.
func dashOf(i int) string {
	dots := i / len(colors) % dashes
	if dots == 0 {
		return "none"
	}
	return "9 3" + strings.Repeat(" 2 3", dots-1)
}

func reportRun(r ReportRun, i int, now time.Time) runDoc {
	run := r.Run
	doc := runDoc{
		Address: clean(r.Address), ID: run.ID, State: phase(run), Color: colorOf(i), Dash: dashOf(i), Dir: clean(run.Dir),
		GPU: clean(strings.TrimSuffix(run.GPUType+", "+run.DataCenter, ", ")), Cost: money.USD(run.SpentUSD(now)), Share: -1,
	}
	if limit := run.Bounds.MaxCostUSD; limit > 0 {
		doc.Cap = money.USD(limit)
		doc.Share = int(math.Min(100, math.Ceil(run.SpentUSD(now)/limit*100)))
	}
	if run.StartedAt != nil {
		end := now
		if run.EndedAt != nil {
			end = *run.EndedAt
		}
		doc.Duration = Span(run.Pod.Nominal(end.Sub(*run.StartedAt)))
	}
	doc.Timeline = timeline(run, now)
	for _, c := range r.Config {
		doc.Config = append(doc.Config, [2]string{clean(c[0]), clean(c[1])})
	}
	for _, l := range r.Tail {
		doc.Tail = append(doc.Tail, clean(l))
	}
	return doc
}

// timeline is the life of a run's pods from the first create call to the last
// trace.
func timeline(run *state.Run, now time.Time) []eventDoc {
	type span struct {
		from, to    time.Time
		color, text string
	}
	var spans []span
	for _, a := range run.Attempts {
		if a.Result == state.AttemptCreated || a.Result == state.AttemptAdopted {
			continue
		}
		end := a.SentAt.Add(time.Second)
		if a.EndedAt != nil {
			end = *a.EndedAt
		}
		spans = append(spans, span{a.SentAt, end, "#999999", fmt.Sprintf("%s: %s", a.GPUType, a.Result)})
	}
	end := now
	if run.EndedAt != nil {
		end = *run.EndedAt
	}
	if p := run.Pod; p != nil {
		up := end
		if run.StartedAt != nil {
			up = *run.StartedAt
		}
		ready := up
		if p.ReadyAt != nil {
			ready = *p.ReadyAt
		}
		spans = append(spans, span{p.CreatedAt, ready, "#e69f00", "boot"}, span{ready, up, "#56b4e9", "upload and start"})
		if p.DeletedAt != nil && run.EndedAt != nil {
			spans = append(spans, span{end, *p.DeletedAt, "#cc79a7", "results and end of the pod"})
		}
	}
	if run.StartedAt != nil {
		spans = append(spans, span{*run.StartedAt, end, "#009e73", "job"})
	}
	if len(spans) == 0 {
		return nil
	}
	first, last := spans[0].from, spans[0].to
	for _, s := range spans {
		if s.from.Before(first) {
			first = s.from
		}
		if s.to.After(last) {
			last = s.to
		}
	}
	whole := math.Max(last.Sub(first).Seconds(), 1)
	slices.SortStableFunc(spans, func(a, b span) int { return a.from.Compare(b.from) })
	var out []eventDoc
	for _, s := range spans {
		out = append(out, eventDoc{
			Left:  s.from.Sub(first).Seconds() / whole * 100,
			Width: math.Max(s.to.Sub(s.from).Seconds()/whole*100, 0.4),
			Color: s.color, Text: clean(fmt.Sprintf("%s, %s", s.text, Span(run.Pod.Nominal(s.to.Sub(s.from))))),
		})
	}
	return out
}

// compared names the metrics that the table of runs shows.
func compared(runs []ReportRun) []string {
	var names []string
	for _, r := range runs {
		for name := range r.Run.Metrics {
			if !slices.Contains(names, name) && !plain(name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names[:min(len(names), 8)]
}

// plain metrics count steps and time; they make no curve.
func plain(name string) bool {
	return slices.Contains([]string{"step", "max_steps", "time", "epoch"}, name)
}

func seriesNames(runs []ReportRun) []string {
	var names []string
	for _, r := range runs {
		for name, points := range r.Series {
			if len(points) > 1 && !plain(name) && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		// Loss is what people look for first.
		if (a == "loss") != (b == "loss") {
			if a == "loss" {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	return names
}

// Size of a chart's drawing.
const (
	chartWidth  = 640
	chartHeight = 240
	maxPoints   = 1000
)

// maxCurves is how many runs one chart shows: more would be drawn alike, and a
// page of thousands of curves shows nothing but its own size.
var maxCurves = dashes * len(colors)

func chartOf(name string, runs []ReportRun) chartDoc {
	doc := chartDoc{Name: clean(name)}
	var drawn []int // of runs
	for i, r := range runs {
		switch {
		case len(r.Series[name]) == 0:
		case len(drawn) < maxCurves:
			drawn = append(drawn, i)
		default:
			doc.More++
		}
	}
	lowX, highX, lowY, highY := math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	for _, i := range drawn {
		for _, p := range runs[i].Series[name] {
			lowX, highX = math.Min(lowX, p.Step), math.Max(highX, p.Step)
			lowY, highY = math.Min(lowY, p.Value), math.Max(highY, p.Value)
		}
	}
	doc.Low, doc.High, doc.First, doc.Last = number(lowY), number(highY), number(lowX), number(highX)
	scale := func(v, low, high, size float64) float64 {
		if high <= low {
			return size / 2
		}
		return (v - low) / (high - low) * size
	}
	for _, i := range drawn {
		var b strings.Builder
		for _, p := range thin(runs[i].Series[name], maxPoints) {
			fmt.Fprintf(&b, "%.1f,%.1f ", scale(p.Step, lowX, highX, chartWidth), chartHeight-scale(p.Value, lowY, highY, chartHeight))
		}
		doc.Lines = append(doc.Lines, lineDoc{Color: colorOf(i), Dash: dashOf(i), Points: strings.TrimSpace(b.String()), Address: clean(runs[i].Address)})
	}
	return doc
}

// thin keeps at most n points, the last one among them.
func thin(points []Point, n int) []Point {
	if len(points) <= n {
		return points
	}
	out := make([]Point, 0, n)
	for i := range n - 1 {
		out = append(out, points[i*len(points)/(n-1)])
	}
	return append(out, points[len(points)-1])
}
