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
// What the account shows is judged by the state as it is after the account was
// read: what another process rented or ended meanwhile is nothing left over.
func (b *builder) findLeftovers() {
	first := b.judge(b.st, nil)
	b.p.Leftovers = first.found
	if len(first.found) > 0 && b.in.Reread != nil {
		now, err := b.in.Reread(b.ctx)
		if err != nil {
			b.warn("what is left over could not be told", "The state could not be read a second time, after the account: "+err.Error())
			b.p.Leftovers = []Leftover{}
			return
		}
		b.p.Leftovers = b.judge(now, first).found
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

// leftoversOf lists what a run of the state still has.
func (j *judging) leftoversOf(addr string, run *state.Run) {
	inStep, who := j.about[run.ID], j.busy[run.ID]
	remove := "overbrainer pod rm " + run.ID
	leave := func(kind, id, note string, hourly *float64, fix string) {
		if who != "" {
			note, fix = note+"; "+who, ""
		}
		j.leave(Leftover{Kind: kind, RunID: run.ID, Address: addr, ID: id, Note: note, Hourly: hourly, Fix: fix})
	}
	provider := j.st.Resources[addr].Provider
	a := j.b.account(provider)

	live := run.Pod != nil && !run.Pod.Gone()
	if live {
		j.known[run.Pod.ID] = true
	}
	if live && run.Phase.Ended() && !inStep {
		hourly, stopped := j.b.billing(a, run.Pod)
		switch {
		case stopped:
			leave("stopped", run.Pod.ID, "is stopped and not deleted, run "+outcome(run), hourly, remove)
		case run.Pod.State == state.PodKept && !j.b.isLost(provider, run):
			leave("kept", run.Pod.ID, keptNote(run.Pod), hourly, remove)
		case a.pods != nil && a.pod(run.Pod.ID) == nil:
			leave("pod", run.Pod.ID, "is not in the account's list any more; the next apply proves it gone", usd(0), "overbrainer apply")
		case who != "":
			leave("pod", run.Pod.ID, "is not shown to be gone yet, run "+outcome(run), hourly, remove)
		default:
			leave("pod", run.Pod.ID, "was not deleted, run "+outcome(run), hourly, remove)
		}
	}
	for _, s := range run.Strays {
		j.known[s.PodID] = true
		leave("stray", s.PodID, "a pod of the run whose deletion was not confirmed", rateOrUnknown(s.RateUSD), remove)
	}
	for _, attempt := range run.Attempts {
		if unfinished(attempt) {
			j.unanswered(a, addr, run, attempt)
		}
	}
	if run.Phase.Ended() && !live && len(run.Strays) == 0 && !inStep && who == "" {
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
// shows of it, where that was looked at. One that somebody waits for is theirs.
func (j *judging) unanswered(a *account, addr string, run *state.Run, attempt *state.Attempt) {
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
				j.known[pod.ID] = true
				l.ID, l.Hourly = pod.ID, rateOrUnknown(pod.RatePerHour)
				l.Note = fmt.Sprintf("pod of the interrupted create call %s, %s; apply goes on with it or deletes it", attempt.Name, pod.Status)
			}
		}
	}
	if j.busy[run.ID] == "" {
		j.leave(l)
	}
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
func (j *judging) strangePod(pod providers.Pod) {
	if pod.Marker.RunID == "" && !strings.HasPrefix(pod.Name, podPrefix) {
		return
	}
	l := Leftover{Kind: "pod", RunID: pod.Marker.RunID, ID: pod.ID, Hourly: rateOrUnknown(pod.RatePerHour)}
	ours := j.st.Lineage != "" && pod.Marker.Lineage == j.st.Lineage
	addr, run := j.st.FindRun(pod.Marker.RunID)
	switch {
	case pod.Marker.RunID == "":
		l.Kind, l.Note = "foreign", "has overbrainer's name and no mark of a run; if it is nobody's, delete it in the provider's console"
	case !ours:
		l.Kind, l.Note = "foreign", "of another project or checkout; only reported"
	case run != nil && j.busy[run.ID] != "":
		l.Kind, l.Address, l.Note = "stray", addr, "a second pod of the run; "+j.busy[run.ID]
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
	j.leave(l)
}
