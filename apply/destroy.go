package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/overbrainer/overbrainer/internal/money"
	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/state"
)

// DestroyOptions says how far a destroy goes.
type DestroyOptions struct {
	// Targets limits it to these addresses; none means everything.
	Targets []string
	// Volumes deletes managed volumes that are not to be retained, too.
	Volumes bool
	// DiscardResults deletes pods whose results were not fetched.
	DiscardResults bool
	// TakeOver ends the claims of other processes.
	TakeOver    bool
	LockTimeout time.Duration
}

// destroyRules is how one address is destroyed.
type destroyRules struct {
	discard  bool
	takeOver bool
}

// Destroy removes every pod, stray and secret of the project, after it has
// fetched the results of runs that have ended. It goes on past a failure;
// what is left stays in the state and is in the Outcome with its rate, and the
// next Destroy goes on with it. The plan may be nil; its steps name addresses
// where it is not.
func (e *Engine) Destroy(ctx context.Context, p *plan.Plan, opt DestroyOptions) (Outcome, error) {
	s := e.open(ctx, "destroy", opt.LockTimeout)
	defer s.close()
	return s.until(func() (Outcome, error) { return s.destroy(p, opt) })
}

func (s *session) destroy(p *plan.Plan, opt DestroyOptions) (Outcome, error) {
	if p == nil {
		p = &plan.Plan{Destroying: true}
	}
	if err := s.begin(p, Options{}); err != nil {
		return Outcome{}, err
	}
	st, err := s.read()
	if err != nil {
		return Outcome{}, err
	}
	ends := endsOf(p)
	wanted := func(address string) bool {
		return len(opt.Targets) == 0 && (len(p.Steps) == 0 || ends[address]) || contains(opt.Targets, address)
	}
	rules := destroyRules{discard: opt.DiscardResults, takeOver: opt.TakeOver}
	var addresses []string
	for _, address := range st.Addresses() {
		if st.Resources[address].Run != nil && wanted(address) {
			addresses = append(addresses, address)
		}
	}
	var all sync.WaitGroup
	slots := make(chan struct{}, s.Parallelism)
	for _, address := range s.forgetIdle(addresses) {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			if s.interrupted() {
				return // what is left is told
			}
			if err := s.destroyAddress(address, rules); err != nil {
				orTakeOver(err)
				s.addError(err)
				s.emit(Event{Kind: EventFailed, Address: address, Message: err.Error()})
			}
		})
	}
	all.Wait()
	if s.interrupted() {
		s.say("interrupted: pods that the state does not know and volumes were not looked for; overbrainer destroy goes on")
		return s.destroyed(wanted), nil
	}
	if len(opt.Targets) == 0 {
		s.destroyUnknown()
	}
	s.sweepAccounts()
	s.destroyVolumes(p, opt, wanted)
	return s.destroyed(wanted), nil
}

// orTakeOver says in the error about another process's work how to end that.
func orTakeOver(err error) {
	var e *Error
	if errors.As(err, &e) && e.Code == "held" {
		e.Hint = "-lock-timeout=DURATION waits for it; overbrainer destroy -take-over ends its work"
	}
}

// endsOf are the addresses that a plan ends.
func endsOf(p *plan.Plan) map[string]bool {
	ends := map[string]bool{}
	for _, step := range p.Steps {
		if step.Action == plan.Destroy || step.Action == plan.Forget {
			ends[step.Address] = true
		}
	}
	return ends
}

// forgetIdle takes the addresses whose runs hold nothing out of the state, in one
// write for all of them. It gives the others: something of them exists, or somebody
// works on them.
func (s *session) forgetIdle(addresses []string) []string {
	if s.interrupted() {
		return addresses
	}
	var gone, others []string
	var ended []*state.Run
	_, err := s.updateOnly(func(st *state.State) error {
		gone, others, ended = nil, nil, nil
		for _, address := range addresses {
			res := st.Resources[address]
			_, claimed := st.Claims[address]
			switch {
			case res == nil:
			case claimed || res.Run == nil || anyHolds(res.Run):
				others = append(others, address)
			default:
				gone, ended = append(gone, address), append(ended, res.Run.Runs...)
				st.Prune(address)
				delete(st.Resources, address)
			}
		}
		if len(gone) == 0 {
			return state.ErrNoChange
		}
		return nil
	}, addresses...)
	if err != nil {
		return addresses
	}
	for _, address := range gone {
		s.tellRemoved(address)
	}
	s.noteRemoved(ended)
	return others
}

// destroyed adds what is left of what was to go, with what it costs.
func (s *session) destroyed(wanted func(address string) bool) Outcome {
	st, err := s.dropOutputs()
	if err != nil {
		s.addError(err)
	} else {
		s.leftAfterDestroy(st, wanted)
	}
	s.sayRemoved()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outcome.Interrupted = s.outcome.Interrupted || s.interrupted()
	return s.outcome.settled()
}

// dropOutputs takes the outputs out of a state that has no run any more: what
// they were made of is gone.
func (s *session) dropOutputs() (*state.State, error) {
	return s.updateLast(func(st *state.State) error {
		for _, res := range st.Resources {
			if res.Run != nil {
				return state.ErrNoChange
			}
		}
		if len(st.Outputs) == 0 {
			return state.ErrNoChange
		}
		st.Outputs = nil
		return nil
	}, state.Overall)
}

