package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
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
			listed := map[string]string{}
			var lacks []lack
			for _, name := range reportedRuns(st, args) {
				address, run, err := findRun(st, name)
				if err != nil {
					return err
				}
				r, missing := a.reported(address, run, listed)
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
// in its page and is not. listed says of files where they stand already.
func (a *app) reported(address string, run *state.Run, listed map[string]string) (r ui.ReportRun, missing []string) {
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
		r.Config = startedWith(in.Inputs, in.Shown, address, listed)
	}
	return r, missing
}

// startedWith gives what a run was started with, in words as far as it is known so,
// and its files last: they may be thousands, and are listed once for all runs with
// the same.
func startedWith(inputs, shown map[string]string, address string, listed map[string]string) [][2]string {
	var said, files [][2]string
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		value, known := shown[name]
		if !known {
			value = "sha256 " + inputs[name]
		}
		if !strings.HasPrefix(name, "file ") && !strings.HasPrefix(name, "files ") {
			said = append(said, [2]string{name, value})
			continue
		}
		files = append(files, [2]string{name, value})
		fmt.Fprintf(sum, "%q %s\n", name, value)
	}
	key := string(sum.Sum(nil))
	if at, there := listed[key]; there && len(files) > 1 {
		return append(said, [2]string{"files", fmt.Sprintf("%d, the same as of %s", len(files), at)})
	}
	listed[key] = address
	return append(said, files...)
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
