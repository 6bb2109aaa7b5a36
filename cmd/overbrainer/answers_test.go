package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/providers/runpod/sim"
	"github.com/overbrainer/overbrainer/state"
)

// answersCase is what must become of a file of collected API answers that the
// simulator gives as they are.
type answersCase struct {
	file     string
	sequence int
	// changes to the configuration: old text, new text.
	changes []string
	// before runs against a simulator that behaves.
	before func(*answersWorld)
	run    func(*answersWorld)
}

// TestAnswersFiles plays collected sequences of API answers, each in a project
// and an account of its own, and looks at what the built program makes of them.
func TestAnswersFiles(t *testing.T) {
	dir := answersDir(t)
	binary := build(t)
	for i, c := range slices.Concat(answersCases, podCases) {
		if testing.Short() && i%5 != 0 {
			continue
		}
		name := c.file
		if c.sequence > 0 {
			name += "/" + string(rune('0'+c.sequence))
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			newAnswersWorld(t, binary, c).play(filepath.Join(dir, c.file+".answers.json"))
		})
	}
}

// answersDir finds the collection of answers files, which is not part of the
// project.
func answersDir(t *testing.T) string {
	t.Helper()
	shared := os.Getenv("OVERBRAINER_SHARED")
	if shared == "" {
		shared = "../../../shared"
	}
	dir, err := filepath.Abs(filepath.Join(shared, "cases"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("the collection of answers files is not here: %v", err)
	}
	return dir
}

// answersWorld is a project with a simulator of its own.
type answersWorld struct {
	t       *testing.T
	c       answersCase
	binary  string
	dir     string
	environ []string
	sim     *sim.Client
	out     string // of the last command: standard output and error
}

// answersConfig is one run on one of two types.
const answersConfig = `
provider "runpod" { simulator = true }
target "gpu" {
  gpu_types         = ["NVIDIA GeForce RTX 4090", "NVIDIA A40"]
  data_centers      = ["EU-RO-1"]
  image             = "registry.example/train:1.0"
  container_disk_gb = 50
  ready_timeout     = "2m"
}
cap "small" {
  max_hours    = 2
  max_cost_usd = 3
}
run "train" {
  target  = target.gpu
  cap     = cap.small
  command = "mkdir -p output && echo good >output/x"
  outputs = ["output/**"]
}
output "spent_usd" { value = run.train.cost_usd }
`

func newAnswersWorld(t *testing.T, binary string, c answersCase) *answersWorld {
	t.Helper()
	root := t.TempDir()
	w := &answersWorld{t: t, c: c, binary: binary, dir: filepath.Join(root, "project")}
	vars := map[string]string{"HOME": filepath.Join(root, "home"), "XDG_STATE_HOME": filepath.Join(root, "home", "state")}
	for _, dir := range []string{w.dir, vars["HOME"]} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w.environ = []string{"PATH=" + os.Getenv("PATH") + ":/usr/sbin:/sbin", "OVERBRAINER_INPUT=0", "HOME=" + vars["HOME"], "XDG_STATE_HOME=" + vars["XDG_STATE_HOME"]}
	text := strings.NewReplacer(c.changes...).Replace(answersConfig)
	if err := os.WriteFile(filepath.Join(w.dir, "overbrainer.hcl"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stopSimulators(root) })
	w.must(0, "sim", "start", "-speed=20")
	var err error
	if w.sim, err = sim.Find(t.Context(), sim.Home(func(name string) string { return vars[name] }, w.dir)); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *answersWorld) play(file string) {
	if w.c.before != nil {
		w.c.before(w)
	}
	args := []string{"sim", "fault", "-file=" + file}
	if w.c.sequence > 0 {
		args = append(args, "-sequence="+string(rune('0'+w.c.sequence)))
	}
	w.must(0, args...)
	w.c.run(w)
}

// must runs the program and wants the exit code.
func (w *answersWorld) must(code int, args ...string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, w.binary, args...)
	cmd.Dir, cmd.Env = w.dir, append(w.environ, "OVERBRAINER_LOG=debug", "OVERBRAINER_LOG_PATH="+filepath.Join(w.dir, "debug.log"))
	out, err := cmd.CombinedOutput()
	w.out = string(out)
	if got := cmd.ProcessState.ExitCode(); got != code {
		w.t.Fatalf("overbrainer %s: exit code %d, not %d (%v)\n%s", strings.Join(args, " "), got, code, err, w.out)
	}
}

// says wants every pattern in what the last command said, line breaks and
// indents put away.
func (w *answersWorld) says(patterns ...string) {
	w.t.Helper()
	text := strings.Join(strings.Fields(w.out), " ")
	for _, p := range patterns {
		if !regexp.MustCompile(p).MatchString(text) {
			w.t.Errorf("it does not say %q:\n%s", p, w.out)
		}
	}
}

// calls are the requests of the client for an operation, in order.
func (w *answersWorld) calls(op string) []sim.Request {
	w.t.Helper()
	all, err := w.sim.Journal(w.t.Context(), 0)
	if err != nil {
		w.t.Fatal(err)
	}
	var out []sim.Request
	for _, r := range all {
		if r.Op == op && r.By == "account" {
			out = append(out, r)
		}
	}
	return out
}

// made wants so many create calls.
func (w *answersWorld) made(n int) {
	w.t.Helper()
	if got := len(w.calls("create pod")); got != n {
		w.t.Errorf("%d create calls, not %d", got, n)
	}
}

// asked is the GPU type of the nth create call.
func (w *answersWorld) asked(n int) string {
	w.t.Helper()
	var body struct{ GPU struct{ ID string } }
	if err := json.Unmarshal(w.calls("create pod")[n].Body, &body); err != nil {
		w.t.Fatal(err)
	}
	return body.GPU.ID
}

// empty wants an account that holds no pod and no secret.
func (w *answersWorld) empty() {
	w.t.Helper()
	st, err := w.sim.Status(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	if len(st.Pods)+len(st.Secrets) > 0 {
		w.t.Errorf("the account holds %+v %+v", st.Pods, st.Secrets)
	}
}

func (w *answersWorld) state() *state.State {
	w.t.Helper()
	st, err := state.Local(w.dir, "test").Read(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return st
}

// current is the run of run.train.
func (w *answersWorld) current() *state.Run {
	w.t.Helper()
	r := w.state().Resources["run.train"]
	if r == nil || len(r.Run.Runs) == 0 {
		w.t.Fatal("the state has no run.train")
	}
	return r.Run.Runs[len(r.Run.Runs)-1]
}

// ended wants how the run ended.
func (w *answersWorld) ended(phase state.Phase, reason state.Reason) {
	w.t.Helper()
	if run := w.current(); run.Phase != phase || run.Reason != reason {
		w.t.Errorf("the run is %s (%s), not %s (%s): %s", run.Phase, run.Reason, phase, reason, run.Message)
	}
}

// detached begins the run and leaves its job at work.
func detached(w *answersWorld) {
	w.must(0, "apply", "-auto-approve", "-detach")
}

// longJob keeps a pod at work.
var longJob = []string{"echo good >output/x", "sleep 600"}
