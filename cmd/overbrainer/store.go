package main

import (
	"context"
	"os"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/overbrainer/overbrainer/state"
)

// holder is this process, as claims name it.
func holder() state.ClaimHolder {
	h := state.ClaimHolder{PID: os.Getpid(), Process: state.ProcessIdentity(os.Getpid())}
	if u, err := user.Current(); err == nil {
		h.Who = u.Username
	} else {
		h.Who = "unknown"
	}
	if name, err := os.Hostname(); err == nil {
		h.Host = name
	}
	return h
}

// store opens the project's state. wait is how long to wait for another
// process's transaction; 0 is the usual time.
func (a *app) store(wait time.Duration) *state.LocalStore {
	opts := []state.Option{state.HeldBy(holder()), state.Rescue(os.TempDir(), a.err)}
	if wait > 0 {
		opts = append(opts, state.LockTimeout(wait))
	}
	return state.Local(a.dir, version, opts...)
}

func (a *app) readState(ctx context.Context) (*state.State, error) {
	return a.store(0).Read(ctx)
}

// knownAddresses is what completion offers: the addresses in the state.
func (a *app) knownAddresses() []string {
	st, err := a.readState(context.Background())
	if err != nil {
		return nil
	}
	return st.Addresses()
}

// findRun takes an address or a run ID.
func findRun(st *state.State, name string) (address string, run *state.Run, err error) {
	if r, ok := st.Resources[name]; ok && r.Run != nil {
		if run := r.Run.CurrentRun(); run != nil {
			return name, run, nil
		}
	}
	if address, run := st.FindRun(name); run != nil {
		return address, run, nil
	}
	var known []string
	for _, a := range st.Addresses() {
		if st.Resources[a].Run != nil {
			known = append(known, a)
		}
	}
	p := &problem{code: "no_such_run", message: "there is no run " + name + " in the state"}
	switch near := nearest(name, known); {
	case near != "":
		p.hint = "did you mean " + near + "?"
	case len(known) > 0:
		p.hint = "there are " + strings.Join(known[:min(len(known), 10)], ", ")
	default:
		p.hint = "overbrainer apply starts what the configuration asks for"
	}
	return "", nil, p
}

// elapsed is how long a run's job has taken, or takes so far.
func elapsed(run *state.Run, now time.Time) float64 {
	if run.StartedAt == nil {
		return 0
	}
	end := now
	if run.EndedAt != nil {
		if run.Seconds > 0 { // in nominal time
			return run.Seconds
		}
		end = *run.EndedAt
	}
	return max(0, run.Pod.Nominal(end.Sub(*run.StartedAt)).Seconds())
}

// listed gives the runs of an address that are worth a row: the current one
// and the older ones that still hold something.
func listed(r *state.RunResource, all bool) []*state.Run {
	var out []*state.Run
	for _, run := range r.Runs {
		if all || run.ID == r.Current || run.Holds() {
			out = append(out, run)
		}
	}
	slices.Reverse(out)
	return out
}
