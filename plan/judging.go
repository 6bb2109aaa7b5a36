package plan

import (
	"fmt"
	"maps"
	"time"

	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/state"
)

// judging tells by one state what of the account is left over.
type judging struct {
	b     *builder
	st    *state.State
	first *judging          // by the state from before the account was read; nil: this is it
	about map[string]bool   // runs that a step is about: their pods are no leftovers
	busy  map[string]string // by run: who works on it, where that is somebody else
	known map[string]bool   // pods that the state knows
	found []Leftover
}

func (j *judging) leave(l Leftover) { j.found = append(j.found, l) }

// judge finds what is left over by a state. first is what was found by the one
// from before the account was read.
func (b *builder) judge(st *state.State, first *judging) *judging {
	j := &judging{
		b: b, st: st, first: first, busy: OthersWork(st, b.in.Holder, b.in.Now),
		about: map[string]bool{}, known: map[string]bool{}, found: []Leftover{},
	}
	if first != nil {
		j.st = movable(st)
		for _, m := range b.p.Moves {
			if r := j.st.Resources[m.From]; r != nil {
				j.st.Resources[m.To] = r
				delete(j.st.Resources, m.From)
			}
		}
		// What was there before and is not any more has ended meanwhile.
		maps.Copy(j.known, first.known)
	}
	for _, s := range b.p.Steps {
		if s.Action != NoOp && s.Action != Hold && !s.Begins() && s.RunID != "" {
			j.about[s.RunID] = true
		}
	}
	j.st.EachRun(j.leftoversOf)
	if first != nil {
		j.found = onlyOf(j.found, first.st)
	}
	for _, provider := range b.providersInUse() {
		a := b.account(provider)
		if a.pods == nil {
			continue
		}
		for _, pod := range a.pods.Pods {
			if !j.known[pod.ID] && !j.begunSince(pod) {
				j.strangePod(pod)
			}
		}
		j.orphanedSecrets(provider)
	}
	return j
}

// onlyOf keeps what is of runs that the earlier state has, too. Of those that
// began since, the next plan tells: this one has no steps for them.
func onlyOf(found []Leftover, earlier *state.State) []Leftover {
	kept := []Leftover{}
	for _, l := range found {
		if _, run := earlier.FindRun(l.RunID); run != nil {
			kept = append(kept, l)
		}
	}
	return kept
}

// begunSince reports whether a pod is of a run, or of a create call, that the
// earlier state does not have and this one has: it may have come and gone while
// the account was read.
func (j *judging) begunSince(pod providers.Pod) bool {
	if j.first == nil {
		return false
	}
	_, now := j.st.FindRun(pod.Marker.RunID)
	_, then := j.first.st.FindRun(pod.Marker.RunID)
	return now != nil && (then == nil || made(now, pod) && !made(then, pod))
}

// made reports whether a create call of the run is the pod's and was answered.
func made(run *state.Run, pod providers.Pod) bool {
	for _, a := range run.Attempts {
		if !unfinished(a) && (a.PodID == pod.ID || a.Name == pod.Marker.Attempt) {
			return true
		}
	}
	return false
}

// OthersWork says by run who works on it, where that is somebody else who still
// lives: what those runs have is theirs to end.
func OthersWork(st *state.State, holder state.ClaimHolder, now time.Time) map[string]string {
	busy := map[string]string{}
	st.EachRun(func(addr string, run *state.Run) {
		if st.ClaimedElsewhere(addr, holder, now) {
			c := st.Claims[addr]
			busy[run.ID] = fmt.Sprintf("%s@%s works on it (%s, pid %d)", c.Who, c.Host, c.Operation, c.PID)
		}
	})
	return busy
}
