package main

import (
	"context"
	"fmt"
	"math"
	"os"

	"github.com/overbrainer/overbrainer/apply"
	"github.com/overbrainer/overbrainer/internal/ui"
	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/state"
)

// runRow is a run in `run list -json`.
type runRow struct {
	Address    string  `json:"address"`
	State      string  `json:"state"`
	Reason     string  `json:"reason"`
	ExitCode   *int    `json:"exit_code"`
	RunID      string  `json:"run_id"`
	PodID      string  `json:"pod_id"`
	GPUType    string  `json:"gpu_type"`
	DataCenter string  `json:"data_center"`
	CostUSD    float64 `json:"cost_usd"`
	CostBasis  string  `json:"cost_basis"`
	Seconds    float64 `json:"seconds"`
	// EndUnseen: nobody saw the job end, or would see it. Seconds is the most that it
	// took.
	EndUnseen bool   `json:"end_unseen,omitempty"`
	Dir       string `json:"dir"`
	// Waits: it has ended and its results are still on the pod.
	Waits bool `json:"results_on_pod"`
	// Elsewhere: who fetched them, where they are not in Dir here.
	Elsewhere  string `json:"results_elsewhere,omitempty"`
	retrieved  bool
	busy       string // who else works on it
	alone      bool   // its job was started, and nobody follows it
	keyLost    string // where it was and what to do, once nobody here can ask the run's pod
	unattended string // why somebody should work on its pod, where nobody does
	hour       string // what that bills
	// Overdue: its pod should have ended itself, and nobody looked whether it has.
	Overdue bool `json:"overdue"`
}

func runListCommand(a *app) *command {
	var asJSON, all bool
	return &command{
		name:     "run list",
		synopsis: "the runs, their state and what they cost",
		usage:    "[-json] [-all]",
		text: `Lists the run of every address, and older ones that still hold a pod or a
		secret. Older ones that hold nothing leave the state when the next one begins;
		their results stay in runs/. It reads the state only: a pod counts until it is
		known to be gone, and of one past its bounds it is said that nobody looked.`,
		example: "$ overbrainer run list\n$ overbrainer run list -json | jq -r '.[].dir'",
		register: func(f *flags) {
			f.boolean(&asJSON, "json", "an array of objects")
			f.boolean(&all, "all", "every run that the state still has")
		},
		run: func(ctx context.Context, _ []string) error {
			st, err := a.readState(ctx)
			if err != nil {
				return err
			}
			rows := a.runRows(st, all)
			if asJSON {
				return ui.JSONLine(a.out, rows)
			}
			return a.showRuns(rows)
		},
	}
}

// showRuns prints the runs for people.
func (a *app) showRuns(rows []runRow) error {
	t := ui.Table{
		Columns: []string{"ADDRESS", "STATE", "GPU", ">COST", ">TIME", "DIR"},
		Empty:   "There are no runs.",
	}
	for _, r := range rows {
		out := apply.RunOutcome{
			Dir: r.Dir, State: r.State, PodID: r.PodID, Retrieved: r.retrieved, Waits: r.Waits,
			Elsewhere: r.Elsewhere, Removed: r.Elsewhere == holder().Name(), CostUSD: r.CostUSD, Unknown: r.CostBasis == unknownCost,
		}
		words := ui.StateWords(r.State, r.Reason, r.ExitCode)
		if r.alone {
			words += ", not followed"
		}
		t.Add(r.Address, words, orDash(r.GPUType), ui.CostOf(out),
			ui.Took(r.Seconds, r.EndUnseen), ui.ResultsAt(out))
	}
	if err := t.Write(a.out, a.look(os.Stdout)); err != nil {
		return err
	}
	var left ui.Alike
	for _, r := range rows {
		if r.unattended != "" && r.busy == "" {
			left.Add(r.Address+" (pod "+r.PodID+")", fmt.Sprintf("%s; it may bill %s; overbrainer apply or destroy goes on", r.unattended, r.hour))
		}
	}
	for _, text := range left.Texts {
		fmt.Fprintf(a.err, "%s: %s\n", left.Names(text), text)
	}
	for _, r := range rows {
		if r.keyLost != "" {
			fmt.Fprintf(a.err, "%s: the private key of pod %s is not here: %s\n", r.Address, r.PodID, r.keyLost)
		}
		if r.Overdue && r.busy != "" {
			fmt.Fprintf(a.err, "%s: pod %s is past the last of its bounds; %s\n", r.Address, r.PodID, r.busy)
		} else if r.Overdue {
			fmt.Fprintf(a.err, "%s: pod %s is past the last of its bounds, and its cost counts on until it is known to be gone: overbrainer run attach %s looks\n", r.Address, r.PodID, r.RunID)
		}
	}
	return nil
}

func (a *app) runRows(st *state.State, all bool) []runRow {
	rows := []runRow{}
	busy := plan.OthersWork(st, holder(), a.now())
	for _, address := range st.Addresses() {
		r := st.Resources[address].Run
		if r == nil {
			continue
		}
		for _, run := range listed(r, all) {
			row := a.rowOf(address, run)
			if row.busy = busy[run.ID]; row.busy != "" {
				row.keyLost = "" // whoever works on it may have ended it since
			} else if run.Phase == state.Running {
				row.alone, row.EndUnseen = true, true
			}
			rows = append(rows, row)
		}
	}
	return rows
}

func (a *app) rowOf(address string, run *state.Run) runRow {
	now := a.now()
	row := runRow{
		Address: address, State: string(run.Phase), Reason: string(run.Reason), ExitCode: run.ExitCode,
		RunID: run.ID, PodID: run.PodID, GPUType: run.GPUType, DataCenter: run.DataCenter,
		CostUSD: run.SpentUSD(now), CostBasis: run.CostBasis,
		Seconds: math.Round(elapsed(run, now)*10) / 10, EndUnseen: run.EndUnseen, Dir: run.Dir, Waits: run.Waits(),
		Elsewhere: apply.Elsewhere(a.dir, run), retrieved: run.Retrieved,
	}
	if me := holder().Name(); apply.KeyLost(a.dir, run, me) {
		row.keyLost = apply.WhoHasKey(run, me) + "; " + apply.WithoutKey(address, run, me, apply.ErrNoKey)
	}
	switch {
	case run.Unanswered():
		row.CostBasis = unknownCost
	case row.CostBasis == "":
		row.CostBasis = "estimated"
	}
	if p := run.Pod; p != nil && row.PodID == "" {
		row.PodID, row.GPUType, row.DataCenter = p.ID, p.GPUType, p.DataCenter
	}
	if p := run.Pod; p != nil && !p.Gone() {
		t := apply.Production().Scaled(p.Speed)
		end, bounded := apply.LastEnd(run, t)
		row.Overdue = bounded && now.After(end.Add(t.GuardInterval))
		row.unattended, row.hour = unattended(run), apply.HourWords(p)
	}
	row.CostUSD = math.Round(row.CostUSD*1e6) / 1e6
	return row
}

// unknownCost is the basis of a cost that a pod may add to of which nobody knows.
const unknownCost = "unknown"

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
