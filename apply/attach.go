package apply

import (
	"context"
	"errors"
	"fmt"

	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/state"
)

// Attach follows a run, by its address or run ID, to its end, as the apply
// that started it would have done. Where another process follows it already it
// looks on, and takes the run over where that process ends before the run does.
func (e *Engine) Attach(ctx context.Context, name string, opt Options) (Outcome, error) {
	return e.onRun(ctx, "attach", name, opt, func(r *runner) RunOutcome {
		out := r.attach()
		if r.run.Phase.Ended() && !r.unclaimed {
			r.s.settleOutputs()
		}
		return out
	})
}

// Stop asks a run's job to save itself and stop, waits for it and brings the
// checkpoint home. Where another process follows the run, that one does so.
func (e *Engine) Stop(ctx context.Context, name string, opt Options) (Outcome, error) {
	return e.onRun(ctx, "stop", name, opt, func(r *runner) RunOutcome { return r.stopJob() })
}

// Cancel ends a run's job now, brings home what there is and ends its pod.
// Where another process follows the run, that one does the rest.
func (e *Engine) Cancel(ctx context.Context, name string, opt Options) (Outcome, error) {
	return e.onRun(ctx, "cancel", name, opt, func(r *runner) RunOutcome { return r.cancelJob() })
}

// onRun finds a run and works on it: with its address claimed, or beside the
// process that holds it.
func (e *Engine) onRun(ctx context.Context, operation, name string, opt Options, work func(*runner) RunOutcome) (Outcome, error) {
	s := e.open(ctx, operation, opt.LockTimeout)
	defer s.close()
	return s.until(func() (Outcome, error) {
		r, err := s.find(name)
		if err != nil {
			return Outcome{}, err
		}
		defer func() {
			if r.claim != nil { // from the start, or taken over meanwhile
				s.claims.release(r.address)
			}
		}()
		out := r.orLookOn(work(r))
		s.mu.Lock()
		s.outcome.Runs = append(s.outcome.Runs, out)
		s.outcome.Interrupted = s.outcome.Interrupted || out.Class == Interrupt
		s.mu.Unlock()
		return s.settled(), nil
	})
}

// find gives a runner for a run by address or ID.
func (s *session) find(name string) (*runner, error) {
	st, err := s.read()
	if err != nil {
		return nil, err
	}
	s.lineage = st.Lineage
	address, run := st.FindRun(name)
	if run == nil {
		address, run = name, currentRun(st, name)
	}
	if run == nil {
		return nil, failf("no_run", "there is no run %q", name).hint("overbrainer run list")
	}
	provider := st.Resources[address].Provider
	c, err := s.claims.try(address)
	var held *state.ClaimedError
	if err != nil && !errors.As(err, &held) {
		return nil, err
	}
	r, err := s.runner(address, provider, nil, c)
	if err != nil {
		return nil, err
	}
	r.unclaimed = c == nil
	if st, err = s.read(); err != nil {
		return nil, err
	}
	if now := findRun(st, address, run.ID); now != nil {
		run = now
	}
	r.load(run)
	return r, nil
}

// attach goes on with a run.
func (r *runner) attach() RunOutcome {
	run := r.run
	switch {
	case r.unclaimed:
		return r.observe()
	case r.beforeStart():
		return r.failed(failf("not_started", "the job of run %s was not started yet", run.ID).at(r.address).hint("overbrainer apply goes on with it"))
	case run.Phase.Ended() && (run.Pod == nil || run.Pod.Gone() || run.Retrieved):
		out := r.outcome()
		out.Tail = lastLines(r.dir(), 20)
		return out
	}
	return r.goOn(nil)
}

// reachable checks that the run has a job on a pod and connects to it.
func (r *runner) reachable(verb string) error {
	run := r.run
	switch {
	case run.Phase.Ended():
		return r.hasEnded(verb)
	case run.Pod == nil || run.Pod.Gone():
		return failf("no_pod", "run %s has no pod: nothing to %s", run.ID, verb).at(r.address)
	}
	return r.connect()
}

// beforeStart reports whether the order to start the job was not sent yet.
func (r *runner) beforeStart() bool {
	run := r.run
	return run.Phase == state.Preparing && (run.Pod == nil || run.Pod.State != state.PodLaunching)
}

// notYet says of a run without a job who gets it a pod, and what ends that.
func (r *runner) notYet(verb string) error {
	e := failf("not_started", "the job of run %s was not started yet: nothing to %s", r.run.ID, verb).at(r.address)
	if !r.unclaimed {
		return e.hint("%s ends it", r.command("cancel"))
	}
	who := "the command that starts it"
	if st, err := r.s.read(); err == nil {
		if c, held := st.Claims[r.address]; held {
			who = fmt.Sprintf("%s of %s@%s (pid %d), which starts it", c.Operation, c.Who, c.Host, c.PID)
		}
	}
	return e.hint("wait until it runs, or end it with its pod: interrupt %s, or overbrainer destroy -take-over -target=%s", who, plan.ShellWord(r.address))
}

