package ui

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/overbrainer/overbrainer/apply"
	"github.com/overbrainer/overbrainer/internal/money"
	"github.com/overbrainer/overbrainer/internal/safetext"
	"github.com/overbrainer/overbrainer/plan"
)

// Events is a view of a plan's execution. Its methods may be called from
// several goroutines.
type Events interface {
	Event(apply.Event)
	// Close ends the view; a line that is redrawn stays as it was last.
	Close()
}

// JSONEvents writes one object per line. The first carries the plan, when
// there is one.
func JSONEvents(w io.Writer, p *plan.Plan) (Events, error) {
	v := &jsonEvents{w: w}
	if p == nil {
		return v, nil
	}
	if _, err := fmt.Fprintf(w, "{\"format_version\":%q,\"type\":\"plan\",\"plan\":", plan.FormatVersion); err != nil {
		return nil, err
	}
	if err := p.WriteJSON(w); err != nil {
		return nil, err
	}
	_, err := fmt.Fprintln(w, "}")
	return v, err
}

type jsonEvents struct {
	mu sync.Mutex
	w  io.Writer
}

// eventLine is the JSON form of an event.
type eventLine struct {
	Format     string             `json:"format_version"`
	Type       string             `json:"type"`
	Time       time.Time          `json:"time"`
	Address    string             `json:"address,omitempty"`
	RunID      string             `json:"run_id,omitempty"`
	PodID      string             `json:"pod_id,omitempty"`
	Message    string             `json:"message,omitempty"`
	Phase      string             `json:"phase,omitempty"`
	Step       int64              `json:"step,omitempty"`
	MaxSteps   int64              `json:"max_steps,omitempty"`
	Metrics    map[string]float64 `json:"metrics,omitempty"`
	SpentUSD   float64            `json:"spent_usd,omitempty"`
	CapUSD     float64            `json:"cap_usd,omitempty"`
	RateUSD    float64            `json:"hourly_usd,omitempty"`
	Done       int64              `json:"bytes_done,omitempty"`
	Total      int64              `json:"bytes_total,omitempty"`
	Rate       float64            `json:"bytes_per_second,omitempty"`
	GPUType    string             `json:"gpu_type,omitempty"`
	DataCenter string             `json:"data_center,omitempty"`
	Line       string             `json:"line,omitempty"`
	State      string             `json:"state,omitempty"`
	Reason     string             `json:"reason,omitempty"`
	ExitCode   *int               `json:"exit_code,omitempty"`
	Dir        string             `json:"dir,omitempty"`
	Seconds    float64            `json:"seconds,omitempty"`
}

func (v *jsonEvents) Event(e apply.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	// A reader that went away ends nothing.
	_ = JSONLine(v.w, eventLine{
		Format: plan.FormatVersion, Type: string(e.Kind), Time: e.Time.UTC(), Address: e.Address, RunID: e.RunID, PodID: e.PodID,
		Message: e.Message, Phase: e.Phase, Step: e.Step, MaxSteps: e.MaxSteps, Metrics: e.Metrics,
		SpentUSD: e.SpentUSD, CapUSD: e.CapUSD, RateUSD: e.RateUSD,
		Done: e.Done, Total: e.Total, Rate: e.Rate, GPUType: e.GPUType, DataCenter: e.DataCenter,
		Line: e.Line, State: e.State, Reason: e.Reason, ExitCode: e.ExitCode, Dir: e.Dir, Seconds: e.Seconds,
	})
}

func (v *jsonEvents) Close() {}

// PlainEvents writes timestamped lines, for logs and pipes.
func PlainEvents(w io.Writer) Events {
	return &plainEvents{w: w, said: map[string]time.Time{}, told: echoes{}}
}

type plainEvents struct {
	mu   sync.Mutex
	w    io.Writer
	said map[string]time.Time // when progress of an address was last written
	told echoes
}

// quiet is how long a plain view says nothing about mere progress.
const quiet = 10 * time.Second

func (v *plainEvents) Event(e apply.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.told.shorten(&e)
	text := sentence(e)
	switch e.Kind {
	case apply.EventPhase:
		// What it begins with and what it comes to are said in words.
		v.said[e.Address] = e.Time
	case apply.EventProgress, apply.EventTransfer:
		if last, ok := v.said[e.Address]; ok && e.Time.Sub(last) < quiet {
			return
		}
		if e.Kind == apply.EventTransfer && e.Done >= e.Total {
			return
		}
		v.said[e.Address] = e.Time
		text = status(newRow(e), e.Time)
	case apply.EventLog:
		text = "| " + safetext.OneLine(e.Line)
	}
	if text == "" {
		return
	}
	fmt.Fprintf(v.w, "%s %s%s\n", e.Time.UTC().Format("15:04:05"), prefix(e), text)
}

