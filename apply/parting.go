package apply

import (
	"fmt"
	"math"
	"time"

	"github.com/overbrainer/overbrainer/internal/money"
	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/state"
)

// parting is what to say of a run that goes on when the command ends.
type parting struct {
	how     manner
	text    string  // where few go on
	podID   string  // "" where none is known
	fix     string  // the command that ends its pod
	hourUSD float64 // 0 = not known
	free    bool
	end     time.Time  // when its pod has ended itself at the latest; zero: it does not
	left    bool       // in good order, not by a sudden end of the command
	run     RunOutcome // as it was at that time
	at      time.Time
	t       Timing
}

// HourWords says for people what an hour of a pod costs.
func HourWords(p *state.Pod) string { return podHour(p) }

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
	if pod := r.run.Pod; pod != nil && !pod.Gone() {
		p.podID = pod.ID
	}
	switch address := plan.ShellWord(r.address); how {
	case jobRuns:
		p.fix = r.command("cancel")
	case resultsWait:
		p.fix = "overbrainer apply -target=" + address
	default:
		p.fix = "overbrainer destroy -target=" + address
	}
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.s.running[r.address] = p
}

// noteOnPod keeps what to say of a run whose job runs, or has ended and left its
// results on the pod.
func (r *runner) noteOnPod() (text string) {
	how, text := jobRuns, r.whereItRuns()
	if r.run.Phase.Ended() && r.run.Pod != nil {
		how, text = resultsWait, fmt.Sprintf("%s has ended (%s) and its results wait on pod %s, %s, %s; fetch them: overbrainer apply",
			r.address, r.run.Phase, r.run.Pod.ID, podHour(r.run.Pod), r.waitWords())
	}
	r.noteRunning(how, rateOf(r.run.Pod), text)
	return text
}

// waitWords says until when the pod of a job that has ended waits with its results.
func (r *runner) waitWords() string {
	end, bounded := LastEnd(r.run, r.t)
	if !bounded {
		return r.keptWords()
	}
	return fmt.Sprintf("until %s at the latest (retrieve_grace = %s after the end)", end.Local().Format(clock), spanWords(r.run.Bounds.RetrieveGrace))
}

// byItselfWords says when the run's pod ends without anybody.
func (r *runner) byItselfWords() string {
	end, bounded := LastEnd(r.run, r.t)
	if !bounded {
		return "it does not end by itself"
	}
	return "by itself it ends by " + end.Local().Format(clock) + " at the latest"
}

// stays notes a pod of a run that has ended, which bills on by what is said of it.
func (r *runner) stays(kind, note, fix string) {
	pod := r.run.Pod
	l := Left{Kind: kind, Address: r.address, RunID: r.run.ID, ID: pod.ID, RateUSD: rateOf(pod), Free: pod.Free, Fix: fix, Note: note}
	l.Until, _ = LastEnd(r.run, r.t)
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.s.outcome.GoesOn = append(r.s.outcome.GoesOn, l)
}

// leave notes that the run goes on, and gives what to say of it.
func (r *runner) leave() string {
	text := r.noteOnPod()
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	p := r.s.running[r.address]
	p.left = true
	r.s.running[r.address] = p
	return text
}

// noteGone notes that nothing bills any more of what was said of a run.
func (r *runner) noteGone() {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	if p, ok := r.s.running[r.address]; ok {
		p.text, p.hourUSD, p.run.CostUSD, p.run.Detached = "", 0, round4(r.run.CostUSD), false
		r.s.running[r.address] = p
	}
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
	left := func(p parting) bool { return p.left }
	out.Messages = append(partings(s.running, left), out.Messages...)
	out.GoesOn = append(goingOn(s.running, left), out.GoesOn...)
	return out
}

// resultsOnIt is what a pod waits for whose job has ended.
const resultsOnIt = "its job has ended and its results wait on it"

// goingOn are the pods that the command leaves, each with its rate and its bound.
func goingOn(running map[string]parting, which func(parting) bool) []Left {
	notes := [manners]string{"its job goes on", resultsOnIt, "no job runs on it yet", "it is being deleted, and bills until that is proven"}
	var out []Left
	for _, address := range sortedKeys(running) {
		p := running[address]
		if !which(p) || p.text == "" {
			continue
		}
		l := Left{Kind: "pod", Address: address, RunID: p.run.RunID, ID: p.podID, RateUSD: p.hourUSD, Free: p.free, Until: p.end, Fix: p.fix, Note: notes[p.how]}
		if l.ID == "" {
			l.Kind, l.Note = "unanswered", "it was asked for and may exist or come to be"
		}
		out = append(out, l)
	}
	return out
}

// suddenly is how the run stands when the command ends now: its pod has gone on
// since it was noted, and so has its job.
func (p parting) suddenly(now time.Time) RunOutcome {
	run, more := p.run, p.t.Nominal(now.Sub(p.at))
	if run.State == string(state.Preparing) && run.Reason == "" {
		run.Reason = string(state.Interrupted)
	}
	if p.podID != "" {
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
	bound := ""
	if !last.IsZero() {
		bound += "\nby " + last.Local().Format(clock) + " the last of these pods ends by itself"
	}
	if endless > 0 {
		bound += fmt.Sprintf("\n%d of these pods do not end by themselves (keep_pod = \"forever\"), only when they are destroyed", endless)
	}
	n, names := len(addresses), plan.List(addresses, fewPartings)
	switch how {
	case resultsWait:
		return fmt.Sprintf("%d runs have ended and their results wait on their pods, %s: %s%s\nfetch them: overbrainer apply", n, cost, names, bound)
	case noJobYet:
		return fmt.Sprintf("%d pods are there or were asked for and no job runs on them yet, %s: %s\n"+
			"overbrainer apply goes on with them, overbrainer destroy ends them, and by itself each ends boot_grace after its start", n, cost, names)
	case podGoes:
		return fmt.Sprintf("%d pods are being deleted and bill until that is proven, %s: %s%s\noverbrainer apply or destroy goes on with them", n, cost, names, bound)
	}
	return fmt.Sprintf("%d runs still run on their pods, %s: %s%s", n, cost, names, bound) + "\ncome back: overbrainer apply, or for one of them overbrainer run attach ADDR; end them: overbrainer destroy, or one of them overbrainer run cancel ADDR"
}
