package plan

import (
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/state"
)

// What a stopped pod's own disk costs, USD for a GB and month.
const stoppedGBMonth = 0.20

// podPrefix begins the name of every pod that overbrainer makes.
const podPrefix = "overbrainer-"

const sweepCommand = "overbrainer sweep"

// findLeftovers lists what exists, may bill, and is not what a step is about.
func (b *builder) findLeftovers() {
	about := map[string]bool{}
	for _, s := range b.p.Steps {
		if s.Action != NoOp && s.Action != Hold && s.RunID != "" {
			about[s.RunID] = true
		}
	}
	known := map[string]bool{} // pods that the state knows
	b.st.EachRun(func(addr string, run *state.Run) { b.leftoversOf(addr, run, about[run.ID], known) })
	for _, provider := range b.providersInUse() {
		if a := b.account(provider); a.pods != nil {
			for _, pod := range a.pods.Pods {
				if !known[pod.ID] {
					b.strangePod(pod)
				}
			}
			b.orphanedSecrets(provider)
		}
	}
	sort.SliceStable(b.p.Leftovers, func(i, j int) bool {
		x, y := b.p.Leftovers[i], b.p.Leftovers[j]
		if x.RunID != y.RunID {
			return x.RunID < y.RunID
		}
		if x.Kind != y.Kind {
			return x.Kind < y.Kind
		}
		return x.ID < y.ID
	})
}

// providersInUse are those of the configuration's targets and of the state.
func (b *builder) providersInUse() []string {
	set := map[string]bool{}
	for _, t := range b.in.Config.Targets {
		set[t.Provider] = true
	}
	for _, r := range b.st.Resources {
		set[r.Provider] = true
	}
	delete(set, "")
	return sortedKeys(set)
}

// leftoversOf lists what a run of the state still has. inStep: a step is about
// the run, so its pod is no leftover.
func (b *builder) leftoversOf(addr string, run *state.Run, inStep bool, known map[string]bool) {
	leave := func(kind, id, note string, hourly *float64, fix string) {
		b.p.Leftovers = append(b.p.Leftovers, Leftover{Kind: kind, RunID: run.ID, Address: addr, ID: id, Note: note, Hourly: hourly, Fix: fix})
	}
	remove := "overbrainer pod rm " + run.ID
	a := b.account(b.st.Resources[addr].Provider)

	live := run.Pod != nil && !run.Pod.Gone()
	if live {
		known[run.Pod.ID] = true
	}
	if live && run.Phase.Ended() && !inStep {
		hourly, stopped := b.billing(a, run.Pod)
		switch {
		case stopped:
			leave("stopped", run.Pod.ID, "is stopped and not deleted, run "+outcome(run), hourly, remove)
		case run.Pod.State == state.PodKept && !b.isLost(b.st.Resources[addr].Provider, run):
			leave("kept", run.Pod.ID, keptNote(run.Pod), hourly, remove)
		case a.pods != nil && a.pod(run.Pod.ID) == nil:
			leave("pod", run.Pod.ID, "is not in the account's list any more; the next apply proves it gone", usd(0), "overbrainer apply")
		default:
			leave("pod", run.Pod.ID, "was not deleted, run "+outcome(run), hourly, remove)
		}
	}
	for _, s := range run.Strays {
		known[s.PodID] = true
		leave("stray", s.PodID, "a pod of the run whose deletion was not confirmed", rateOrUnknown(s.RateUSD), remove)
	}
	for _, attempt := range run.Attempts {
		if unfinished(attempt) {
			b.unanswered(a, addr, run, attempt, known)
		}
	}
	if run.Phase.Ended() && !live && len(run.Strays) == 0 && !inStep {
		for _, s := range run.Secrets {
			leave("secret", s.Name, "an account secret that no pod needs any more", usd(0), sweepCommand)
		}
	}
}

func keptNote(p *state.Pod) string {
	if p.KeptUntil == nil {
		if p.CostCapAt != nil {
			return "is kept until it is destroyed or its cost cap ends it, by " + p.CostCapAt.UTC().Format(time.RFC3339)
		}
		return "is kept without an end"
	}
	return "is kept until " + p.KeptUntil.UTC().Format(time.RFC3339)
}