func (v *plainEvents) Close() {}

func prefix(e apply.Event) string {
	if e.Address == "" {
		return ""
	}
	return clean(e.Address) + " "
}

// sentence says an event in words; "" for one that only moves a row.
func sentence(e apply.Event) string {
	m := ownWords(e)
	switch e.Kind {
	case apply.EventDetached: // the rest is told at the end, once
		text := "is left running"
		if e.State != "" {
			text = "is left with its results"
		}
		if e.PodID != "" {
			text += " on pod " + clean(e.PodID)
		}
		return text
	case apply.EventWarning:
		return "warning: " + m
	case apply.EventFailed:
		return "error: " + m
	case apply.EventPhase:
		if m == "" {
			m = clean(e.Phase)
		}
		return m
	case apply.EventEnded:
		return ended(e)
	}
	if m == "" {
		m = string(e.Kind)
		if e.PodID != "" {
			m += " " + clean(e.PodID)
		}
	}
	return m
}

// ownWords is an event's message without the address, which stands before it.
func ownWords(e apply.Event) string {
	text := clean(e.Message)
	if e.Address == "" {
		return text
	}
	for _, after := range []string{": ", " "} {
		text = strings.TrimPrefix(text, clean(e.Address)+after)
	}
	return text
}

// Took is how long a job ran, at most where nobody saw its end.
func Took(seconds float64, unseen bool) string {
	text := Span(time.Duration(seconds * float64(time.Second)))
	if unseen {
		return "at most " + text
	}
	return text
}

// ended words the end of a run.
func ended(e apply.Event) string {
	text := StateWords(e.State, e.Reason, e.ExitCode)
	if e.Seconds > 0 {
		text += " after " + Took(e.Seconds, e.Unseen)
	}
	if e.SpentUSD > 0 {
		counted := ""
		if e.Unseen {
			counted = "counted as "
		}
		text += ", " + counted + "about " + money.USD(e.SpentUSD)
	}
	if e.Dir != "" {
		text += ", in " + clean(e.Dir)
	}
	if m := ownWords(e); m != "" && (e.State != "succeeded" || e.Dir == "") {
		text += ": " + m
	}
	return clean(text)
}

// status is a row's progress in words.
func status(r row, now time.Time) string {
	return join(append(append([]string{clean(r.phase)}, r.work()...), r.money(now))...)
}

// work is what a row has done so far of what it does now.
func (r row) work() []string {
	if r.total > 0 { // a transfer is what there is to see
		parts := []string{fmt.Sprintf("%s of %s", Bytes(r.done), Bytes(r.total))}
		if r.rate > 0 {
			parts = append(parts, Bytes(int64(r.rate))+"/s")
			if left := float64(r.total - r.done); left > 0 {
				parts = append(parts, Span(time.Duration(left/r.rate*float64(time.Second)))+" left")
			}
		}
		return parts
	}
	var parts []string
	if r.step > 0 {
		s := fmt.Sprintf("step %d", r.step)
		if r.maxSteps > 0 {
			s += fmt.Sprintf("/%d", r.maxSteps)
		}
		parts = append(parts, s)
	}
	for _, name := range shownMetrics(r.metrics) {
		parts = append(parts, clean(name)+" "+number(r.metrics[name]))
	}
	return parts
}

// money is what a row has cost by now, of what it may.
func (r row) money(now time.Time) string {
	spent := money.USD(0)
	if usd := r.spent.by(now); usd > 0 {
		spent = "about " + money.USD(usd)
	} else if r.cap == 0 {
		return ""
	}
	if r.cap > 0 {
		spent += " of " + money.USD(r.cap)
	}
	return spent
}

// join puts commas between the parts that say something.
func join(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
}

// shownMetrics picks loss, or what is there by name, two at most.
func shownMetrics(m map[string]float64) []string {
	var names []string
	for _, n := range []string{"loss", "eval_loss"} {
		if _, ok := m[n]; ok {
			names = append(names, n)
		}
	}
	if len(names) > 0 {
		return names
	}
	rest := slices.Sorted(maps.Keys(m))
	rest = slices.DeleteFunc(rest, func(n string) bool {
		return n == "step" || n == "max_steps" || n == "time" || n == "epoch"
	})
	return rest[:min(2, len(rest))]
}
