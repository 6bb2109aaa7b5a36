package plan

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"time"

	"github.com/overbrainer/overbrainer/config"
	"github.com/overbrainer/overbrainer/internal/money"
	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/state"
)

// freshPod is how young a pod must be for its absence from the account to mean
// nothing yet.
const freshPod = time.Minute

// planRuns makes the steps of the configured runs.
func (b *builder) planRuns() {
	before := &Step{}
	for _, run := range b.in.Config.Runs {
		step := b.planRun(run)
		step.share(before)
		b.take(step)
		before = step
	}
	b.tellMissing()
}

// share takes what the step before says, where this one says the same: instances of
// a sweep name the same changed files by the hundred.
func (s *Step) share(before *Step) {
	if slices.Equal(s.ChangedInputs, before.ChangedInputs) && len(s.ChangedInputs) > 0 {
		s.ChangedInputs = before.ChangedInputs
	}
	if s.Reason == before.Reason {
		s.Reason = before.Reason
	}
}

func (b *builder) planRun(run *config.Run) *Step {
	cur := b.currentRun(run.Address)
	spec := b.runSpec(run)
	s := situation{
		cur: cur, fingerprint: run.Fingerprint, rerun: run.Lifecycle.Rerun,
		replaced: namesAny(b.in.Replace, run.Address), waitsFor: b.pendingOf(run),
		lost: cur != nil && b.isLost(run.Target.Provider, cur), stopped: cur != nil && b.isStopped(run.Target.Provider, cur),
		volumeGB: b.roomGB(run), broken: b.checkpointProblem,
	}
	if cur != nil {
		s.limit = limitPassed(cur, b.in.Now)
		s.changed = b.changedInputs(cur, run)
	}
	d := decide(s)
	if d.refused {
		b.errorAt(run.Range, run.Address+" cannot be replaced while it runs",
			fmt.Sprintf("Run %s is %s. End it first: overbrainer run stop %s, or overbrainer run cancel %s.", cur.ID, cur.Phase, ShellWord(run.Address), ShellWord(run.Address)))
	}
	spec.Try = d.try
	step := &Step{
		Address: run.Address, Type: "run", Name: run.Name, Index: run.Key, Action: d.action, Reason: d.reason,
		DependsOn: b.dependsOn(run), ChangedInputs: s.changed, Run: spec, Before: beforeRun(cur), After: afterRun(run, spec),
		AfterUnknown: unknownAfter(d.action, spec),
	}
	if cur != nil {
		step.RunID = cur.ID
	}
	if step.ChangedInputs == nil {
		step.ChangedInputs = []string{}
	}
	if d.action == Resume {
		spec.ResumeFrom = ResumeAt(run.Address, d.resume)
	}
	b.price(step, run, cur)
	if d.action == Attach && cur.Phase == state.Running && (s.lost || s.stopped) {
		step.Cost.HourlyUSD, step.Cost.Unbounded = usd(0), "" // it goes on no more
		if s.lost {
			step.Cost.MaxUSD = usd(b.spentBy(run.Target.Provider, cur))
		}
	}
	b.checkResults(step, run, cur)
	return step
}

// price resolves offers where a pod may have to be made, and says what the
// step may cost.
func (b *builder) price(step *Step, run *config.Run, cur *state.Run) {
	switch step.Action {
	case Run, Rerun, Resume:
		b.checkRoom(run)
		b.place(step, run, 0)
	case Attach, Collect:
		if cur.Phase == state.Preparing && cur.StartedAt == nil {
			b.place(step, run, cur.CostUSD)
			break
		}
		step.Cost = liveCost(cur)
	default:
		b.target(run.Target)                                                                  // for the catalog's changes
		step.Cost.MaxUSD, step.Cost.ExpectedUSD, step.Cost.HourlyUSD = usd(0), usd(0), usd(0) // nothing is done
		return
	}
	step.Cost.ExpectedUSD, step.Cost.ExpectedBy = b.expectedCost(step)
}

