package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/state"
)

// secondIsUsed: the first offer is refused for a reason of its own.
func secondIsUsed(w *answersWorld) {
	w.must(0, "apply", "-auto-approve")
	w.made(2)
	if first, second := w.asked(0), w.asked(1); first == second {
		w.t.Errorf("asked twice for %s", first)
	}
	w.ended(state.Succeeded, "")
	w.empty()
}

// abandonedInBoot kills a client whose pod is still being provisioned.
func abandonedInBoot(w *answersWorld) {
	w.must(0, "sim", "fault", "pull-never")
	cmd := exec.Command(w.binary, "apply", "-auto-approve")
	cmd.Dir, cmd.Env = w.dir, w.environ
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.until("a pod in the state", func() bool {
		if _, err := os.Stat(filepath.Join(w.dir, "overbrainer.state.json")); err != nil {
			return false
		}
		r := w.state().Resources["run.train"]
		return r != nil && r.Run != nil && len(r.Run.Runs) > 0 && r.Run.Runs[0].Pod != nil
	})
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// until waits for what another process does.
func (w *answersWorld) until(what string, done func() bool) {
	w.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if done() {
			return
		}
	}
	w.t.Fatalf("no %s within a minute", what)
}

// olderThanAMinute waits until every pod is: a younger one that is not found
// may only be not visible yet.
func (w *answersWorld) olderThanAMinute() {
	w.t.Helper()
	w.until("pod of an age", func() bool {
		st, err := w.sim.Status(w.t.Context())
		if err != nil {
			w.t.Fatal(err)
		}
		for _, p := range st.Pods {
			at, err := time.Parse(time.RFC3339Nano, p.CreatedAt)
			if err != nil {
				w.t.Fatal(err)
			}
			if time.Since(at) < time.Minute/20+time.Second {
				return false
			}
		}
		return len(st.Pods) > 0
	})
}

func (w *answersWorld) podID() string {
	w.t.Helper()
	if p := w.current().Pod; p != nil {
		return p.ID
	}
	return w.current().PodID
}

// provenGone wants a read that answered 404 after each pod's delete.
func (w *answersWorld) provenGone() {
	w.t.Helper()
	for _, d := range w.calls("delete pod") {
		proven := false
		for _, r := range w.calls("read pod") {
			proven = proven || r.Seq > d.Seq && r.Status == 404 && strings.Contains(r.Path, d.Object)
		}
		if !proven {
			w.t.Errorf("pod %s was deleted and not looked for again", d.Object)
		}
	}
}

// forgotten wants a state without resources.
func (w *answersWorld) forgotten() {
	w.t.Helper()
	if left := w.state().Addresses(); len(left) > 0 {
		w.t.Errorf("the state still has %v", left)
	}
}

// TestEveryAnswersFileHasItsOutcome: no collected file of these kinds is left
// out.
func TestEveryAnswersFileHasItsOutcome(t *testing.T) {
	dir := answersDir(t)
	for _, kind := range []string{"money", "placement", "state", "destroy", "secrets", "plugin", "cap", "results", "job", "ready", "ssh"} {
		files, err := filepath.Glob(filepath.Join(dir, kind+"-*.answers.json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			name := strings.TrimSuffix(filepath.Base(file), ".answers.json")
			known := false
			for _, c := range slices.Concat(answersCases, podCases) {
				known = known || c.file == name
			}
			if !known {
				t.Errorf("%s has no outcome here", name)
			}
		}
	}
}
