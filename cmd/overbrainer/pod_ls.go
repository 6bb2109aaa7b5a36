package main

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/overbrainer/overbrainer/internal/money"
	"github.com/overbrainer/overbrainer/internal/safetext"
	"github.com/overbrainer/overbrainer/internal/ui"
	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/state"
)

// podRow is a pod in `pod ls -json`.
type podRow struct {
	RunID      string   `json:"run_id"` // "" where the pod does not say
	PodID      string   `json:"pod_id"`
	Address    string   `json:"address"`
	Status     string   `json:"status"`
	Kind       string   `json:"kind"`
	Orphan     bool     `json:"orphan"`
	GPUType    string   `json:"gpu_type"`
	GPUCount   int      `json:"gpu_count"`
	DataCenter string   `json:"data_center"`
	RateUSD    *float64 `json:"hourly_usd"`
	// MonthlyUSD is what a stopped pod's disk costs, where it is known.
	MonthlyUSD *float64   `json:"monthly_usd,omitempty"`
	CreatedAt  *time.Time `json:"created_at"`
	Note       string     `json:"note"`
	// Fix ends it.
	Fix string `json:"fix,omitempty"`
}

func podLsCommand(a *app) *command {
	return listing{
		name: "pod ls", synopsis: "the pods that overbrainer rented, and what they are for",
		text: `Lists every pod of the account that was rented by overbrainer, this project's
		or another's, with what this project's state knows of it, and the pods of the
		state that the account does not show any more. It changes nothing.`,
		example: "$ overbrainer pod ls",
		read: func(ctx context.Context, acc *account) (any, ui.Table, error) {
			t := ui.Table{Columns: []string{"RUN", "POD", "STATUS", "GPU", ">$/H", "CREATED", "NOTE"}, Empty: "There are no pods that overbrainer rented."}
			rows, pods, err := acc.listed(ctx)
			if err != nil {
				return nil, t, err
			}
			for _, r := range rows {
				rate, created := 0.0, "-"
				if r.RateUSD != nil {
					rate = *r.RateUSD
				}
				if r.CreatedAt != nil {
					created = r.CreatedAt.UTC().Format("2006-01-02 15:04")
				}
				t.Add(cellOf(r.RunID), cellOf(r.PodID), cellOf(r.Status), cellOf(r.GPUType), figure(rate), created, cellOf(r.Note))
			}
			orphanWarnings(acc.app, rows)
			secretWarnings(ctx, acc, pods)
			return rows, t, nil
		},
	}.command(a)
}

// listed judges the account's pods and those of the state.
func (acc *account) listed(ctx context.Context) ([]podRow, []providers.Pod, error) {
	list, err := acc.provider.ListPods(ctx)
	if err != nil {
		return nil, nil, err
	}
	// What runs is in the state before its pod is in the account, so a pod is
	// judged by the state as it is after the list.
	if acc.st, err = acc.store.Read(ctx); err != nil {
		return nil, nil, err
	}
	rows := stillThere(ctx, acc, acc.podRows(list.Pods))
	rows = append(rows, unseen(ctx, acc, list.Pods)...)
	slices.SortFunc(rows, func(x, y podRow) int {
		return cmp.Or(cmp.Compare(x.RunID, y.RunID), cmp.Compare(x.PodID, y.PodID))
	})
	return rows, list.Pods, nil
}

func cellOf(s string) string { return safetext.Cell(orDash(s), 64) }

// ours reports whether overbrainer rented the pod.
func ours(p providers.Pod) bool {
	return p.Marker.RunID != "" || strings.HasPrefix(p.Name, "overbrainer-")
}

func (acc *account) podRows(pods []providers.Pod) []podRow {
	rows := []podRow{}
	busy := plan.OthersWork(acc.st, holder(), acc.app.now())
	for _, p := range pods {
		if !ours(p) {
			continue
		}
		row := podRow{
			RunID: p.Marker.RunID, PodID: p.ID, Status: string(p.Status), GPUType: p.GPUType, GPUCount: p.GPUCount,
			DataCenter: p.DataCenter,
		}
		switch {
		case p.Status.Dead():
			row.RateUSD, row.MonthlyUSD = plan.StoppedUSD(p)
		case p.RatePerHour > 0:
			row.RateUSD = &p.RatePerHour
		}
		if !p.CreatedAt.IsZero() {
			row.CreatedAt = &p.CreatedAt
		}
		judge(&row, p, acc.st, busy[row.RunID])
		if p.Status.Dead() {
			row.Note = stoppedWords(row.MonthlyUSD) + "; " + row.Note
		}
		rows = append(rows, row)
	}
	return rows
}