// hasEnded says that the job of a run has ended, and of a pod that it still has
// what ends that.
func (r *runner) hasEnded(verb string) error {
	e := failf("not_running", "run %s has ended (%s): nothing to %s", r.run.ID, r.run.Phase, verb).at(r.address)
	pod := r.run.Pod
	if pod == nil || pod.Gone() {
		return e
	}
	e.ID = pod.ID
	remove := "overbrainer pod rm " + r.run.ID
	if r.run.Retrieved || pod.State == state.PodDeleting {
		return e.hint("its pod %s is still there, %s; %s ends it", pod.ID, podHour(pod), remove)
	}
	return e.hint("its results wait on pod %s, %s; %s brings them home and ends it, %s ends it with them", pod.ID, podHour(pod), r.command("attach"), remove)
}

func (r *runner) stopJob() RunOutcome {
	if r.run.Phase.Ended() {
		return r.failed(r.hasEnded("stop"))
	}
	if r.beforeStart() {
		return r.failed(r.notYet("stop"))
	}
	if r.run.Job.SnapshotPath == "" {
		return r.failed(failf("no_snapshots", "the job of run %s cannot save itself: it has no snapshot block", r.run.ID).at(r.address).hint("%s ends it", r.command("cancel")))
	}
	if err := r.reachable("stop"); err != nil {
		return r.unreachable(err)
	}
	ask := func(ctx context.Context, m Machine) error {
		r.showFromNow(ctx, m)
		return m.RequestSnapshot(ctx, "requested", true)
	}
	if err := r.onPod(r.t.Call, ask); err != nil {
		return r.failed(failf("unreachable", "the job could not be asked: %v", err).at(r.address).because(err))
	}
	r.emit(Event{Kind: EventSnapshot, Message: "asked the job to save itself and stop"})
	if r.unclaimed {
		out := r.observe()
		if r.unclaimed && out.Err == nil && out.State == string(state.Succeeded) && r.run.Message != "" && r.run.Message != succeededWords {
			r.inDoubtOf(r.run.Message)
		}
		return calm(out)
	}
	return calm(r.running())
}

// showFromNow counts what the job's log has by now as told, where another process
// follows the run: that one tells it, and here it is shown what comes of the order.
func (r *runner) showFromNow(ctx context.Context, m Machine) {
	if !r.unclaimed || r.shown > 0 {
		return
	}
	if p, err := m.Poll(ctx, Offsets{Log: -1, Metrics: -1}, 0); err == nil {
		r.shown = p.Next.Log
	}
}

// calm is the outcome of a command whose aim was the end of the job.
func calm(out RunOutcome) RunOutcome {
	if out.Err == nil && out.Class == JobFailed && (out.State == string(state.Stopped) || out.State == string(state.Cancelled)) {
		out.Class = OK
	}
	return out
}

func (r *runner) cancelJob() RunOutcome {
	switch {
	case r.beforeStart() && r.unclaimed:
		return r.failed(r.notYet("cancel"))
	case r.beforeStart():
		return r.cancelBeforeStart()
	}
	if err := r.reachable("cancel"); err != nil {
		return r.unreachable(err)
	}
	var p Poll
	err := r.onPod(2*r.t.Call, func(ctx context.Context, m Machine) error {
		r.showFromNow(ctx, m)
		err := m.Cancel(ctx)
		if err == nil {
			p, err = m.Poll(ctx, Offsets{Log: -1, Metrics: -1}, 0)
		}
		return err
	})
	if r.unclaimed && podEnded(err) {
		return calm(r.observe()) // whoever follows it was quick to end it
	}
	if err != nil {
		return r.failed(failf("cancel", "the job could not be cancelled: %v", err).at(r.address).because(err))
	}
	if p.State == JobExited {
		out := r.outcome()
		out.Message = fmt.Sprintf("the job had already ended by itself, with exit code %d; %s brings its results home", p.Exit, r.command("attach"))
		out.Class = OK
		r.s.say(out.Message)
		r.closeMachine()
		return out
	}
	r.emit(Event{Kind: EventPhase, Phase: "ending", Message: "the job was cancelled"})
	if r.unclaimed {
		return calm(r.observe())
	}
	return calm(r.running())
}

// cancelBeforeStart ends a run that nobody works on and that has no job yet.
func (r *runner) cancelBeforeStart() RunOutcome {
	pods, err := r.s.listPods(r.provider)
	if err == nil {
		err = r.resolveAttempts(pods)
	}
	if err == nil {
		err = r.remove("cancelled", "client")
	}
	if err != nil {
		return r.failed(err)
	}
	r.finish(state.Cancelled, state.UserCancelled, "cancelled before the job started")
	r.tidy()
	return calm(r.done(nil))
}
