package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/overbrainer/overbrainer/internal/ui"
	"github.com/overbrainer/overbrainer/state"
)

func runReportCommand(a *app) *command {
	out := "report.html"
	return &command{
		name:     "run report",
		synopsis: "one HTML page: curves, spend, timeline",
		usage:    "[-out=FILE] [ADDR|RUN...]",
		text: `Writes a page that needs no network: the curves of every metric, overlaid for
		several runs, what each cost of its cap, the life of its pod, what it was
		started with and the end of its log. Without an argument it takes the current
		run of every address; an address without a key stands for every instance.`,
		example: "$ overbrainer run report -out=sweep.html",
		most:    -1,
		register: func(f *flags) {
			f.text(&out, "out", "FILE", "where to write it (default report.html); - is the standard output")
		},
		run: func(ctx context.Context, args []string) error {
			if out == "" {
				return &usageError{text: "-out names no file"}
			}
			st, err := a.readState(ctx)
			if err != nil {
				return err
			}
			var runs []ui.ReportRun
			var lacks []lack
			for _, name := range reportedRuns(st, args) {
				address, run, err := findRun(st, name)
				if err != nil {
					return err
				}
				r, missing := a.reported(address, run)
				runs = append(runs, r)
				for _, text := range missing {
					lacks = append(lacks, lack{address, filepath.FromSlash(run.Dir), text})
				}
			}
			a.warnLacking(lacks)
			if len(runs) == 0 {
				return &problem{code: "no_runs", message: "there are no runs to report on", hint: "overbrainer apply starts them"}
			}
			var page bytes.Buffer
			if err := ui.Report(&page, "Runs of "+filepath.Base(a.dir), runs, a.now()); err != nil {
				return err
			}
			told, err := a.writeNamed(ctx, out, []byte(a.redactor.String(page.String())))
			if err != nil || told {
				return err
			}
			_, err = fmt.Fprintln(a.out, "wrote "+out)
			return err
		},
	}
}

// reportedRuns names what a report is on: all, or those given, where an address
// without a key stands for every instance.
func reportedRuns(st *state.State, given []string) []string {
	var out []string
	for _, address := range st.Addresses() {
		if len(given) == 0 && st.Resources[address].Run != nil {
			out = append(out, address)
		}
	}
	for _, name := range given {
		found := false
		for _, address := range st.Addresses() {
			if st.Resources[address].Run != nil && strings.HasPrefix(address, name+"[") {
				out, found = append(out, address), true
			}
		}
		if _, whole := st.Resources[name]; whole || !found {
			out = append(out, name)
		}
	}
	return out
}

// lack is what should be in a run's page and is not; text may name the run's dir.
type lack struct{ address, dir, text string }

// warnLacking says what a page lacks, once of all runs that lack it alike.
func (a *app) warnLacking(lacks []lack) {
	var alike ui.Alike
	one := map[string]string{} // the text of one run, by that of many
	for _, l := range lacks {
		text := l.text
		if l.dir != "" {
			text = strings.ReplaceAll(text, l.dir, filepath.Join("runs", "*"))
		}
		alike.Add(l.address, text)
		one[text] = l.text
	}
	for _, text := range alike.Texts {
		names := alike.Names(text)
		if alike.One(text) {
			text = one[text]
		}
		a.warn(names + ": " + text)
	}
}

// reported gathers what is on this machine of a run. missing says what should be
// in its page and is not.
func (a *app) reported(address string, run *state.Run) (r ui.ReportRun, missing []string) {
	dir := filepath.Join(a.dir, filepath.FromSlash(run.Dir))
	if who := a.whoHas(run); who != "" {
		missing = append(missing, "the page lacks what is not here; "+who)
	}
	unread := func(err error) {
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			missing = append(missing, "the page lacks what cannot be read: "+err.Error())
		}
	}
	series, err := a.series(dir)
	unread(err)
	r = ui.ReportRun{Address: address, Run: run, Series: series}
	tail, err := lastLinesOf(filepath.Join(dir, "job.log"), 30)
	unread(err)
	if tail != "" {
		r.Tail = strings.Split(tail, "\n")
	}
	var in struct{ Inputs, Shown map[string]string }
	data, err := os.ReadFile(filepath.Join(dir, "inputs.json"))
	unread(err)
	if err == nil && json.Unmarshal(data, &in) == nil {
		for _, name := range slices.Sorted(maps.Keys(in.Inputs)) {
			value, known := in.Shown[name]
			if !known {
				value = "sha256 " + in.Inputs[name]
			}
			r.Config = append(r.Config, [2]string{name, value})
		}
	}
	return r, missing
}

// series reads the metrics of a run by name.
func (a *app) series(dir string) (map[string][]ui.Point, error) {
	out := map[string][]ui.Point{}
	f, err := os.Open(filepath.Join(dir, "metrics.jsonl"))
	if err != nil {
		return out, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for n := 0.0; lines.Scan(); n++ {
		var line map[string]any
		if json.Unmarshal(lines.Bytes(), &line) != nil || line["event"] == "begin" || line["event"] == "end" {
			continue
		}
		step, ok := line["step"].(float64)
		if !ok {
			step = n
		}
		for name, v := range line {
			if value, ok := v.(float64); ok && name != "step" {
				out[name] = append(out[name], ui.Point{Step: step, Value: value})
			}
		}
	}
	return out, lines.Err()
}
