package main

import (
	"context"
	"log/slog"
	"os"
	"os/user"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/overbrainer/overbrainer/plan"
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

// keeper is a store that the state commands can also put a whole state into.
type keeper interface {
	state.Store
	Push(ctx context.Context, s *state.State, force bool) error
}

// projectStore is the project's state, wherever the configuration keeps it. It
// is opened when it is first used: a command that needs no state needs none.
type projectStore struct {
	app     *app
	wait    time.Duration
	sources map[string][]byte // in place of the directory's files

	once sync.Once
	at   keeper
	err  error
}

// store gives the project's state. wait is how long to wait for another
// process's transaction; 0 is the usual time.
func (a *app) store(wait time.Duration) *projectStore { return &projectStore{app: a, wait: wait} }

// storeOf is the store of a project whose directory may hold no configuration
// but the one of a plan file.
func (a *app) storeOf(sources map[string][]byte) *projectStore {
	if a.hasConfiguration() {
		sources = nil
	}
	return &projectStore{app: a, sources: sources}
}

func (s *projectStore) open() (keeper, error) {
	s.once.Do(func() {
		b, err := s.app.chosenBackend(s.sources)
		if err == nil {
			s.at, err = s.app.openBackend(b, s.wait)
		}
		s.err = err
	})
	return s.at, s.err
}

func (s *projectStore) Read(ctx context.Context) (*state.State, error) {
	at, err := s.open()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	st, err := at.Read(ctx)
	s.log(levelTrace, "state read", began, st, err)
	return st, err
}

func (s *projectStore) Update(ctx context.Context, change func(*state.State) error) (*state.State, error) {
	at, err := s.open()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	st, err := at.Update(ctx, change)
	s.log(slog.LevelDebug, "state transaction", began, st, err)
	return st, err
}

func (s *projectStore) Push(ctx context.Context, st *state.State, force bool) error {
	at, err := s.open()
	if err != nil {
		return err
	}
	began := time.Now()
	err = at.Push(ctx, st, force)
	s.log(slog.LevelDebug, "state push", began, st, err)
	return err
}

// Rescued lists copies in the project's directory of what could not be written.
func (s *projectStore) Rescued() []string {
	at, err := s.open()
	if store, ok := at.(interface{ Rescued() []string }); ok && err == nil {
		return store.Rescued()
	}
	return nil
}

// Names gives what is in the state without reading all of it, where that can be
// done.
func (s *projectStore) Names() ([]state.Name, bool) {
	at, err := s.open()
	if local, ok := at.(*state.LocalStore); ok && err == nil {
		return local.Names()
	}
	return nil, false
}

// log records what was done with the state.
func (s *projectStore) log(level slog.Level, what string, began time.Time, st *state.State, err error) {
	var attrs []any
	if st != nil {
		attrs = append(attrs, "serial", st.Serial, "addresses", len(st.Resources), "claims", len(st.Claims))
	}
	s.app.logs.done(level, what, began, err, attrs...)
}

// Session tells the state that many changes follow, see state.Sessions.
func (s *projectStore) Session() (end func(context.Context) error) {
	if at, err := s.open(); err == nil {
		if store, ok := at.(state.Sessions); ok {
			return store.Session()
		}
	}
	return func(context.Context) error { return nil }
}

// Unlock ends a backend's lock by force.
func (s *projectStore) Unlock(ctx context.Context, id string) error {
	at, err := s.open()
	if err != nil {
		return err
	}
	if remote, ok := at.(*state.RemoteStore); ok {
		return remote.Unlock(ctx, id)
	}
	return &state.NoLockError{ID: id}
}

// locks reports whether the place has a lock of its own, which has an ID.
func (s *projectStore) locks() bool {
	at, err := s.open()
	_, remote := at.(*state.RemoteStore)
	return err == nil && remote
}

// Where names the place, "" where it cannot be told.
func (s *projectStore) Where() string {
	at, err := s.open()
	if err != nil {
		return ""
	}
	return at.Where()
}

func (a *app) readState(ctx context.Context) (*state.State, error) {
	return a.store(0).Read(ctx)
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
	several := instancesOf(name, known)
	switch near := nearestAddress(name, known); {
	case several != "":
		p.message, p.hint = name+" has several instances: name one", "there are "+several
	case near != "":
		p.hint = "did you mean " + plan.ShellWord(near) + "?"
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
