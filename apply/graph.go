package apply

import (
	"fmt"
	"slices"
	"sync"

	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/state"
)

// graph executes the steps of a plan, each after those it depends on. Runs that
// do not depend on each other go side by side; one that fails does not stop the
// others, only those that depend on it.
type graph struct {
	s    *session
	plan *plan.Plan

	mu    sync.Mutex
	nodes map[string]*node
	done  map[string]RunResult
}

// node is one step.
type node struct {
	step  *plan.Step
	after []*node
	ended chan struct{}
	// How it ended, for those that come after it.
	failed  string // the address at which it failed, "" if it did not
	waiting string // the address of the run that goes on without us
	// left: it was stopped, and left a snapshot that another run may start from.
	left bool
	// interrupted: it was not begun before the interrupt, or given up at it.
	interrupted bool
}

// idleStep: there is nothing to do.
func idleStep(step *plan.Step) bool { return step.Action == plan.NoOp || step.Action == plan.Hold }

func (s *session) walkGraph(p *plan.Plan) {
	g := &graph{s: s, plan: p, nodes: map[string]*node{}, done: map[string]RunResult{}}
	g.priorResults()
	for _, step := range p.Steps {
		g.nodes[step.Address] = &node{step: step, ended: make(chan struct{})}
	}
	for _, n := range g.nodes {
		for _, dep := range g.dependencies(n.step) {
			if d := g.nodes[dep]; d != nil && d != n {
				n.after = append(n.after, d)
			}
		}
	}
	g.breakCycles()
	known := map[*node]bool{}
	for _, n := range g.nodes {
		if n.holds() && n.atOnce(known) { // before anybody looks who gives money back
			s.crew.enter(n.step.Address, !n.step.Action.There())
		}
	}
	var all sync.WaitGroup
	for _, step := range p.Steps { // in about that order they take slots and money
		n := g.nodes[step.Address]
		if n.idle() && len(n.after) == 0 {
			close(n.ended)
			continue
		}
		all.Go(func() { g.visit(n) })
	}
	all.Wait()
	g.sayNotReplaced()
	s.mu.Lock()
	s.done = g.done
	s.mu.Unlock()
}

// sayNotReplaced names the runs that were to run again although nothing changed, and
// were not begun: no later plan begins them by itself.
func (g *graph) sayNotReplaced() {
	if !g.s.interrupted() {
		return
	}
	st, err := g.s.read()
	if err != nil {
		return
	}
	var names []string
	for _, step := range g.plan.Steps {
		run := currentRun(st, step.Address)
		if g.nodes[step.Address].interrupted && step.Begins() && step.Run != nil && run != nil &&
			run.Phase == state.Succeeded && run.Retrieved && run.Fingerprint == step.Run.Fingerprint {
			names = append(names, step.Address)
		}
	}
	if len(names) > 0 {
		g.s.say(fmt.Sprintf("not run again before %s: %s; nothing of them has changed, so only -replace=ADDRESS asks for that again", TheInterrupt, plan.List(names, fewPartings)))
	}
}

// dependencies are what the plan names, and the volume that a run's pod mounts.
func (g *graph) dependencies(step *plan.Step) []string {
	deps := slices.Clone(step.DependsOn)
	if step.Run != nil && step.Run.Target.Volume != "" {
		deps = append(deps, step.Run.Target.Volume)
	}
	return deps
}

// breakCycles drops an edge of every circle, so that a damaged plan ends
// instead of waiting for ever.
func (g *graph) breakCycles() {
	const (
		fresh = iota
		open
		closed
	)
	mark := map[*node]int{}
	var visit func(n *node)
	visit = func(n *node) {
		mark[n] = open
		n.after = slices.DeleteFunc(n.after, func(d *node) bool {
			if mark[d] == open {
				return true
			}
			if mark[d] == fresh {
				visit(d)
			}
			return false
		})
		mark[n] = closed
	}
	for _, address := range sortedKeys(g.nodes) {
		if mark[g.nodes[address]] == fresh {
			visit(g.nodes[address])
		}
	}
}

// priorResults are those of runs that ended before this command.
func (g *graph) priorResults() {
	st, err := g.s.read()
	if err != nil {
		return
	}
	g.done = g.s.results(st)
}

func (g *graph) visit(n *node) {
	defer close(n.ended)
	for _, d := range n.after {
		<-d.ended
	}
	for _, d := range n.after {
		if d.failed != "" && !(d.left && startsFrom(n.step, d.step.Address)) {
			n.failed, n.interrupted = n.step.Address, d.interrupted
			because := d.step.Address
			if d.interrupted {
				because = TheInterrupt
			}
			g.skip(n, because)
			return
		}
		if d.waiting != "" {
			n.waiting = d.waiting
			g.wait(n, d.waiting)
			return
		}
	}
	if n.idle() {
		return
	}
	hands, address := g.s.crew, n.step.Address
	if n.holds() {
		hands.enter(address, !n.step.Action.There())
	}
	if !n.step.Action.There() {
		hands.takeSlot(address, nil, nil)
	}
	defer hands.leave(address)
	g.perform(n)
}

