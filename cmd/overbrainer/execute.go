package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/overbrainer/overbrainer/apply"
	"github.com/overbrainer/overbrainer/internal/ui"
	"github.com/overbrainer/overbrainer/plan"
)

// effects are the flags of every command that works on runs.
type effects struct {
	json        bool
	parallelism int
	lockTimeout time.Duration
	// oneRun: the command works on one run, and its error is that run's.
	oneRun bool
}

func (e *effects) register(f *flags) {
	e.parallelism = 10
	f.boolean(&e.json, "json", "events as JSON lines on the standard output, errors as JSON")
	f.positive(&e.parallelism, "parallelism", "N", "how many runs are begun or destroyed at a time")
	f.duration(&e.lockTimeout, "lock-timeout", "how long to wait for what another process works on")
}

// execute lets the engine do something, shows its events and its outcome, and
// gives the error that decides the exit code. pl, if any, leads the JSON
// stream.
func (p *project) execute(e effects, pl *plan.Plan, work func(*apply.Engine) (apply.Outcome, error)) error {
	a := p.app
	view, err := p.view(e.json, pl)
	if err != nil {
		return err
	}
	if e.oneRun && !e.json {
		view = withoutFailures{view}
	}
	view = ui.Queue(view)
	interrupts, release := a.stop.toEngine()
	defer release()
	engine, err := p.engine(e, pl, view.Event, interrupts)
	if err != nil {
		view.Close()
		return err
	}
	emit := view.Event
	a.events.Store(&emit)
	outcome, err := work(engine)
	a.events.Store(nil)
	view.Close()
	if a.stop.count() > 1 {
		// The providers' processes finish what is in flight when this one is
		// gone; closing them now would wait for it.
		p.procs = nil
	}
	if err == nil {
		err = verdict(outcome)
	}
	if told := p.tell(e.json, outcome, err); told != nil && err == nil {
		err = told
	}
	return err
}

// withoutFailures leaves out of a view what the command's error says once more.
type withoutFailures struct{ ui.Events }

func (v withoutFailures) Event(e apply.Event) {
	if e.Kind != apply.EventFailed {
		v.Events.Event(e)
	}
}

// view chooses how events are shown.
func (p *project) view(asJSON bool, pl *plan.Plan) (ui.Events, error) {
	a := p.app
	switch {
	case asJSON:
		return ui.JSONEvents(a.out, pl)
	case isTerminal(os.Stderr) && a.environ("TERM") != "dumb":
		followed, removed := runsOf(pl)
		return ui.LiveEvents(a.err, a.errLook, followed, removed), nil
	}
	return ui.PlainEvents(a.err), nil
}

// runsOf counts the runs that the execution of a plan follows and removes.
func runsOf(pl *plan.Plan) (followed, removed int) {
	if pl == nil {
		return 0, 0
	}
	for _, s := range pl.Steps {
		switch {
		case s.Type != "run":
		case s.Begins(), s.Action == plan.Attach, s.Action == plan.Collect:
			followed++
		case s.Action == plan.Destroy, s.Action == plan.Forget:
			removed++
		}
	}
	return followed, removed
}

// tell shows the outcome.
func (p *project) tell(asJSON bool, o apply.Outcome, err error) error {
	a := p.app
	if asJSON {
		return ui.OutcomeJSON(a.out, o, a.now(), exitCode(err))
	}
	return ui.Outcome(a.out, o, a.outLook())
}

// verdict makes an error of an outcome that is none of its own.
func verdict(o apply.Outcome) error {
	if o.Class == apply.OK {
		return nil
	}
	p := &problem{code: "failed", message: "not everything could be done", exit: int(o.Class)}
	switch o.Class {
	case apply.Interrupt:
		p.code, p.message = "interrupted", "interrupted"
	case apply.JobFailed:
		p.code, p.message = "job_failed", "a job failed"
	case apply.Held:
		p.code, p.message = "held", "another process works on it"
	case apply.NothingRentable:
		p.code, p.message = "no_capacity", "nothing could be rented within the limits; nothing was created"
	case apply.Failure:
	}
	p.detail(o)
	if n := wrongs(o); n > 1 && o.Class != apply.Interrupt {
		p.message += fmt.Sprintf(" (the first of %d errors)", n)
	}
	return p
}

// wrongs counts what went wrong.
func wrongs(o apply.Outcome) int {
	n := len(o.Errors)
	for _, r := range o.Runs {
		if r.Class != apply.OK {
			n++
		}
	}
	for _, c := range o.Checks {
		if failed(c) {
			n++
		}
	}
	return n
}

func failed(c apply.Check) bool { return c.Status == "fail" || c.Status == "error" }

// detail names the first thing that went wrong.
func (p *problem) detail(o apply.Outcome) {
	for _, r := range o.Runs {
		if int(r.Class) != p.exit {
			continue
		}
		p.address, p.id = r.Address, r.RunID
		var e *apply.Error
		switch {
		case errors.As(r.Err, &e):
			p.code, p.hint = e.Code, e.Hint
			p.message = about(r.Address, e.Message)
			if e.ID != "" {
				p.id = e.ID
			}
		case r.Err != nil:
			p.message = about(r.Address, r.Err.Error())
		case r.Message != "":
			p.message = about(r.Address, r.Message)
		case r.Reason != "" && o.Class != apply.Interrupt:
			p.message = r.Address + ": " + r.State + ", " + r.Reason
		}
		return
	}
	for _, err := range o.Errors {
		if int(apply.ClassOf(err)) != p.exit {
			continue
		}
		var e *apply.Error
		if errors.As(err, &e) {
			p.code, p.message, p.address, p.id, p.hint = e.Code, about(e.Address, e.Message), e.Address, e.ID, e.Hint
		} else {
			p.message = err.Error()
		}
		return
	}
	for _, c := range o.Checks {
		if failed(c) {
			p.code, p.message, p.hint = "check", "check "+c.Name+": "+c.Message, c.Where
			return
		}
	}
	if len(o.Left) > 0 {
		l := o.Left[0]
		p.code, p.message = "left_over", l.Kind+" "+l.ID+" is still there"
		p.address, p.id, p.hint = l.Address, l.ID, l.Fix
	}
}
