package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"

	"github.com/overbrainer/overbrainer/state"
)

// A job that says that it is alive until something ends it.
var aliveJob = []string{"echo good >output/x", `while :; do echo alive; echo '{\"step\":1}' >>metrics.jsonl; sleep 0.2; done`}

// podCases say what must hold after the files about pods that do not get ready
// or go away.
var podCases = []answersCase{
	{file: "cap-balance-runs-out", changes: aliveJob, run: func(w *answersWorld) {
		w.must(0, "plan")
		w.must(1, "apply", "-auto-approve")
		w.ended(state.Failed, state.TakenAway)
		w.keeps("job.log", "alive")
		w.made(1)
		w.must(1, "apply", "-auto-approve")
		w.ended(state.Failed, state.NoCredits)
		w.says("balance")
		w.made(2)
		w.empty()
	}},
	{file: "job-taken-away", changes: aliveJob, run: func(w *answersWorld) {
		w.must(1, "apply", "-auto-approve")
		w.ended(state.Failed, state.TakenAway)
		w.says(`EXITED`)
		w.keeps("job.log", "alive")
		w.empty()
		w.must(0, "plan")
		w.says(`run\.train run again because failed \(taken_away\); no snapshot of it is here, so the job begins anew; try 2`)
	}},
	{file: "results-pod-vanishes", changes: aliveJob, run: func(w *answersWorld) {
		w.must(1, "apply", "-auto-approve")
		w.ended(state.Failed, state.Lost)
		w.keeps("job.log", "alive")
		w.keeps("metrics.jsonl", "step")
		if run := w.current(); run.CostUSD <= 0 || run.Retrieved {
			w.t.Errorf("cost %v, retrieved %t", run.CostUSD, run.Retrieved)
		}
		w.made(1)
		w.empty()
	}},
	{file: "ready-cuda-too-old", changes: []string{`ready_timeout     = "2m"`, "min_cuda = \"12.8\""}, run: func(w *answersWorld) {
		w.must(0, "apply", "-auto-approve")
		w.made(2)
		for _, c := range w.calls("create pod") {
			if !bytes.Contains(c.Body, []byte(`"minCudaVersion":"12.8"`)) {
				w.t.Errorf("asked without a CUDA version: %s", c.Body)
			}
		}
		w.says(`its CUDA is 12\.4, at least 12\.8 was asked`)
		w.ended(state.Succeeded, "")
		w.empty()
	}},
	{file: "ready-deleted-elsewhere", run: func(w *answersWorld) {
		w.must(1, "apply", "-auto-approve")
		w.ended(state.Failed, state.Lost)
		w.says("deleted by somebody else")
		w.made(1)
		w.must(0, "plan")
		w.says(`run\.train run again`)
		if strings.Contains(w.out, "Left over") {
			w.t.Errorf("it tells of a pod:\n%s", w.out)
		}
		w.empty()
	}},
	{file: "ready-disk-too-small", changes: []string{"= 50", "= 20"}, run: func(w *answersWorld) {
		w.must(1, "apply", "-auto-approve")
		w.ended(state.Failed, state.NotReady)
		w.says(`no space left on device.*its disk has 20 GB, container_disk_gb makes it larger`)
		w.provenGone()
		w.empty()
	}},
	{file: "ready-listing-gap", changes: longJob, run: func(w *answersWorld) {
		w.must(0, "apply", "-auto-approve", "-detach")
		w.must(0, "run", "list")
		w.says(`run\.train .*running`)
		w.must(0, "plan")
		w.says("attach to it")
		w.made(1)
		w.must(0, "sim", "fault", "-clear")
		w.must(0, "destroy", "-auto-approve")
		w.empty()
	}},
	{file: "ready-running-but-not-yet", changes: []string{`"2m"`, `"15m"`}, run: func(w *answersWorld) {
		w.must(0, "apply", "-auto-approve", "-json")
		if n := strings.Count(w.out, `"waiting for the pod for `); n < 10 {
			w.t.Errorf("said %d times what is waited for:\n%s", n, w.out)
		}
		w.ended(state.Succeeded, "")
		w.made(1)
		w.empty()
	}},
	{file: "ssh-proxy-only", run: func(w *answersWorld) {
		w.must(1, "apply", "-auto-approve")
		w.ended(state.Failed, state.NotReady)
		w.says("no address for direct SSH")
		if body := w.calls("create pod")[0].Body; !bytes.Contains(body, []byte(`"22/tcp"`)) {
			w.t.Errorf("no SSH was asked for: %s", body)
		}
		w.empty()
	}},
}

// keeps wants a text in a file that the run left here.
func (w *answersWorld) keeps(name, text string) {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.dir, w.current().Dir, name))
	if err != nil || !strings.Contains(string(data), text) {
		w.t.Errorf("%s: %q, %v", name, data, err)
	}
}
