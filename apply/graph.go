package apply

import (
	"errors"
	"path/filepath"
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
	slots chan struct{}
}

// node is one step.
type node struct {
	step  *plan.Step
	after []*node
	ended chan struct{}
	// How it ended, for those that come after it.
	failed  string // the address at which it failed, "" if it did not
	waiting string // the address of the run that goes on without us
}

func (s *session) walkGraph(p *plan.Plan) {
	g := &graph{s: s, plan: p, nodes: map[string]*node{}, done: map[string]RunResult{}, slots: make(chan struct{}, s.Parallelism)}
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
	var all sync.WaitGroup
	for _, n := range g.nodes {
		all.Go(func() { g.visit(n) })
	}
	all.Wait()
	s.mu.Lock()
	s.done = g.done
	s.mu.Unlock()
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
	for _, address := range st.Addresses() {
		if run := currentRun(st, address); run != nil && run.Phase.Ended() {
			g.done[address] = g.s.resultOf(st.Resources[address].Provider, run)
		}
	}
}

func (g *graph) visit(n *node) {
	defer close(n.ended)
	for _, d := range n.after {
		<-d.ended
	}
	for _, d := range n.after {
		if d.failed != "" {
			n.failed = n.step.Address
			g.skip(n, d.step.Address)
			return
		}
		if d.waiting != "" {
			n.waiting = d.waiting
			g.wait(n, d.waiting)
			return
		}
	}
	if n.step.Action == plan.NoOp || n.step.Action == plan.Hold {
		return
	}
	g.slots <- struct{}{}
	defer func() { <-g.slots }()
	g.perform(n)
}

func (g *graph) skip(n *node, because string) {
	if !n.step.Action.Changes() && n.step.Action != plan.Attach {
		return
	}
	g.s.mu.Lock()
	g.s.outcome.Skipped = append(g.s.outcome.Skipped, Skipped{Address: n.step.Address, Because: because})
	g.s.mu.Unlock()
	g.s.emit(Event{Kind: EventSkipped, Address: n.step.Address, Message: "skipped, because " + because + " failed"})
}

func (g *graph) wait(n *node, for_ string) {
	if !n.step.Action.Changes() && n.step.Action != plan.Attach {
		return
	}
	g.s.mu.Lock()
	g.s.outcome.Waiting = append(g.s.outcome.Waiting, Skipped{Address: n.step.Address, Because: for_})
	g.s.mu.Unlock()
	g.s.emit(Event{Kind: EventSkipped, Address: n.step.Address, Message: "not begun: it waits for " + for_})
}