// holds reports whether a step ends something that is there.
func (n *node) holds() bool {
	return n.step.Action.There() || n.step.Action == plan.Destroy || n.step.Action == plan.Sweep
}

func (n *node) idle() bool { return idleStep(n.step) }

// atOnce reports whether a step waits for no other. known is what was found so far.
func (n *node) atOnce(known map[*node]bool) bool {
	if at, ok := known[n]; ok {
		return at
	}
	known[n] = !slices.ContainsFunc(n.after, func(d *node) bool { return !d.idle() || !d.atOnce(known) })
	return known[n]
}

// startsFrom reports whether a step begins with the snapshot that a run leaves.
func startsFrom(step *plan.Step, address string) bool {
	return step.Begins() && step.Run != nil && step.Run.ResumeFrom != nil && step.Run.ResumeFrom.Run == address
}

func (g *graph) skip(n *node, because string) {
	if !n.step.Action.Changes() && n.step.Action != plan.Attach {
		return
	}
	g.s.mu.Lock()
	g.s.outcome.Skipped = append(g.s.outcome.Skipped, Skipped{Address: n.step.Address, Because: because})
	g.s.mu.Unlock()
	e := Event{Kind: EventSkipped, Address: n.step.Address, Message: "skipped, because " + because + " failed"}
	if because == TheInterrupt {
		e.State, e.Message = StateNotBegun, "not begun before "+because
	}
	g.s.emit(e)
}

func (g *graph) wait(n *node, for_ string) {
	if !n.step.Action.Changes() && n.step.Action != plan.Attach {
		return
	}
	g.s.mu.Lock()
	g.s.outcome.Waiting = append(g.s.outcome.Waiting, Skipped{Address: n.step.Address, Because: for_})
	g.s.mu.Unlock()
	g.s.emit(Event{Kind: EventSkipped, Address: n.step.Address, State: StateNotBegun, Message: "not begun: it waits for " + for_})
}

// perform executes one step.
func (g *graph) perform(n *node) {
	s, step := g.s, n.step
	if s.interrupted() && step.Action != plan.Destroy {
		s.noteInterrupted()
		n.failed, n.interrupted = step.Address, true
		g.skip(n, TheInterrupt)
		return
	}
	var err error
	switch {
	case step.Action == plan.Refresh:
		err = s.refreshStep(step)
	case step.Action == plan.Sweep:
		err = s.sweepAddress(step.Address)
	case step.Type == "volume" || step.Volume != nil:
		err = s.volumeStep(step)
	case step.Action == plan.Destroy:
		err = s.destroyAddress(step.Address, destroyRules{})
	case step.Action == plan.Forget:
		err = s.forgetAddress(step.Address)
	default:
		g.run(n)
		return
	}
	if err != nil {
		n.failed = step.Address
		s.addError(err)
		s.emit(Event{Kind: EventFailed, Address: step.Address, Message: err.Error()})
	}
}

// run executes a step on a run.
func (g *graph) run(n *node) {
	s, step := g.s, n.step
	spec, err := g.spec(step)
	if err != nil {
		n.failed = step.Address
		g.add(s.notBegun(step.Address, err))
		return
	}
	out := s.runStep(step, spec, g.plan.Offers[step.Address])
	if out.Class == Interrupt && out.RunID == "" {
		s.noteInterrupted()
		n.failed, n.interrupted = step.Address, true
		g.skip(n, TheInterrupt)
		return
	}
	g.add(out)
	switch {
	case out.Detached:
		n.waiting = step.Address
		s.noteInterruptedBy(out)
	case out.Class != OK:
		n.failed, n.interrupted = step.Address, out.Class == Interrupt
		n.left = out.Err == nil && out.State == string(state.Stopped) && out.Retrieved
	}
	g.settle(step.Address)
}

// settle takes in what a run left; one that goes on has no result, whatever an
// earlier run of its address left.
func (g *graph) settle(address string) {
	st, err := g.s.read()
	if err != nil {
		return
	}
	run := currentRun(st, address)
	g.mu.Lock()
	defer g.mu.Unlock()
	if run == nil || !run.Phase.Ended() {
		delete(g.done, address)
		return
	}
	g.done[address] = g.s.resultOf(st.Resources[address].Provider, run)
}

func (g *graph) add(out RunOutcome) {
	g.s.mu.Lock()
	defer g.s.mu.Unlock()
	g.s.outcome.Runs = append(g.s.outcome.Runs, out)
	if out.Class == Interrupt {
		g.s.outcome.Interrupted = true
	}
}

func (s *session) noteInterrupted() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outcome.Interrupted = true
}

func (s *session) noteInterruptedBy(out RunOutcome) {
	if out.Class == Interrupt {
		s.noteInterrupted()
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outcome.Detached = true
}
