package plan

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/overbrainer/overbrainer/internal/money"
	"github.com/overbrainer/overbrainer/state"
)

// planGone makes the steps of what the state has and the configuration has
// not.
func (b *builder) planGone() {
	for _, addr := range b.st.Addresses() {
		r := b.st.Resources[addr]
		switch {
		case b.steps[addr] != nil:
		case r.Volume != nil:
			b.take(b.goneVolume(addr, r))
		default:
			b.take(b.goneRun(addr, r))
		}
	}
}

// goneRun ends what a run that left the configuration still has, or forgets
// it.
func (b *builder) goneRun(addr string, r *state.Resource) *Step {
	step := b.endRun(addr, r)
	removal := b.removal(addr)
	if step.Action == Destroy && removal != nil && !removal.Destroy {
		b.errorAt(removal.Range, addr+" cannot be forgotten",
			fmt.Sprintf("It still has %s, which would go on unknown. Set destroy = true, or wait until it has ended.", b.holdings(r.Run)))
	}
	if step.Action == Destroy {
		step.Reason = "left the configuration with " + b.holdings(r.Run) + "; what has ended is collected first"
	} else {
		step.Reason = "left the configuration and holds nothing; its directory stays"
	}
	return step
}

// endRun is the step that ends everything of an address.
func (b *builder) endRun(addr string, r *state.Resource) *Step {
	step := &Step{Address: addr, Type: "run", Name: nameOf(addr), Index: keyOf(addr), Action: Forget, ChangedInputs: []string{},
		RunID: r.Run.Current, Before: beforeRun(r.Run.CurrentRun()), After: json.RawMessage("null"), Reason: "holds nothing; its directory stays"}
	if b.holdings(r.Run) != "" {
		step.Action, step.Reason = Destroy, "has "+b.holdings(r.Run)+"; what has ended is collected first"
	}
	return step
}

// holdings says in words what the runs of an address still have.
func (b *builder) holdings(r *state.RunResource) string {
	var parts []string
	for _, run := range r.Runs {
		if !run.Holds() {
			continue
		}
		n := len(parts)
		if p := run.Pod; p != nil && !p.Gone() {
			parts = append(parts, b.podWords(run))
		}
		for _, s := range run.Strays {
			parts = append(parts, "stray pod "+s.PodID)
		}
		for _, a := range run.Attempts {
			if unfinished(a) {
				parts = append(parts, "a create call without a clear answer ("+a.Name+")")
			}
		}
		for _, s := range run.Secrets {
			parts = append(parts, "secret "+s.Name)
		}
		if len(parts) == n {
			parts = append(parts, "run "+run.ID+" under way")
		}
	}
	return strings.Join(parts, ", ")
}

func unfinished(a *state.Attempt) bool {
	return a.Result == state.AttemptSent || a.Result == state.AttemptAmbiguous
}

// planDestroy makes the steps that end everything of the project.
func (b *builder) planDestroy() {
	for _, addr := range b.st.Addresses() {
		r := b.st.Resources[addr]
		if r.Volume != nil {
			b.take(b.destroyVolume(addr, r))
			continue
		}
		step := b.endRun(addr, r)
		if run := b.in.Config.Run(addr); run != nil && run.Lifecycle.PreventDestroy && step.Action == Destroy && b.wanted(addr) {
			b.errorAt(run.Range, addr+" must not be destroyed",
				"lifecycle.prevent_destroy is set, and it has "+b.holdings(r.Run)+". Remove prevent_destroy, or limit the command with -target.")
		}
		b.take(step)
	}
}

func (b *builder) wanted(addr string) bool {
	return len(b.in.Targets) == 0 || namesAny(b.in.Targets, addr)
}

