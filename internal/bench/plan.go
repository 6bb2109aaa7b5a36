package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/overbrainer/overbrainer/state"
)

// plans measures plans of 1, 1,000 and 10,000 runs by for_each against a
// simulator that runs already: new ones, ones that are all in the state, and
// ones that are and changed.
func plans(b *bench) {
	const job = "mkdir -p output && echo $KEY >output/key"
	sizes, kinds := []int{1, 1000, 10_000}, []string{"", "state-", "again-"}
	var things []func() usage
	for _, kind := range kinds {
		for _, n := range sizes {
			p := b.project(strconv.Itoa(n))
			p.write("overbrainer.hcl", hcl(n, job))
			p.simulate()
			args := []string{"plan"}
			if kind != "" {
				p.succeed()
			}
			switch kind {
			case "state-":
				args = append(args, "-detailed-exitcode") // fails where it is not all there
			case "again-":
				p.write("overbrainer.hcl", hcl(n, job+" # changed"))
			}
			things = append(things, func() usage { return b.program(p.command(args...)) })
		}
	}
	peer, havePeer := b.terraform()
	if havePeer {
		things = append(things, peer)
	}
	m := b.often(b.runs, things...)
	rows := [][]string{{"plan of", "time", "peak memory", "with state", "peak memory", "all again", "peak memory"}}
	for i, n := range sizes {
		row := []string{fmt.Sprint(n, " runs")}
		for k := range kinds {
			took := m[i+k*len(sizes)]
			row = append(row, show(took.wall), mb(took.rss))
		}
		rows = append(rows, row)
	}
	if havePeer {
		rows = append(rows, []string{"terraform, 1000", show(m[len(m)-1].wall), mb(m[len(m)-1].rss), "", "", "", ""})
	}
	b.table("Plan", rows...)
	if havePeer {
		b.goal("plan_1000", times("terraform", ratio(m[len(m)-1].wall, m[1].wall), 5))
	} else {
		b.goal("plan_1000", atMost("more", (m[1].wall-m[0].wall).Seconds(), 0.3, "s"))
	}
	var bounds []bound
	for i, how := range kinds {
		thousand, most := m[3*i+1], m[3*i+2]
		bounds = append(bounds,
			atMost(how+"time", ratio(most.wall, thousand.wall), 12, "x"),
			atMost(how+"memory", float64(most.rss)/float64(thousand.rss), 12, "x"),
			atMost(how+"rss", float64(most.rss)/1e6, 300, "MB"))
	}
	b.goal("plan_growth", bounds...)
}

// planned is what is needed of a plan in JSON to write down that all of it was
// done.
type planned struct {
	Steps []struct {
		Address string `json:"address"`
		Run     struct {
			Provider    string                   `json:"provider"`
			Fingerprint string                   `json:"fingerprint"`
			Target      struct{ Address string } `json:"target"`
			Cap         struct{ Address string } `json:"cap"`
			Command     []string                 `json:"command"`
			Env         map[string]string        `json:"env"`
			Inputs      map[string]string        `json:"inputs"`
			Outputs     []string                 `json:"outputs"`
			Try         int                      `json:"try"`
		} `json:"run"`
	} `json:"resource_changes"`
}

// succeed makes a state in which every run of the configuration has succeeded,
// with one small result each, as after an apply.
func (p *project) succeed() {
	text, err := p.command("plan", "-json").Output()
	p.b.must(err)
	var pl planned
	p.b.must(json.Unmarshal(text, &pl))
	at := time.Now().Add(-time.Hour).UTC()
	_, err = state.Local(p.dir, "bench").Update(p.b.ctx, func(st *state.State) error {
		for i, step := range pl.Steps {
			id := fmt.Sprintf("sweep-20260101-%05d", i)
			run := &state.Run{
				ID: id, Phase: state.Succeeded, Fingerprint: step.Run.Fingerprint, Try: 1, Dir: "runs/" + id,
				Target: step.Run.Target.Address, CreatedAt: at, StartedAt: &at, EndedAt: &at, Seconds: 20,
				Bounds: state.Bounds{Cap: step.Run.Cap.Address, Where: "overbrainer.hcl:12", MaxHours: 1, MaxCostUSD: 5, BootGraceS: 1800, RetrieveGrace: 3600},
				Job:    state.Job{Outputs: step.Run.Outputs, Metrics: "metrics.jsonl"},
				Attempts: []*state.Attempt{{Name: "overbrainer-" + id + "-1", GPUType: "NVIDIA A40", SentAt: at, Deadline: &at,
					Result: state.AttemptCreated, PodID: fmt.Sprintf("pod%011d", i), RateUSD: 0.4, EndedAt: &at, CostUSD: 0.01}},
				CostUSD: 0.01, CostBasis: "estimated", Settled: true, Retrieved: true, GPUType: "NVIDIA A40", DataCenter: "EU-RO-1",
				HostKey: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEmptyEmptyEmptyEmptyEmptyEmptyEmptyEmptyEmpt", KeySource: "file", Holder: "somebody@bench",
			}
			p.result(run)
			st.Resources[step.Address] = &state.Resource{Type: "run", Provider: step.Run.Provider, Run: &state.RunResource{Current: id, Runs: []*state.Run{run}}}
		}
		return nil
	})
	p.b.must(err)
}

// result writes a run's only result and its run.json.
func (p *project) result(run *state.Run) {
	const name = "output/key"
	text := run.ID + "\n"
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
	listed := sha256.Sum256(fmt.Appendf(nil, "%s %d %s\n", sum, len(text), name))
	p.write(run.Dir+"/"+name, text)
	p.write(run.Dir+"/run.json", fmt.Sprintf(`{"files":[{"path":%q,"size":%d,"sha256":%q}]}`, name, len(text), sum))
	run.ResultsDigest, run.ResultFiles, run.ResultBytes = hex.EncodeToString(listed[:]), 1, int64(len(text))
}

// terraform plans 1,000 resources of the provider that is built into it.
func (b *bench) terraform() (func() usage, bool) {
	for _, name := range []string{"terraform", "tofu"} {
		program, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		p := b.project("-" + name)
		p.write("main.tf", `resource "terraform_data" "sweep" {
  for_each = { for k in flatten([for i in range(100) : [for j in range(10) : format("k%04d%d", i, j)]]) : k => "rate of ${k}" }
  input    = { command = ["sh", "-c", "true"], key = each.key, rate = upper(each.value) }
}
`)
		command := func(args ...string) *exec.Cmd {
			cmd := exec.CommandContext(b.ctx, program, args...)
			cmd.Dir, cmd.Env = p.dir, append([]string{"CHECKPOINT_DISABLE=1", "TF_DATA_DIR=" + filepath.Join(p.dir, ".data")}, p.environ...)
			return cmd
		}
		b.program(command("init", "-input=false", "-no-color"))
		return func() usage { return b.program(command("plan", "-input=false", "-no-color")) }, true
	}
	return nil, false
}