func (b *builder) place(step *Step, run *config.Run, spent float64) {
	r := b.target(run.Target)
	step.Run.Target = r.spec
	b.report(r)
	offers := r.offers
	if offers == nil {
		offers = []Offer{}
	}
	b.p.Offers[step.Address] = offers
	if r.unsized {
		return // and so nothing is known of the cost
	}
	step.Cost = runCost(offers, step.Run, r.volume, spent)
	b.warnShortCap(step, run)
	b.warnShortTime(step, run)
}

// leastCapTime is how much of a pod a cost cap should buy at least.
const leastCapTime = 30 * time.Minute

// leastBoot is the time that a cost cap has to buy, or no job ever starts.
const leastBoot = 5 * time.Minute

// warnShortCap tells when max_cost_usd buys little of the chosen pod, and
// refuses one that does not buy its boot.
func (b *builder) warnShortCap(step *Step, run *config.Run) {
	limit, hourly := step.Run.Cap.MaxCostUSD, step.Cost.HourlyUSD
	if limit <= 0 || hourly == nil || limit >= *hourly*leastCapTime.Hours() {
		return
	}
	at := b.capRange(step.Run.Cap.Address, "max_cost_usd")
	if limit < *hourly*leastBoot.Hours() {
		b.errorAt(at, fmt.Sprintf("max_cost_usd does not buy the boot of a pod for %s", run.Target.Address),
			fmt.Sprintf("%s buys %s at %s an hour, and a pod needs minutes to boot before a job can start. Allow %s at least; half an hour costs %s.",
				money.USD(limit), Minutes(limit / *hourly), money.Price(*hourly), money.USD(*hourly*leastBoot.Hours()), money.USD(*hourly*leastCapTime.Hours())))
		return
	}
	b.warnAt(at, fmt.Sprintf("max_cost_usd buys little for %s", run.Target.Address),
		fmt.Sprintf("%s buys %s at %s an hour, the time to boot included; half an hour costs %s.%s",
			money.USD(limit), Minutes(limit / *hourly), money.Price(*hourly), money.USD(*hourly*leastCapTime.Hours()), askedWords(step, limit / *hourly)))
}

// warnShortTime tells when max_hours leaves little of any pod.
func (b *builder) warnShortTime(step *Step, run *config.Run) {
	hours := step.Run.Cap.MaxHours
	if hours <= 0 || hours >= leastCapTime.Hours() {
		return
	}
	b.warnAt(b.capRange(step.Run.Cap.Address, "max_hours"), fmt.Sprintf("max_hours leaves little time for %s", run.Target.Address),
		fmt.Sprintf("max_hours = %s is %s from the pod's creation, the time to boot included.%s",
			strconv.FormatFloat(hours, 'f', -1, 64), Minutes(hours), askedWords(step, hours)))
}

// askedWords says how much of so many hours a job has before it is asked to save
// itself, where it is.
func askedWords(step *Step, hours float64) string {
	if step.Run.Snapshot == nil {
		return ""
	}
	all := time.Duration(hours * float64(time.Hour))
	return fmt.Sprintf(" The job is asked to save itself after %s.", Minutes((all - SnapshotLead(all, LongestLead)).Hours()))
}

// Minutes writes a short time, given in hours, to the second: "7 min 50 s".
func Minutes(hours float64) string {
	d := time.Duration(hours * float64(time.Hour)).Round(time.Second)
	text := fmt.Sprintf("%d min", d/time.Minute)
	if s := d % time.Minute / time.Second; s > 0 {
		text += fmt.Sprintf(" %d s", s)
	}
	return text
}

// LongestLead is how long before a bound a job is asked to save itself, at most.
const LongestLead = 15 * time.Minute

// SnapshotLead is how long before a bound a job is asked to save itself: of a
// short time it takes a quarter, so that there is something to save.
func SnapshotLead(all, longest time.Duration) time.Duration { return min(longest, all/4) }

// roomGB is how large the network volume of a run's target is or may be made.
func (b *builder) roomGB(run *config.Run) int {
	v := run.Target.Volume
	if v == nil {
		return 0
	}
	return max(v.SizeGB, b.volumes[v.Address].SizeGB, run.Cap.MaxVolumeGB)
}

func (b *builder) currentRun(addr string) *state.Run {
	if r := b.st.Resources[addr]; r != nil && r.Run != nil {
		return r.Run.CurrentRun()
	}
	return nil
}

