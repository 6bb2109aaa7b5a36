// Package apply executes a plan: it rents machines, runs jobs on them, follows
// them, brings their results home and ends the machines. What it promises: at
// no moment does a pod or an account secret exist that the state does not
// know, and running it again is the whole recovery from any interruption.
//
// It keeps that promise with three rules. The intent is in the state before
// the call that makes something, the answer before the next call. Nothing
// leaves the state before the provider showed that it is gone. Whatever was
// left unanswered is resolved before anything new is begun.
//
// It never parses a configuration: what it needs is in the plan, and values
// that hang on runs which have ended come from an Evaluator.
package apply

import (
	"context"
	"slices"
	"time"

	"github.com/overbrainer/overbrainer/internal/safetext"
	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/state"
)

// Engine executes plans and the commands on runs. All fields but those said to
// be optional are required. One Engine serves one command.
type Engine struct {
	Store     state.Store
	Providers map[string]Rented
	Keys      KeySource
	// Secrets reads a secret's value; it is asked only for a job that is about to
	// get a pod.
	Secrets   func(ctx context.Context, s plan.SecretSpec) ([]byte, error)
	Evaluator Evaluator // optional: a plan without late values needs none
	Dial      Dialer
	Program   PodProgram
	Timing    Timing // the zero value means Production
	// Now is the client's clock.
	Now func() time.Time
	// Emit shows an event. It may be called from several goroutines.
	Emit func(Event)
	// Redactor masks secrets in everything that is shown or stored; optional.
	Redactor *safetext.Redactor
	// Project is the absolute path of the project's directory.
	Project string
	// Interrupts carries the user's wish to stop: the first one stops in good
	// order, the second at once. Optional.
	Interrupts <-chan struct{}
	Who        state.ClaimHolder
	// Parallelism is how many runs are worked on at a time; 0 = 10.
	Parallelism int
	Version     string
}

// Options of Apply.
type Options struct {
	// Detach leaves every job as soon as it was started.
	Detach bool
	// LockTimeout is how long to wait for an address that another process
	// works on.
	LockTimeout time.Duration
	// Exactly refuses a state that moved on since the plan was made.
	Exactly bool
}

// Apply executes the plan. The error says why nothing could be done at all;
// everything that went wrong with single steps is in the Outcome.
func (e *Engine) Apply(ctx context.Context, p *plan.Plan, opt Options) (Outcome, error) {
	s := e.open(ctx, "apply", opt.LockTimeout)
	defer s.close()
	s.detach = opt.Detach
	return s.until(func() (Outcome, error) { return s.apply(p, opt) })
}

func (s *session) apply(p *plan.Plan, opt Options) (Outcome, error) {
	if err := s.begin(p, opt); err != nil {
		return Outcome{}, err
	}
	if err := s.recoverAll(stepAddresses(p)); err != nil {
		return s.outcome, err
	}
	s.walkGraph(p)
	s.conclude(p)
	return s.settled(), nil
}

// begin checks that the plan is for this state and, where it does anything, that
// the state can be written, before anything else is touched.
func (s *session) begin(p *plan.Plan, opt Options) error {
	st, err := s.updateOnly(func(st *state.State) error {
		if p.Project.Lineage != "" && p.Project.Lineage != st.Lineage {
			return failf("other_project", "the plan was made for another project: its state has lineage %s, this one %s", p.Project.Lineage, st.Lineage)
		}
		if opt.Exactly {
			basis, err := plan.Basis(st)
			if err != nil {
				return err
			}
			if basis != p.Project.StateDigest {
				return failf("stale_plan", "the state has moved on since the plan was made (serial %d, now %d)", p.Project.Serial, st.Serial).hint("plan again")
			}
		}
		if st.Serial > 0 && idle(p) {
			return state.ErrNoChange
		}
		return move(st, p.Moves, s.Who, s.Now())
	}, movedAddresses(p.Moves)...)
	if err != nil {
		return unlessHeld(err)
	}
	s.lineage = st.Lineage
	return nil
}

// idle: executing the plan writes nothing but what it ends with.
func idle(p *plan.Plan) bool {
	return !p.Destroying && len(p.Moves) == 0 && !slices.ContainsFunc(p.Steps, func(s *plan.Step) bool { return !idleStep(s) })
}

func stepAddresses(p *plan.Plan) map[string]bool {
	set := map[string]bool{}
	for _, step := range p.Steps {
		set[step.Address] = true
	}
	return set
}