func (b *builder) destroyVolume(addr string, r *state.Resource) *Step {
	step := b.volumeStep(addr, r)
	v := r.Volume
	if c := b.in.Config.Volumes[addr]; c != nil {
		step.Volume.Retain = c.Retain
	}
	cost := "an unknown sum"
	if step.Cost.MonthlyUSD != nil {
		cost = money.USD(*step.Cost.MonthlyUSD)
	}
	step.Action = NoOp
	switch {
	case !v.Managed:
		step.Action, step.Reason = Forget, fmt.Sprintf("was adopted by its ID and is never deleted; it stays and costs %s a month", cost)
	case step.Volume.Retain:
		step.Reason = fmt.Sprintf("stays and costs %s a month: retain = true", cost)
	case !b.in.DestroyVolumes:
		step.Reason = fmt.Sprintf("stays and costs %s a month: -volumes deletes it", cost)
	default:
		step.Action, step.Reason = Destroy, "-volumes, and retain = false"
	}
	return step
}

// planRefresh makes the steps that only bring the state in line with what
// exists.
func (b *builder) planRefresh() {
	for _, addr := range b.st.Addresses() {
		r := b.st.Resources[addr]
		step := &Step{Address: addr, Name: nameOf(addr), Index: keyOf(addr), Action: NoOp, Reason: "as it was", ChangedInputs: []string{}}
		if r.Volume != nil {
			b.refreshVolume(step, r)
		} else {
			b.refreshRun(step, r)
		}
		b.take(step)
	}
}

func (b *builder) refreshVolume(step *Step, r *state.Resource) {
	v := r.Volume
	step.Type, step.Before, step.After = "volume", raw(v), raw(v)
	step.Volume = &VolumeSpec{ID: v.ID, Name: v.Name, SizeGB: v.SizeGB, DataCenter: v.DataCenter, Type: v.Type, Retain: v.Retain, Managed: v.Managed, Provider: r.Provider}
	if v.ID == "" || !b.account(r.Provider).hasVolumes {
		return
	}
	live := b.live(r.Provider, v.ID)
	switch {
	case live == nil:
		step.Action, step.Reason, step.After = Refresh, "volume "+v.ID+" is not in the account any more", json.RawMessage("null")
	case live.SizeGB != v.SizeGB:
		step.Action, step.Reason = Refresh, fmt.Sprintf("has %d GB, the state says %d", live.SizeGB, v.SizeGB)
		step.Volume.SizeGB = live.SizeGB
		step.After = raw(step.Volume)
	}
	step.Cost.MonthlyUSD = monthlyOf(step.Volume, live)
}

func (b *builder) refreshRun(step *Step, r *state.Resource) {
	step.Type = "run"
	run := r.Run.CurrentRun()
	step.Before, step.After = beforeRun(run), beforeRun(run)
	if run == nil {
		return
	}
	step.RunID = run.ID
	if run.Pod != nil && !run.Pod.Gone() && b.isLost(r.Provider, run) {
		step.Action, step.Reason = Refresh, "pod "+run.Pod.ID+" is not in the account any more"
		step.AfterUnknown = []string{"reason", "state"}
	}
}

// nameOf and keyOf take an address apart: run.sft["low"] is sft and low.
func nameOf(addr string) string {
	_, name, _ := strings.Cut(blockOf(addr), ".")
	return name
}

func keyOf(addr string) any {
	_, key, ok := strings.Cut(addr, "[")
	if !ok {
		return nil
	}
	key = strings.TrimSuffix(key, "]")
	if n, err := strconv.Atoi(key); err == nil {
		return n
	}
	if s, err := strconv.Unquote(key); err == nil {
		return s
	}
	return key
}

// podWords names a run's pod and what goes with it.
func (b *builder) podWords(run *state.Run) string {
	switch {
	case run.Waits():
		return fmt.Sprintf("pod %s with results that are not here yet (run %s %s)", run.Pod.ID, run.ID, outcome(run))
	case !run.Phase.Ended() && run.StartedAt != nil:
		since := run.Pod.Nominal(max(0, b.in.Now.Sub(*run.StartedAt))).Round(time.Second)
		return fmt.Sprintf("pod %s, where the job has run for %s (about %s so far) and is ended with what it has not saved", run.Pod.ID, since, money.USD(run.SpentUSD(b.in.Now)))
	}
	return "pod " + run.Pod.ID
}
