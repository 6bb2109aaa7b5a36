package apply

import (
	"fmt"
	"math"
	"time"

	"github.com/overbrainer/overbrainer/internal/money"
	"github.com/overbrainer/overbrainer/plan"
)

// parting is what to say of a run that goes on when the command ends.
type parting struct {
	how     manner
	text    string  // where few go on
	hourUSD float64 // 0 = not known
	free    bool
	end     time.Time  // when its pod has ended itself at the latest; zero: it does not
	left    bool       // in good order, not by a sudden end of the command
	run     RunOutcome // as it was at that time
	at      time.Time
	t       Timing
}

// manner is how a run goes on.
type manner int

const (
	jobRuns manner = iota
	resultsWait
	noJobYet
	podGoes
	manners
)

// fewPartings are told one by one.
const fewPartings = 3

// noteRunning keeps what to say of the run should the command end suddenly, with
// what an hour costs.
func (r *runner) noteRunning(how manner, hourUSD float64, text string) {
	p := parting{
		how: how, text: r.s.Redactor.String(text), // takes longer than others should wait
		hourUSD: hourUSD, free: r.spec != nil && r.spec.Target.Free || r.run.Pod != nil && r.run.Pod.Free,
	}
	p.end, _ = LastEnd(r.run, r.t)
	p.run, p.at, p.t = r.outcome(), r.now(), r.t
	p.run.Detached, p.run.Class, p.run.Message = how == jobRuns || how == noJobYet, Interrupt, ""
	if pod := r.run.Pod; p.run.PodID == "" && pod != nil && !pod.Gone() { // it has one once its job was started
		p.run.PodID, p.run.GPUType = pod.ID, pod.GPUType
	}
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.s.running[r.address] = p
}

// leave notes that the run goes on, and gives what to say of it.
func (r *runner) leave() string {
	how, text := jobRuns, r.whereItRuns()
	if r.run.Phase.Ended() && r.run.Pod != nil {
		how, text = resultsWait, fmt.Sprintf("%s has ended (%s) and its results wait on pod %s, %s, for %s after the end; fetch them: overbrainer apply",
			r.address, r.run.Phase, r.run.Pod.ID, podHour(r.run.Pod), spanWords(r.run.Bounds.RetrieveGrace))
	}
	r.noteRunning(how, rateOf(r.run.Pod), text)
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	p := r.s.running[r.address]
	p.left = true
	r.s.running[r.address] = p
	return text
}

func (s *session) forgetRunning(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.running, address)
}

// settled is the outcome of the command, with what goes on without it.
func (s *session) settled() Outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.outcome.settled()
	out.Messages = append(partings(s.running, func(p parting) bool { return p.left }), out.Messages...)
	return out
}

// suddenly is how the run stands when the command ends now: its pod has gone on
// since it was noted, and so has its job.
func (p parting) suddenly(now time.Time) RunOutcome {
	run, more := p.run, p.t.Nominal(now.Sub(p.at))
	if run.PodID != "" {
		run.CostUSD = round4(run.CostUSD + p.hourUSD*more.Hours())
	}
	if p.how == jobRuns {
		run.Seconds = math.Round(10*(run.Seconds+more.Seconds())) / 10
	}
	return run
}

// partings says what goes on: each where they are few, else how many there are of
// each manner.
func partings(running map[string]parting, which func(parting) bool) []string {
	var groups [manners][]string
	n := 0
	for _, address := range sortedKeys(running) {
		if p := running[address]; which(p) && p.text != "" {
			groups[p.how] = append(groups[p.how], address)
			n++
		}
	}
	var out []string
	for how, addresses := range groups {
		if n > fewPartings && len(addresses) > 1 {
			out = append(out, manner(how).together(addresses, running))
			continue
		}
		for _, address := range addresses {
			out = append(out, running[address].text)
		}
	}
	return out
}

// together says how many go on in one manner, what they cost, and which commands go
// on with them or end them.
func (how manner) together(addresses []string, running map[string]parting) string {
	hour, untold, endless := 0.0, 0, 0
	var last time.Time
	for _, address := range addresses {
		p := running[address]
		hour += money.Rate(p.hourUSD) // as a plan adds them up
		if p.hourUSD <= 0 && !p.free {
			untold++
		}
		if p.end.IsZero() {
			endless++
		} else if p.end.After(last) {
			last = p.end
		}
	}
	cost := anHour(hour) + " together"
	switch {
	case hour <= 0 && untold == 0:
		cost = atNoCost
	case hour <= 0:
		cost = anHour(0)
	case untold > 0:
		cost += fmt.Sprintf(" and %d of them %s", untold, anHour(0))
	}
	n, names := len(addresses), plan.List(addresses, fewPartings)
	switch how {
	case resultsWait:
		return fmt.Sprintf("%d runs have ended and their results wait on their pods, %s: %s\nfetch them: overbrainer apply", n, cost, names)
	case noJobYet:
		return fmt.Sprintf("%d pods are there or were asked for and no job runs on them yet, %s: %s\n"+
			"overbrainer apply goes on with them, overbrainer destroy ends them, and by itself each ends boot_grace after its start", n, cost, names)
	case podGoes:
		return fmt.Sprintf("%d pods are being deleted and bill until that is proven, %s: %s\noverbrainer apply or destroy goes on with them", n, cost, names)
	}
	text := fmt.Sprintf("%d runs still run on their pods, %s: %s", n, cost, names)
	if !last.IsZero() {
		text += "\nby " + last.Local().Format(clock) + " the last of these pods ends by itself"
	}
	if endless > 0 {
		text += fmt.Sprintf("\n%d of these pods do not end by themselves (keep_pod = \"forever\"), only when they are destroyed", endless)
	}
	return text + "\ncome back: overbrainer apply, or for one of them overbrainer run attach ADDR; end them: overbrainer destroy, or one of them overbrainer run cancel ADDR"
}