// billing is what a pod costs an hour, by the account where it was looked at,
// and whether it is stopped.
func (b *builder) billing(a *account, p *state.Pod) (hourly *float64, stopped bool) {
	if seen := a.pod(p.ID); seen != nil {
		if seen.Status.Dead() {
			return usd(0), true
		}
		if seen.RatePerHour > 0 {
			return usd(seen.RatePerHour + p.DiskUSD), false
		}
	}
	if p.RateUSD > 0 || p.Free {
		return usd(p.RateUSD + p.DiskUSD), false
	}
	return nil, false
}

func rateOrUnknown(rate float64) *float64 {
	if rate <= 0 {
		return nil
	}
	return usd(rate)
}

// unanswered reports a create call whose outcome is open: what the account
// shows of it, where that was looked at.
func (b *builder) unanswered(a *account, addr string, run *state.Run, attempt *state.Attempt, known map[string]bool) {
	l := Leftover{
		Kind: "unanswered", RunID: run.ID, Address: addr, ID: attempt.Name, Fix: "overbrainer apply", Hourly: rateOrUnknown(attempt.RateUSD),
		Note: "a create call of " + attempt.SentAt.UTC().Format(time.RFC3339) + " that was never answered clearly; the pod may exist, apply and destroy find out",
	}
	if run.Phase.Ended() {
		l.Fix = "overbrainer pod rm " + run.ID
	}
	if a.pods != nil {
		l.Note = "a create call that was never answered clearly; no pod of it is in the account now"
		l.Hourly = usd(0)
		for _, pod := range a.pods.Pods {
			if pod.Marker.RunID == run.ID && (pod.Marker.Attempt == attempt.Name || pod.Name == attempt.Name) {
				known[pod.ID] = true
				l.ID, l.Hourly = pod.ID, rateOrUnknown(pod.RatePerHour)
				l.Note = fmt.Sprintf("pod of the interrupted create call %s, %s; apply goes on with it or deletes it", attempt.Name, pod.Status)
			}
		}
	}
	b.p.Leftovers = append(b.p.Leftovers, l)
}

// StoppedUSD is what a stopped pod's own disk costs an hour and a month; nil
// where the account does not tell its size.
func StoppedUSD(p providers.Pod) (hourly, monthly *float64) {
	if p.PersistentGB <= 0 {
		return nil, nil
	}
	month := float64(p.PersistentGB) * stoppedGBMonth
	return usd(month / hoursPerMonth), usd(month)
}

// strangePod reports a pod of the account that no record here means.
func (b *builder) strangePod(pod providers.Pod) {
	if pod.Marker.RunID == "" && !strings.HasPrefix(pod.Name, podPrefix) {
		return
	}
	l := Leftover{Kind: "pod", RunID: pod.Marker.RunID, ID: pod.ID, Hourly: rateOrUnknown(pod.RatePerHour)}
	ours := b.st.Lineage != "" && pod.Marker.Lineage == b.st.Lineage
	addr, run := b.st.FindRun(pod.Marker.RunID)
	switch {
	case pod.Marker.RunID == "":
		l.Kind, l.Note = "foreign", "has overbrainer's name and no mark of a run; if it is nobody's, delete it in the provider's console"
	case !ours:
		l.Kind, l.Note = "foreign", "of another project or checkout; only reported"
	case run != nil:
		l.Kind, l.Address, l.Note, l.Fix = "stray", addr, "a second pod of the run", "overbrainer pod rm "+run.ID
	default:
		l.Note, l.Fix = "of this project, and its run is not in the state", "overbrainer pod rm "+pod.Marker.RunID+" -force"
	}
	if pod.Status.Dead() {
		if l.Kind != "foreign" {
			l.Kind = "stopped"
		}
		l.Note += "; it is stopped, and a stopped pod still costs its disk"
		l.Hourly, l.MonthlyUSD = StoppedUSD(pod)
	}
	b.p.Leftovers = append(b.p.Leftovers, l)
}
