package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/overbrainer/overbrainer/apply"
	"github.com/overbrainer/overbrainer/internal/ui"
	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/state"
)

// podFinder reaches the pod of a run for who looks on: at the address that the
// state knows and, where nothing of the run answers there, at the one that the
// provider says. Of a run that nobody follows the state knows the old one. The
// host key is the run's own at either.
type podFinder struct {
	address string
	run     *state.Run
	read    func(context.Context) (*state.State, error)
	dial    func(context.Context, *state.Run) (apply.Machine, error)
	ask     func(ctx context.Context, address, podID string) (providers.Pod, error)
	say     func(string)
	now     func() time.Time
	wait    func(context.Context, time.Duration) error

	stale, at *state.Endpoint // the state's address, and what the provider says in place of it
}

// finder is a podFinder over what the project knows. open gives it with its
// configuration, which only the provider's key is needed of.
func (a *app) finder(st *state.State, address string, run *state.Run, open func(context.Context) (*project, error)) *podFinder {
	looking := &project{app: a, st: st}
	return &podFinder{
		address: address, run: run, read: a.readState, dial: looking.dial, now: a.now, wait: sleepFor,
		say: func(text string) { fmt.Fprintln(a.err, text) },
		ask: func(ctx context.Context, address, podID string) (providers.Pod, error) {
			p, err := open(ctx)
			if err != nil {
				return providers.Pod{}, err
			}
			name := st.Resources[address].Provider
			if err := p.configure(ctx, map[string]bool{name: true}); err != nil {
				return providers.Pod{}, err
			}
			return p.rented[name].Provider.GetPod(ctx, podID)
		},
	}
}

// reach gives a connection to the pod. A pod that is gone or stopped is a
// *problem: another try does not help.
func (f *podFinder) reach(ctx context.Context) (apply.Machine, error) {
	known := f.latest(ctx)
	if pod := known.run.Pod; pod != nil && pod.Gone() {
		return nil, f.over(ctx, "is gone")
	}
	f.takeAddress(known.run)
	m, err := f.dial(ctx, f.run)
	if err == nil || ctx.Err() != nil {
		return m, err
	}
	// A key that is not here any more went with its run, as a rule.
	at, cannot := f.whereNow(ctx)
	var failed *apply.DialError
	switch {
	case at == nil:
		return nil, cannot
	case known.left && cannot != nil:
		return nil, f.over(ctx, "does not answer, and "+cannot.Error())
	case !errors.As(err, &failed):
		return nil, err
	case cannot != nil:
		return nil, fmt.Errorf("%w; %w", err, cannot)
	case *at == *f.run.Pod.SSH:
		return nil, err
	}
	f.say(fmt.Sprintf("pod %s has another address by now: %s, port %d", f.run.Pod.ID, at.Host, at.Port))
	if f.stale == nil {
		f.stale = f.run.Pod.SSH
	}
	f.at, f.run.Pod.SSH = at, at
	return f.dial(ctx, f.run)
}

// known is what the state says of a run by now.
type known struct {
	run  *state.Run // as it was known before, where it left the state or that cannot be read
	left bool
	busy string // who else works on it
}

func (f *podFinder) latest(ctx context.Context) known {
	st, err := f.read(ctx)
	if err != nil {
		return known{run: f.run}
	}
	if _, run := st.FindRun(f.run.ID); run != nil {
		return known{run: run, busy: plan.OthersWork(st, holder(), f.now())[run.ID]}
	}
	return known{run: f.run, left: true}
}

// takeAddress takes the pod's address from the state, which may know another since.
func (f *podFinder) takeAddress(run *state.Run) {
	if run.Pod == nil || run.Pod.SSH == nil {
		return
	}
	if f.stale != nil && *run.Pod.SSH == *f.stale {
		run.Pod.SSH = f.at
	}
	f.run = run
}

// whereNow asks the provider where the pod is. at is nil, and the error a *problem,
// where it is nowhere.
func (f *podFinder) whereNow(ctx context.Context) (at *state.Endpoint, err error) {
	const looks = 2 // a container that restarts may look dead for a moment
	for look := 1; ; look++ {
		pod, err := f.ask(ctx, f.address, f.run.Pod.ID)
		over := ""
		switch {
		case providers.Is(err, providers.NotFound):
			over = "is gone: the provider does not know it any more"
		case err != nil:
			return f.run.Pod.SSH, fmt.Errorf("the provider cannot be asked where the pod is now: %w", err)
		case pod.Status.Dead():
			over = fmt.Sprintf("is %s and will not run again by itself", pod.Status)
		case pod.SSH == nil:
			return f.run.Pod.SSH, fmt.Errorf("the pod is %s and has no address at the moment", pod.Status)
		default:
			return &state.Endpoint{Host: pod.SSH.Host, Port: pod.SSH.Port, User: pod.SSH.User}, nil
		}
		if look == looks {
			return nil, f.over(ctx, over)
		}
		if err := f.wait(ctx, time.Second); err != nil {
			return nil, err
		}
	}
}

// over says how a pod ended, and what the state knows of its run.
func (f *podFinder) over(ctx context.Context, how string) error {
	known := f.latest(ctx)
	run := known.run
	p := &problem{code: podOverCode, address: f.address, id: run.ID}
	says := "the state says " + ui.StateWords(string(run.Phase), string(run.Reason), run.ExitCode)
	switch {
	case known.left:
		says = "another process removed the run from the state"
	case run.Phase.Ended():
		p.hint = run.Message
	case known.busy != "":
		p.hint = known.busy
	default:
		p.hint = "overbrainer run attach " + plan.ShellWord(f.address) + " ends the run and tells what is left of it"
	}
	p.message = fmt.Sprintf("pod %s of %s %s; %s", f.run.Pod.ID, f.address, how, says)
	return p
}

const podOverCode = "pod_over"

// podOver tells the end of a pod from one that cannot be reached at the moment.
func podOver(err error) bool {
	var p *problem
	return errors.As(err, &p) && p.code == podOverCode
}

func sleepFor(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
