package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/overbrainer/overbrainer/apply"
	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/providers/providertest"
	"github.com/overbrainer/overbrainer/state"
)

// states lets the engine live 1,000 runs on a provider in memory whose pods are
// done at once: what is left is the engine's own work and the state's. They go
// all at a time; what the default of ten at a time costs is shown for a hundred
// of them.
func states(b *bench) {
	rows := [][]string{{"runs", "at a time", "engine's time", "writes", "bytes written", "state's size", "written / size"}}
	var last life
	for _, c := range []struct{ runs, parallelism int }{{100, 10}, {100, 100}, {1000, 1000}} {
		var lives []life
		for range b.bigRuns {
			lives = append(lives, b.live(c.runs, c.parallelism))
		}
		slices.SortFunc(lives, func(x, y life) int { return cmp.Compare(x.wall, y.wall) })
		last = lives[(len(lives)-1)/2]
		rows = append(rows, []string{fmt.Sprint(c.runs), fmt.Sprint(c.parallelism), show(last.wall), fmt.Sprint(last.writes), mb(last.written), mb(last.size), fmt.Sprintf("%.1f", last.times())})
	}
	b.table(fmt.Sprintf("State: whole lives on instant pods in memory (median of %d)", b.bigRuns), rows...)
	b.goal("state_1000", atMost("written", last.times(), 40, "x"), atMost("time", last.wall.Seconds(), 5, "s"))
}

// times is how many times the state was written, in bytes.
func (l life) times() float64 { return float64(l.written) / float64(l.size) }

// life is what it took to live all runs.
type life struct {
	wall    time.Duration
	writes  uint64
	written int64 // bytes, of this whole process
	size    int64 // of the state in the end
}

func (b *bench) live(runs, parallelism int) life {
	dir := b.TempDir()
	mem := providertest.NewMemory()
	// A pod that never says anything has no log to be waited for.
	mem.Description.Capabilities = []providers.Capability{providers.CapSecrets, providers.CapGuard}
	pods := &instantPods{}
	mem.Boot = pods.boot
	engine := &apply.Engine{
		Store: state.Local(dir, "bench"), Dial: pods.dial, Keys: apply.FileKeys{}, Now: time.Now, Project: dir,
		Providers: map[string]apply.Rented{"memory": {Provider: mem, Description: mem.Description, Configured: mem.Configured}},
		Program:   func(apply.PodSpec) ([]string, map[string]string, error) { return []string{"bash"}, nil, nil },
		Emit:      func(apply.Event) {},
		Who:       state.ClaimHolder{Who: "bench", Host: "here", PID: os.Getpid(), Process: "bench", Alive: func(int, string) bool { return true }},
		Version:   "bench", Parallelism: parallelism,
	}
	before, began := bytesWritten(b), time.Now()
	out, err := engine.Apply(b.ctx, sweep(runs), apply.Options{})
	l := life{wall: time.Since(began), written: bytesWritten(b) - before}
	b.must(err)
	if out.Class != apply.OK || len(out.Runs) != runs {
		b.Fatalf("the engine ended with %v, %d runs, %v", out.Class, len(out.Runs), errors.Join(out.Errors...))
	}
	st, err := engine.Store.Read(b.ctx)
	b.must(err)
	info, err := os.Stat(filepath.Join(dir, state.FileName))
	b.must(err)
	l.writes, l.size = st.Serial, info.Size()
	for address, r := range st.Resources {
		if run := r.Run.CurrentRun(); run == nil || run.Phase != state.Succeeded || !run.Retrieved || run.Holds() {
			b.Fatalf("%s did not live to its end: %+v", address, run)
		}
	}
	return l
}

// bytesWritten is what this process gave to write calls so far.
func bytesWritten(b *bench) int64 {
	data, err := os.ReadFile("/proc/self/io")
	b.must(err)
	for line := range strings.Lines(string(data)) {
		var n int64
		if _, err := fmt.Sscanf(line, "wchar: %d", &n); err == nil {
			return n
		}
	}
	b.Fatal("/proc/self/io does not tell what was written")
	return 0
}

// sweep is a plan of so many runs.
func sweep(runs int) *plan.Plan {
	p := &plan.Plan{Offers: map[string][]plan.Offer{}}
	price := 0.44
	for i := range runs {
		key := fmt.Sprintf("k%05d", i)
		address := fmt.Sprintf("run.sweep[%q]", key)
		p.Steps = append(p.Steps, &plan.Step{Address: address, Type: "run", Name: "sweep", Index: key, Action: plan.Run, Run: &plan.RunSpec{
			Provider: "memory", Fingerprint: strings.Repeat("f", 64), Command: []string{"sh", "-c", "true"}, Outputs: []string{"output/**"},
			Env: map[string]string{"KEY": key}, Metrics: "metrics.jsonl", Inputs: plan.Inputs{Own: map[string]string{"command": strings.Repeat("c", 64)}}, Try: 1,
			Target: plan.TargetSpec{Address: "target.gpu", GPUTypes: []string{"NVIDIA A40"}, GPUCount: 1, Cloud: "secure", Image: "image", DiskGB: 50, ReadyTimeoutS: 900, InstallSSHD: true},
			Cap:    plan.CapSpec{Address: "cap.small", Where: "overbrainer.hcl:10", MaxHours: 6, BootGraceS: 1800, RetrieveGraceS: 3600},
		}})
		p.Offers[address] = []plan.Offer{{GPUType: "NVIDIA A40", GPUCount: 1, Cloud: "secure", PriceUSD: &price, Stock: "high"}}
	}
	return p
}