// stoppedWords says that a pod is stopped, and what its disk costs.
func stoppedWords(monthly *float64) string {
	if monthly == nil {
		return "stopped, and still costs its disk"
	}
	return "stopped, its disk costs " + money.USD(*monthly) + " a month"
}

// stillThere leaves out what would be called nobody's and was deleted since it
// was listed.
func stillThere(ctx context.Context, acc *account, rows []podRow) []podRow {
	return slices.DeleteFunc(rows, func(r podRow) bool {
		if !r.Orphan {
			return false
		}
		_, err := acc.provider.GetPod(ctx, r.PodID)
		return providers.Is(err, providers.NotFound)
	})
}

// unattended says of the pod of a run, on which nobody works, why somebody should:
// no job runs on it. "" where that is not so.
func unattended(run *state.Run) string {
	switch pod := run.Pod; {
	case pod == nil || pod.Gone():
		return ""
	case pod.State == state.PodDeleting:
		return "its deletion has begun and nobody goes on with it"
	case run.Phase == state.Preparing && pod.State != state.PodLaunching:
		return "no job runs on it yet and nobody goes on with it"
	}
	return ""
}

// judge says what a pod is to this project's state. What somebody else works on,
// who, is theirs to end.
func judge(row *podRow, p providers.Pod, st *state.State, who string) {
	set := func(kind, note string, orphan bool, fix string) {
		if who != "" && fix != "" {
			note, orphan, fix = note+"; "+who, false, ""
		}
		row.Kind, row.Note, row.Orphan, row.Fix = kind, note, orphan, fix
	}
	if p.Marker.RunID == "" {
		set("no_marker", "no marker: delete it in the provider's console", true, "")
		return
	}
	rm := "overbrainer pod rm " + p.Marker.RunID
	if p.Marker.Lineage != "" && st.Lineage != "" && p.Marker.Lineage != st.Lineage {
		set("other_project", "of another project", false, "")
		return
	}
	address, run := st.FindRun(p.Marker.RunID)
	row.Address = address
	switch {
	case run == nil:
		set("not_in_runs", "no such run here; pod rm -force deletes it", true, rm+" -force")
	case run.Pod == nil || run.Pod.ID != p.ID || slices.ContainsFunc(run.Strays, func(s state.Stray) bool { return s.PodID == p.ID }):
		kind, note := "stray", "stray, not deleted"
		if run.Pod != nil && (run.Pod.State == state.PodKept || run.Pod.State == state.PodAwaiting) {
			kind, note = "stray_beside_kept", "stray beside a kept pod; pod rm deletes both"
		}
		set(kind, note, run.Phase.Ended() || run.Pod != nil, rm)
	case run.Pod.State == state.PodKept:
		set("kept", "kept", false, rm)
	case run.Pod.State == state.PodAwaiting:
		set("awaiting_retrieval", "its results wait to be collected", false, "overbrainer apply")
	case !run.Phase.Ended() && p.Status.Dead():
		set("stopped", "apply ends its run", false, "overbrainer apply")
	case !run.Phase.Ended() && unattended(run) != "" && who == "":
		set("unattended", unattended(run), true, "overbrainer destroy -target="+plan.ShellWord(address))
	case !run.Phase.Ended():
		set("in_progress", string(run.Phase), false, "")
	default:
		set("ended", string(run.Phase)+", not deleted", true, rm)
	}
}

// unseen looks up the pods of the state that the list does not show.
func unseen(ctx context.Context, acc *account, shown []providers.Pod) []podRow {
	seen := map[string]bool{}
	for _, p := range shown {
		seen[p.ID] = true
	}
	var rows []podRow
	look := func(address string, run *state.Run, id string) {
		if id == "" || seen[id] {
			return
		}
		seen[id] = true
		row := podRow{RunID: run.ID, PodID: id, Address: address, GPUType: run.GPUType}
		p, err := acc.provider.GetPod(ctx, id)
		switch {
		case err == nil:
			rows = append(rows, acc.podRows([]providers.Pod{p})...)
			return
		case providers.Is(err, providers.NotFound):
			row.Status, row.Kind, row.Note = "GONE", "gone", "gone; the next apply notes it"
		default:
			row.Status, row.Kind, row.Note = "UNCHECKED", "unchecked", "could not be looked up"
		}
		rows = append(rows, row)
	}
	acc.st.EachRun(func(address string, run *state.Run) {
		if r := acc.st.Resources[address]; r == nil || r.Provider != acc.name {
			return
		}
		if run.Pod != nil && !run.Pod.Gone() {
			look(address, run, run.Pod.ID)
		}
		for _, s := range run.Strays {
			look(address, run, s.PodID)
		}
	})
	return rows
}