// isLost reports whether a run's pod is not in the account any more: not
// in the list, and not known when asked for by its ID, which is done once.
func (b *builder) isLost(provider string, run *state.Run) bool {
	if run.Pod == nil || run.Pod.Gone() {
		return false
	}
	lost, known := b.lost[run.ID]
	if !known {
		if b.lost == nil {
			b.lost = map[string]bool{}
		}
		lost = b.lookForPod(provider, run)
		b.lost[run.ID] = lost
	}
	return lost
}

func (b *builder) lookForPod(provider string, run *state.Run) bool {
	pod := run.Pod
	a := b.account(provider)
	if a.pods == nil || a.pod(pod.ID) != nil || b.in.Now.Sub(pod.CreatedAt) < b.freshPod(provider) {
		return false
	}
	if b.in.Pod == nil {
		return false
	}
	_, err := b.in.Pod(b.ctx, provider, pod.ID)
	return providers.Is(err, providers.NotFound)
}

// isStopped reports whether a run's pod is in the account and will not run
// again by itself.
func (b *builder) isStopped(provider string, run *state.Run) bool {
	if run.Pod == nil || run.Pod.Gone() {
		return false
	}
	seen := b.account(provider).pod(run.Pod.ID)
	return seen != nil && seen.Status.Dead()
}

// limitPassed names the bound that a run's pod has met by now, "" where none
// was. A deadline ends no pod that is kept for ever.
func limitPassed(run *state.Run, now time.Time) state.Reason {
	p := run.Pod
	passed := func(at *time.Time) bool { return at != nil && !now.Before(*at) }
	switch {
	case p == nil:
		return ""
	case passed(p.Deadline) && run.Bounds.KeepPodS >= 0 && (p.CostCapAt == nil || p.Deadline.Before(*p.CostCapAt)):
		return state.TimeLimit
	case passed(p.CostCapAt):
		return state.CostCap
	}
	return ""
}

func (b *builder) freshPod(provider string) time.Duration {
	if b.in.FreshPod == nil {
		return freshPod
	}
	return b.in.FreshPod(provider)
}

// pendingOf gives what a run depends on that is not settled yet.
func (b *builder) pendingOf(run *config.Run) []string {
	var list []string
	for _, dep := range run.DependsOn {
		if s := b.steps[dep]; s == nil || s.Action.Changes() || s.Action == Attach {
			list = append(list, dep)
		}
	}
	if len(list) == 0 {
		return run.DependsOn
	}
	return list
}

// dependsOn gives the addresses that come before a run, its volume included.
func (b *builder) dependsOn(run *config.Run) []string {
	deps := append([]string{}, run.DependsOn...)
	if v := run.Target.Volume; v != nil && !has(deps, v.Address) {
		deps = append(deps, v.Address)
	}
	sort.Strings(deps)
	return deps
}

// changedInputs names what differs from the inputs of the current run: "file
// train.py", "env LR". Nothing is named where the record of them is not here.
func (b *builder) changedInputs(cur *state.Run, run *config.Run) []string {
	if run.Fingerprint == cur.Fingerprint {
		return nil
	}
	before, ok := b.inputsOf(cur)
	if !ok {
		return nil
	}
	now := publicInputs(run)
	var changed []string
	for name, sum := range now.All() {
		if before.Sum(name) != sum {
			changed = append(changed, name)
		}
	}
	for name := range before.All() {
		if now.Sum(name) == "" && !isLate(run, name) {
			changed = append(changed, name)
		}
	}
	sort.Strings(changed)
	return changed
}

func isLate(run *config.Run, input string) bool {
	return has(run.Late, input) || has(run.Sensitive, input)
}

// publicInputs leaves out digests of sensitive values: a short one could be
// guessed from its digest. They are not to be changed.
func publicInputs(run *config.Run) Inputs {
	if len(run.Sensitive) == 0 {
		return run.Inputs
	}
	in := Inputs{Own: map[string]string{}, Files: run.Inputs.Files}
	for name, sum := range run.Inputs.Own {
		if !has(run.Sensitive, name) {
			in.Own[name] = sum
		}
	}
	return in
}
