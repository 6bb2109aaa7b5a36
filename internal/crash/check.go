package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/overbrainer/overbrainer/state"
)

// book reads how often each job began, and which are done.
func (w *world) book() (starts map[string]int, done map[string]bool, err error) {
	starts, done = map[string]int{}, map[string]bool{}
	data, err := os.ReadFile(w.ledger())
	if os.IsNotExist(err) {
		return starts, done, nil
	}
	for line := range strings.Lines(string(data)) {
		switch what, name, _ := strings.Cut(strings.TrimSpace(line), " "); what {
		case "start":
			starts[name]++
		case "done":
			done[name] = true
		}
	}
	return starts, done, err
}

// check looks for what must not be left after a recovery. done are the jobs
// that were done before a destroy.
func (w *world) check(ctx context.Context, how string, done map[string]bool, f *found) error {
	status, err := w.sim.Status(ctx)
	if err != nil {
		return err
	}
	f.pods, f.secrets = len(status.Pods), len(status.Secrets)
	for _, p := range status.Pods {
		f.say("pod %s (%s, %s) is left", p.ID, p.Name, p.Status)
	}
	for _, s := range status.Secrets {
		f.say("secret %s is left", s.Name)
	}
	st, err := state.Local(w.dir, "crash").Read(ctx)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(filepath.Join(w.dir, state.FileName))
	if err != nil {
		return err
	}
	if _, err := state.Decode(state.FileName, data); err != nil {
		f.unfinished++
		f.say("the state is not one whole document: %v", err)
	}
	if len(st.Claims) > 0 {
		f.unfinished++
		f.say("the state still has %d claims", len(st.Claims))
	}
	starts, _, err := w.book()
	if err != nil {
		return err
	}
	for name, n := range starts {
		if n > 1 {
			f.double++
			f.say("the job of run.%s began %d times", name, n)
		}
	}
	if how == "destroy" {
		return w.destroyed(st, done, f)
	}
	return w.applied(st, f)
}

// applied checks the state after an apply that ended well.
func (w *world) applied(st *state.State, f *found) error {
	for _, name := range names() {
		address := "run." + name
		r, known := st.Resources[address]
		if !known || r.Run == nil || r.Run.CurrentRun() == nil {
			f.unfinished++
			f.say("%s is not in the state", address)
			continue
		}
		ok := 0
		for _, run := range r.Run.Runs {
			if run.Holds() {
				f.unfinished++
				f.say("the state still holds something of %s: %s %s", address, run.ID, run.Phase)
			}
			if run.Phase == state.Succeeded {
				ok++
			}
		}
		switch run := r.Run.CurrentRun(); {
		case ok > 1:
			f.double++
			f.say("%s succeeded %d times", address, ok)
		case run.Phase != state.Succeeded || !run.Retrieved || run.ResultsDigest == "":
			f.unfinished++
			f.say("%s is %s %s, retrieved: %t", address, run.Phase, run.Reason, run.Retrieved)
		default:
			if err := w.compare(name, filepath.Join(w.dir, run.Dir), f); err != nil {
				return err
			}
		}
	}
	return nil
}

// destroyed checks that the state is empty and that what was done is here.
func (w *world) destroyed(st *state.State, done map[string]bool, f *found) error {
	for address := range st.Resources {
		f.unfinished++
		f.say("%s is still in the state", address)
	}
	for name := range done {
		dirs, err := filepath.Glob(filepath.Join(w.dir, "runs", name+"-*"))
		if err != nil {
			return err
		}
		best := found{lost: 1, what: []string{"run." + name + " was done and has no directory"}}
		for _, dir := range dirs {
			var here found
			if err := w.compare(name, dir, &here); err != nil {
				return err
			}
			if best = here; here.clean() {
				break
			}
		}
		f.lost += best.lost
		f.what = append(f.what, best.what...)
	}
	return nil
}

// compare checks a run's results, byte by byte.
func (w *world) compare(name, dir string, f *found) error {
	want, err := w.results(name)
	if err != nil {
		return err
	}
	for file, data := range want {
		got, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(file)))
		if err != nil || !bytes.Equal(got, data) {
			f.lost = 1
			f.say("%s of run.%s is not what the job wrote (%d bytes, %v)", file, name, len(got), err)
		}
	}
	return nil
}