func (s *session) leftAfterDestroy(st *state.State, wanted func(address string) bool) {
	refusals := s.refusals()
	st.EachRun(func(address string, run *state.Run) {
		if !wanted(address) {
			return
		}
		fix, note, held := "overbrainer destroy", "", false
		switch c, ok := st.Claims[address]; refusals[address] {
		case "held":
			if ok {
				fix, note, held = "overbrainer destroy -take-over", fmt.Sprintf("%s@%s works on it (%s, pid %d)", c.Who, c.Host, c.Operation, c.PID), true
			}
		case "not_our_key":
			fix = withoutResults(address)
		case "prevent_destroy":
			fix = "overbrainer run cancel " + plan.ShellWord(address)
		}
		left := func(kind, id string, rate float64, about string) {
			s.addLeft(Left{Kind: kind, Address: address, RunID: run.ID, ID: id, RateUSD: rate, Fix: fix, Note: cmp.Or(note, about), Held: held})
		}
		if p := run.Pod; p != nil && !p.Gone() {
			left("pod", p.ID, p.HourUSD(), string(p.State))
		}
		for _, stray := range run.Strays {
			left("stray", stray.PodID, stray.RateUSD, "")
		}
		for _, secret := range run.Secrets {
			left("secret", secret.Name, 0, "")
		}
		for _, a := range run.Attempts {
			if open(a) {
				left("unanswered", a.Name, a.RateUSD, "")
			}
		}
	})
}

// withoutResults is the command that ends what of an address cannot be fetched.
func withoutResults(address string) string {
	return "overbrainer destroy -discard-results -target=" + plan.ShellWord(address)
}

// refusals are the codes of the errors for which addresses were left alone.
func (s *session) refusals() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	codes := map[string]string{}
	for _, err := range s.outcome.Errors {
		var e *Error
		if errors.As(err, &e) && codes[e.Address] == "" {
			codes[e.Address] = e.Code
		}
	}
	return codes
}

// destroyAddress ends everything of an address and takes it out of the state.
func (s *session) destroyAddress(address string, rules destroyRules) error {
	c, err := s.claims.take(address)
	if ClassOf(err) == Held && rules.takeOver {
		c, err = s.claims.seize(address)
	}
	if err != nil {
		return err
	}
	defer s.claims.release(address)
	st, err := s.read()
	if err != nil {
		return err
	}
	res := st.Resources[address]
	if res == nil || res.Run == nil {
		return nil
	}
	var problems []error
	var ended []*state.Run
	for _, run := range res.Run.Runs {
		run, err := s.destroyRun(address, res.Provider, run, c, rules)
		if err != nil {
			problems = append(problems, err)
		}
		ended = append(ended, run)
	}
	if len(problems) > 0 {
		return join(problems)
	}
	if err := s.forgetAddress(address); err != nil {
		return err
	}
	s.noteRemoved(ended)
	return nil
}

func (s *session) noteRemoved(ended []*state.Run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.removed = append(s.removed, ended...)
}

// sayRemoved says at the end how many runs were removed and what they had cost.
func (s *session) sayRemoved() {
	s.mu.Lock()
	removed := s.removed
	s.mu.Unlock()
	if len(removed) == 0 {
		return
	}
	var costs []float64
	more := ""
	for _, run := range removed {
		costs = append(costs, run.CostUSD)
		if run.Unanswered() {
			more = " or more"
		}
	}
	runs := "1 run is"
	if len(removed) > 1 {
		runs = fmt.Sprintf("%d runs are", len(removed))
	}
	s.say(fmt.Sprintf("%s removed, which had cost about %s%s", runs, strings.TrimPrefix(money.Sum(costs...), "about "), more))
}

// join keeps the class of a single error.
func join(errs []error) error {
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

// destroyRun ends everything of a run, and gives the run as it then is.
func (s *session) destroyRun(address, provider string, run *state.Run, c *claim, rules destroyRules) (*state.Run, error) {
	if !run.Holds() {
		return run, nil
	}
	r, err := s.runner(address, provider, nil, c)
	if err != nil {
		return run, err
	}
	r.load(run)
	if run.Job.PreventDestroy && !run.Phase.Ended() {
		return run, failf("prevent_destroy", "run %s has prevent_destroy set", run.ID).at(address)
	}
	err = r.destroy(rules)
	return r.run, err
}

const destroyedWords = "destroyed by the user"

// destroy ends everything of a run.
func (r *runner) destroy(rules destroyRules) error {
	pods, err := r.s.listPods(r.provider)
	if err == nil {
		err = r.resolveAttempts(pods)
	}
	if err != nil && !errors.Is(err, errInterrupted) {
		r.warnf("unanswered create calls could not be resolved: %v", err)
	}
	if !rules.discard {
		if err := r.rescue(); err != nil {
			return err
		}
	}
	changes := !r.run.Phase.Ended() || r.mayExist()
	var problems []error
	if err := r.remove(string(state.Destroyed), "client"); err != nil {
		problems = append(problems, err)
	}
	if !r.run.Phase.Ended() {
		r.finish(state.Cancelled, state.Destroyed, destroyedWords)
	}
	if changes {
		r.saveResult(nil) // who followed the run reads there what it came to
	}
	r.tidy()
	if len(problems) == 0 && r.run.Holds() && !r.run.Settled {
		problems = append(problems, failf("left_over", "run %s still holds something: %s", r.run.ID, heldWords(r.run)).at(r.address).hint("overbrainer destroy goes on with it"))
	}
	if len(problems) > 0 {
		return join(problems)
	}
	return nil
}

func heldWords(run *state.Run) string {
	switch {
	case run.Pod != nil && !run.Pod.Gone():
		return "pod " + run.Pod.ID
	case len(run.Strays) > 0:
		return "pod " + run.Strays[0].PodID
	case len(run.Secrets) > 0:
		return "account secret " + run.Secrets[0].Name
	}
	return "an unanswered create call"
}
