package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/overbrainer/overbrainer/state"
)

// answersCases says what must hold after each file.
var answersCases = []answersCase{
	// Money: whatever the answers say, nothing bills that is not known.
	{file: "money-create-500-pod-exists", run: func(w *answersWorld) {
		w.must(0, "apply", "-auto-approve")
		w.made(1)
		w.ended(state.Succeeded, "")
		w.empty()
	}},
	{file: "money-create-answer-lost", run: func(w *answersWorld) {
		w.must(0, "apply", "-auto-approve")
		w.made(1)
		w.ended(state.Succeeded, "")
		w.empty()
	}},
	{file: "money-ready-timeout", run: func(w *answersWorld) {
		w.must(1, "apply", "-auto-approve")
		w.made(2)
		w.ended(state.Failed, state.NotReady)
		w.says(`not ready after 2m`)
		w.provenGone()
		w.empty()
	}},
	{file: "money-delete-unreachable", run: func(w *answersWorld) {
		w.must(1, "apply", "-auto-approve")
		w.says(`pod `+w.podID()+` is not proven deleted and may go on billing at \$0\.4\d+ an hour`, `ends with: overbrainer`)
		if p := w.current().Pod; p == nil || p.Gone() {
			w.t.Errorf("the state forgot the pod: %+v", p)
		}
		w.must(0, "destroy", "-auto-approve")
		w.forgotten()
		w.empty()
	}},
	{file: "money-delete-500-twice", changes: longJob, before: detached, run: func(w *answersWorld) {
		w.must(0, "destroy", "-auto-approve")
		if n := len(w.calls("delete pod")); n != 3 {
			w.t.Errorf("%d delete calls, not 3", n)
		}
		w.forgotten()
		w.empty()
	}},
	{file: "money-destroy-while-provisioning", before: abandonedInBoot, run: func(w *answersWorld) {
		w.must(0, "destroy", "-auto-approve")
		w.forgotten()
		w.empty()
	}},
	{file: "money-stopped-pods-bill", before: func(w *answersWorld) {
		w.must(0, "apply", "-auto-approve")
	}, run: func(w *answersWorld) {
		w.must(0, "plan")
		w.says(`(?s)stopped .*\$0\.\d+ a day, \$24\.00 a month.*stopped .*\$24\.00 a month`, `ends with: overbrainer`)
		w.must(0, "pod", "ls")
		w.says(`(?s)EXITED.*EXITED`, `\$0\.\d+ a day, \$24\.00 a month`, `ends with: overbrainer`)
		w.must(0, "destroy", "-auto-approve")
		w.forgotten()
		w.empty()
	}},
	{file: "money-boot-attempts-count", run: func(w *answersWorld) {
		w.must(1, "apply", "-auto-approve")
		w.made(2)
		w.says(`NVIDIA GeForce RTX 4090: it was not ready after 2m.*NVIDIA A40: it was not ready after 2m.*the attempts cost \$0\.0[2-9]`)
		sum := 0.0
		run := w.current()
		for _, a := range run.Attempts {
			sum += a.CostUSD
		}
		if len(run.Attempts) != 2 || sum < 0.02 || run.CostUSD < sum-0.001 {
			w.t.Errorf("%d attempts cost %.4f together, the run %.4f", len(run.Attempts), sum, run.CostUSD)
		}
		w.empty()
	}},
	{file: "money-fresh-pod-404", run: func(w *answersWorld) {
		w.must(0, "apply", "-auto-approve")
		w.made(1)
		w.ended(state.Succeeded, "")
		w.empty()
	}},

	// Placement: the reason that is given is the right one.
	{file: "placement-400-means-two-things", sequence: 1, run: func(w *answersWorld) {
		w.must(1, "apply", "-auto-approve")
		w.made(2)
		w.says(`the request itself is the likely cause: ports: "22" is not a valid port mapping`)
		w.ended(state.Failed, state.RequestRefused)
		w.empty()
	}},
	{file: "placement-400-means-two-things", sequence: 2, run: secondIsUsed},
	{file: "placement-400-means-two-things", sequence: 3, run: func(w *answersWorld) {
		w.must(1, "apply", "-auto-approve")
		w.made(1)
		w.says(`\$\.disk: must be >= 1`)
		w.empty()
	}},
	{file: "placement-402-403-429", sequence: 1, run: func(w *answersWorld) {
		w.must(1, "apply", "-auto-approve")
		w.made(1)
		w.says(`balance`)
		w.ended(state.Failed, state.NoCredits)
		w.empty()
	}},
	{file: "placement-402-403-429", sequence: 2, run: func(w *answersWorld) {
		secondIsUsed(w)
		w.says(`NVIDIA GeForce RTX 4090: .*not open to the account`)
	}},
	{file: "placement-402-403-429", sequence: 3, run: func(w *answersWorld) {
		w.must(0, "apply", "-auto-approve")
		w.made(2)
		calls := w.calls("create pod")
		if waited := calls[1].Time.Sub(calls[0].Time); waited < 1900*time.Millisecond || w.asked(0) != w.asked(1) {
			w.t.Errorf("asked for %s, and after %s for %s", w.asked(0), waited, w.asked(1))
		}
		w.empty()
	}},
	{file: "placement-zero-gpus", run: func(w *answersWorld) {
		w.must(1, "apply", "-auto-approve")
		w.says(`it has 0 of 1 GPU`)
		w.ended(state.Failed, state.PlacementMismatch)
		if found, _ := filepath.Glob(filepath.Join(w.dir, "runs", "*", "job.log")); len(found) > 0 {
			w.t.Errorf("the job began: %v", found)
		}
		w.empty()
	}},
	{file: "placement-container-refused", run: func(w *answersWorld) {
		w.must(1, "apply", "-auto-approve")
		w.says(`waiting for the pod for 2\ds: .*invalid mount config`, `the container's last word: "error creating container: invalid mount config"`)
		w.empty()
	}},
	{file: "placement-double-space", changes: []string{`["NVIDIA GeForce RTX 4090", "NVIDIA A40"]`, `["NVIDIA RTX A4500"]`}, run: func(w *answersWorld) {
		w.must(0, "plan")
		w.out = strings.ReplaceAll(w.out, `"NVIDIA  RTX A4500"`, "THE-OTHER")
		w.says(`"NVIDIA RTX A4500" is not in stock`, `also lists THE-OTHER`)
	}},

	// Destroy: nothing stays unknown.
	{file: "destroy-already-gone", changes: []string{`run "train" {`, `run "train" {
  for_each = toset(["a", "b"])`, "echo good >output/x", "sleep 600", "run.train.cost_usd", "0"}, before: func(w *answersWorld) {
		detached(w)
		w.olderThanAMinute()
	}, run: func(w *answersWorld) {
		w.must(0, "plan")
		w.says(`its pod \S+ is not in the account any more`)
		w.must(0, "destroy", "-auto-approve")
		w.forgotten()
		w.empty()
	}},
	{file: "destroy-leftovers-stay-known", changes: []string{`run "train" {`, `volume "data" {
  data_center = "EU-RO-1"
  size_gb     = 20
  retain      = false
}
run "train" {`, `["EU-RO-1"]`, `["EU-RO-1"]
  volume = volume.data`, "echo good >output/x", "sleep 600"}, before: detached, run: func(w *answersWorld) {
		w.must(1, "destroy", "-auto-approve", "-volumes")
		w.says(`volume .* goes on costing \$1\.40 a month`)
		w.empty()
		if w.state().Resources["volume.data"] == nil {
			w.t.Error("the state forgot the volume")
		}
		w.must(0, "destroy", "-auto-approve", "-volumes")
		w.forgotten()
	}},

	// Secrets: an answer's own text is in nothing that is said or kept.
	{file: "secrets-in-timeout-error", run: func(w *answersWorld) {
		w.must(1, "apply", "-auto-approve")
		w.says(`not ready after 2m\S*: the pod is STARTING`, `deleting pod [a-z0-9]{14} \(not ready\)`)
		if strings.Contains(w.out, "CANARY") {
			w.t.Errorf("it says the canary:\n%s", w.out)
		}
		if found, err := exec.Command("grep", "-r", "CANARY", w.dir).CombinedOutput(); err == nil {
			w.t.Errorf("kept: %s", found)
		}
		w.empty()
	}},
}