// perform executes one step.
func (g *graph) perform(n *node) {
	s, step := g.s, n.step
	if s.interrupted() && step.Action != plan.Destroy {
		s.noteInterrupted()
		n.failed = step.Address
		g.skip(n, "the interrupt")
		return
	}
	var err error
	switch {
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
	g.add(out)
	switch {
	case out.Detached:
		n.waiting = step.Address
		s.noteInterruptedBy(out)
	case out.Class != OK:
		n.failed = step.Address
	}
	if st, err := s.read(); err == nil {
		if run := currentRun(st, step.Address); run != nil && run.Phase.Ended() {
			g.mu.Lock()
			g.done[step.Address] = s.resultOf(st.Resources[step.Address].Provider, run)
			g.mu.Unlock()
		}
	}
}

func (g *graph) add(out RunOutcome) {
	g.s.mu.Lock()
	defer g.s.mu.Unlock()
	g.s.outcome.Runs = append(g.s.outcome.Runs, out)
	if out.Class == Interrupt {
		g.s.outcome.Interrupted = true
	}
}

// spec completes what hangs on runs that have ended, and on a volume that was
// made in this command.
func (g *graph) spec(step *plan.Step) (*plan.RunSpec, error) {
	if step.Run == nil {
		return nil, nil
	}
	spec := *step.Run
	if len(spec.Late) > 0 {
		if g.s.Evaluator == nil {
			return nil, failf("late_values", "%d values hang on other runs and nothing can evaluate them", len(spec.Late)).at(step.Address)
		}
		late, err := g.s.Evaluator.Run(step.Address, g.results())
		if err != nil {
			return nil, failf("late_values", "%v", err).at(step.Address).because(err)
		}
		late.Try, late.Where = spec.Try, spec.Where
		late.Target = spec.Target
		spec = late
	}
	if spec.Target.Volume != "" && spec.Target.VolumeID == "" {
		st, err := g.s.read()
		if err != nil {
			return nil, err
		}
		res := st.Resources[spec.Target.Volume]
		if res == nil || res.Volume == nil || res.Volume.ID == "" {
			return nil, failf("volume", "%s does not exist", spec.Target.Volume).at(step.Address)
		}
		spec.Target.VolumeID, spec.Target.VolumeGB = res.Volume.ID, res.Volume.SizeGB
	}
	return &spec, g.resume(step, &spec)
}

// resume finds the checkpoint that a run is to start from.
func (g *graph) resume(step *plan.Step, spec *plan.RunSpec) error {
	from := spec.ResumeFrom
	if from == nil && step.Action == plan.Resume {
		from = &plan.ResumeSpec{RunID: step.RunID}
		spec.ResumeFrom = from
	}
	if from == nil || from.Dir != "" {
		return nil
	}
	st, err := g.s.read()
	if err != nil {
		return err
	}
	_, run := st.FindRun(from.RunID)
	if run == nil && from.Run != "" {
		run = currentRun(st, from.Run)
	}
	if run == nil || run.Snapshot == nil || !run.Snapshot.Local {
		return failf("resume", "the checkpoint to resume from is not here").at(step.Address)
	}
	copied := *from
	copied.RunID, copied.Step = run.ID, run.Snapshot.Step
	copied.Dir = filepath.ToSlash(filepath.Join(run.Dir, run.Snapshot.Path))
	spec.ResumeFrom = &copied
	return nil
}

func (g *graph) results() map[string]RunResult {
	g.mu.Lock()
	defer g.mu.Unlock()
	c := make(map[string]RunResult, len(g.done))
	for k, v := range g.done {
		c[k] = v
	}
	return c
}

// resultOf is what a run left for those who depend on it.
func (s *session) resultOf(provider string, run *state.Run) RunResult {
	res := RunResult{
		ID: run.ID, State: string(run.Phase), Dir: run.Dir, OutputDir: outputDir(run.Dir),
		CostUSD: run.CostUSD, GPUType: run.GPUType, Metrics: copyValues(run.Metrics),
	}
	if run.StartedAt != nil && run.EndedAt != nil {
		res.Seconds = s.timing(provider).Nominal(run.EndedAt.Sub(*run.StartedAt)).Seconds()
	}
	return res
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

// conclude stores what the plan used and what is known now, and decides the
// conditions that were left open.
func (s *session) conclude(p *plan.Plan) {
	s.mu.Lock()
	done := s.done
	s.mu.Unlock()
	var outputs map[string]state.Output
	if s.Evaluator != nil {
		var err error
		if outputs, err = s.Evaluator.Outputs(done); err != nil {
			s.addError(failf("outputs", "%v", err).because(err))
		}
		checks := s.Evaluator.Checks(done)
		s.mu.Lock()
		s.outcome.Checks = checks
		s.mu.Unlock()
	}
	st, err := s.update(func(st *state.State) error {
		for scope, catalog := range s.initialCatalogs {
			if st.Catalogs == nil {
				st.Catalogs = map[string]state.Catalog{}
			}
			st.Catalogs[scope] = catalogOf(catalog)
		}
		if outputs != nil {
			st.Outputs = outputs
		}
		return nil
	})
	if err != nil {
		s.addError(err)
		return
	}
	s.mu.Lock()
	s.outcome.Outputs = st.Outputs
	s.mu.Unlock()
	s.leftovers(st)
}

// leftovers adds what should be gone and is not.
func (s *session) leftovers(st *state.State) {
	st.EachRun(func(address string, run *state.Run) {
		if run.Phase.Ended() && run.Pod != nil && run.Pod.State == state.PodDeleting {
			s.addLeft(Left{Kind: "pod", Address: address, RunID: run.ID, ID: run.Pod.ID, RateUSD: hourly(run.Pod), Fix: "overbrainer pod rm " + run.ID})
		}
		for _, stray := range run.Strays {
			s.addLeft(Left{Kind: "stray", Address: address, RunID: run.ID, ID: stray.PodID, RateUSD: stray.RateUSD, Fix: "overbrainer pod rm " + run.ID})
		}
		if run.Phase.Ended() && (run.Pod == nil || run.Pod.Gone()) {
			for _, secret := range run.Secrets {
				s.addLeft(Left{Kind: "secret", Address: address, RunID: run.ID, ID: secret.Name, Fix: "overbrainer pod rm " + run.ID})
			}
		}
	})
}

func (s *session) addLeft(l Left) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outcome.Left = append(s.outcome.Left, l)
}

func catalogsOf(p *plan.Plan) map[string]plan.CatalogSeen { return p.Catalogs }

func catalogOf(seen plan.CatalogSeen) state.Catalog {
	c := state.Catalog{ReadAt: seen.ReadAt}
	for _, g := range seen.GPUs {
		c.GPUs = append(c.GPUs, state.CatalogGPU{ID: g.ID, PriceUSD: g.PriceUSD, Stock: g.Stock, DataCenters: g.DataCenters})
	}
	return c
}

// forgetAddress takes an address that holds nothing out of the state.
func (s *session) forgetAddress(address string) error {
	_, err := s.update(func(st *state.State) error {
		res := st.Resources[address]
		if res == nil {
			return state.ErrNoChange
		}
		if res.Run != nil {
			for _, run := range res.Run.Runs {
				if run.Holds() {
					return failf("still_held", "run %s still holds something", run.ID).at(address)
				}
			}
			st.Prune(address)
		}
		delete(st.Resources, address)
		return nil
	})
	if err == nil {
		s.emit(Event{Kind: EventRemoved, Address: address, Message: "forgotten, it is not in the configuration any more"})
	}
	return unlessHeld(err)
}

func unlessHeld(err error) error {
	var held *state.ClaimedError
	if errors.As(err, &held) {
		return heldError(held)
	}
	return err
}
