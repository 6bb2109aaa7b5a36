package main

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/providers/runpod/sim"
)

// guardConfig is a project with one run.
const guardConfig = `
provider "runpod" { simulator = true }
target "gpu" {
  gpu_types     = ["NVIDIA RTX 2000 Ada Generation", "NVIDIA RTX A4000"]
  ready_timeout = "TIMEOUT"
  image         = "runpod/pytorch:1.0.2-cu1281-torch280-ubuntu2404"
}
cap "small" {
  CAP
}
run "job" {
  target  = target.gpu
  cap     = cap.small
  outputs = ["output/**"]
  RUN
}
`

func configOf(timeout, limits, run string) string {
	return strings.NewReplacer("TIMEOUT", timeout, "CAP", limits, "RUN", run).Replace(guardConfig)
}

const (
	endless = "command = \"while :; do sleep 0.2; done\"\n"
	slow    = "max_hours = 100\nboot_grace = \"24h\"\n" // however long a busy machine takes to boot
	short   = "command = \"mkdir output; echo done >output/result\"\n"
)

// TestGuardEndsPods kills the client and waits for each rule of the pod's own
// guard to end the pod. The first delete of each is accepted and ignored, so
// that the guard's log can be read, and because no delete is to be trusted.
func TestGuardEndsPods(t *testing.T) {
	if testing.Short() {
		t.Skip("pods live for seconds")
	}
	binary := build(t)
	const speed = 120
	hours := func(real time.Duration) time.Duration { return real * speed }
	boots := func(*bench) bool { return true }
	runs := func(p *bench) bool { _, is := p.podFile("job.pid"); return is }
	// A machine that is too busy to start the job in time still ends the pod.
	soon := func(p *bench) bool { return runs(p) || time.Since(p.lives()[0].created) > 18*time.Second }
	retrieved := func(p *bench) bool { _, is := p.podFile(".pod/retrieved"); return is }
	cases := map[string]struct {
		limits, run string
		faults      []sim.Fault
		kill        func(*bench) bool // when the client is killed
		reason      string
		// least is how long after the pod's creation, or its job's end where
		// after says so, the first delete may come, in nominal time.
		least time.Duration
		after bool
	}{
		"deadline": {limits: "max_hours = 1\nboot_grace = \"24h\"", run: endless, kill: soon, reason: "deadline", least: time.Hour},
		"cost cap": {limits: slow + "max_cost_usd = 0.25", run: endless, kill: soon, reason: "cost_cap", least: time.Hour},
		"abandoned": {
			limits: slow + "retrieve_grace = \"20m\"", run: short + "keep_pod = \"10m\"", kill: runs,
			reason: "abandoned", least: 20 * time.Minute, after: true,
		},
		"never started, to be kept": {
			limits: "max_hours = 100\nboot_grace = \"20m\"", run: endless + "keep_pod = \"forever\"", kill: boots,
			reason: "never_started", least: 20 * time.Minute,
		},
		"bootstrap failed": {
			limits: "max_hours = 100", run: endless, kill: boots, reason: "bootstrap_failed",
			faults: []sim.Fault{{Name: "secret-unresolved"}}, least: 3 * time.Minute,
		},
		"retrieved": {
			limits: slow, run: short, kill: retrieved, reason: "retrieved",
			faults: []sim.Fault{{Name: "delete-500", By: "account", Times: -1}},
		},
		"keep_pod is over": {
			limits: slow, run: short + "keep_pod = \"30m\"", kill: retrieved, reason: "keep_over",
			least: 30 * time.Minute, after: true,
		},
	}
	shells := podShells(t)
	for name, c := range cases {
		for shell, program := range shells {
			t.Run(name+" under "+shell, func(t *testing.T) {
				t.Parallel()
				p := newBench(t, binary, configOf("24h", c.limits+"\n", c.run), speed, "-shell="+program)
				for _, f := range c.faults {
					p.fault(f)
				}
				p.fault(sim.Fault{Name: "delete-ignored", By: "pod"})
				apply := p.start("apply", "-auto-approve")
				p.until("a pod", 2*time.Minute, func() bool {
					if !apply.running() {
						t.Fatalf("apply ended:\n%s", apply)
					}
					return !p.gone()
				})
				log, ended := "", time.Time{}
				look := func() {
					if text, is := p.podFile(".pod/watchdog.log"); is {
						log = text
					}
					if _, is := p.podFile("exit_code"); is && ended.IsZero() {
						ended = time.Now()
					}
				}
				p.until("the moment to kill the client", 5*time.Minute, func() bool {
					look()
					if p.gone() {
						t.Fatalf("the pod is gone before its time:\n%s\n%s", log, apply)
					}
					return c.kill(p)
				})
				apply.kill()
				p.until("the end of the pod", 5*time.Minute, func() bool { look(); return p.gone() })

				if !strings.Contains(log, "delete reason="+c.reason+"\n") {
					t.Errorf("no delete because of %s:\n%s", c.reason, log)
				}
				var l *podLife
				p.until("the delete's answer", time.Minute, func() bool { l = p.lives()[0]; return !l.ended.IsZero() })
				if len(p.lives()) != 1 || l.endedBy != l.id || len(l.failed) == 0 {
					t.Fatalf("%d pods, %+v", len(p.lives()), *l)
				}
				first := l.failed[len(l.failed)-1]
				from := l.created.Truncate(time.Second)
				if c.after {
					from = ended.Add(-time.Second)
				}
				if lived := hours(first.Sub(from)); lived < c.least-hours(time.Second) {
					t.Errorf("deleted after %s, not %s", lived, c.least)
				}
			})
		}
	}
}

// podShells are what images have as their shell: name to program.
func podShells(t *testing.T) map[string]string {
	t.Helper()
	shells := map[string]string{}
	for _, name := range []string{"bash", "dash", "busybox"} {
		program, err := exec.LookPath(name)
		if err != nil {
			t.Fatalf("%v: make setup installs it", err)
		}
		shells[name] = program
	}
	return shells
}
