package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/apply"
	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/state"
)

// TestPodIsFound: where nothing of the run answers at the address that the state
// knows, the provider is asked for the pod; one that is gone or stopped is told as
// that, with what the state knows.
func TestPodIsFound(t *testing.T) {
	away := &apply.DialError{Stage: apply.StageConnect, Err: errors.New("connection refused")}
	old, moved := state.Endpoint{Host: "192.0.2.1", Port: 1001, User: "root"}, state.Endpoint{Host: "192.0.2.1", Port: 1002, User: "root"}
	at := func(e state.Endpoint, s providers.PodStatus) providers.Pod {
		return providers.Pod{ID: "p1", Status: s, SSH: &providers.Endpoint{Host: e.Host, Port: e.Port, User: e.User}}
	}
	unknown := &providers.Error{Kind: providers.NotFound}
	tests := []struct {
		name    string
		answers int // the port at which the pod answers; 0: none
		pods    []providers.Pod
		errs    []error
		phase   state.Phase
		left    bool // the state
		deleted bool // the pod, as the state has it
		keyless bool // nothing is dialled without the run's key
		over    bool
		message string // of the error; "": it is reached
		asked   int
	}{
		{name: "where it was", answers: old.Port},
		{name: "moved", answers: moved.Port, pods: []providers.Pod{at(moved, providers.Running)}, asked: 1},
		{name: "away for a moment", pods: []providers.Pod{at(old, providers.Running)}, message: "connection refused", asked: 1},
		{name: "without an address", pods: []providers.Pod{{ID: "p1", Status: providers.Running}}, message: "connection refused; the pod is RUNNING and has no address", asked: 1},
		{name: "no key", errs: []error{errors.New("there is no API key")}, message: "connection refused; the provider cannot be asked where the pod is now: there is no API key", asked: 1},
		{name: "stopped", pods: []providers.Pod{at(old, providers.Exited), at(old, providers.Exited)}, over: true, message: "pod p1 of run.r is EXITED and will not run again by itself; the state says running", asked: 2},
		{name: "stopped for a moment", answers: moved.Port, pods: []providers.Pod{at(old, providers.Exited), at(moved, providers.Running)}, asked: 2},
		{name: "gone", errs: []error{unknown, unknown}, over: true, message: "pod p1 of run.r is gone: the provider does not know it any more; the state says running", asked: 2},
		{name: "gone, and the run has ended", errs: []error{unknown, unknown}, phase: state.Failed, over: true, message: "the state says failed (exit_code 3)", asked: 2},
		{name: "deleted", deleted: true, phase: state.Cancelled, over: true, message: "pod p1 of run.r is gone; the state says cancelled"},
		{name: "destroyed", left: true, keyless: true, errs: []error{unknown, unknown}, over: true, message: "pod p1 of run.r is gone: the provider does not know it any more; another process removed the run from the state", asked: 2},
		{name: "destroyed, no API key", left: true, keyless: true, errs: []error{errors.New("there is no API key")}, over: true, message: "does not answer, and the provider cannot be asked where the pod is now: there is no API key; another process removed", asked: 1},
		{name: "forgotten only", left: true, answers: old.Port},
		{name: "the run's key is not here", keyless: true, pods: []providers.Pod{at(old, providers.Running)}, message: "the key is not here", asked: 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, asked, reads := 3, 0, 0
			read := func(context.Context) (*state.State, error) {
				st := state.New("")
				run := &state.Run{ID: "r-1", Phase: state.Running, Pod: &state.Pod{ID: "p1", SSH: &state.Endpoint{Host: old.Host, Port: old.Port, User: old.User}}}
				if tt.phase != "" {
					run.Phase, run.Reason, run.ExitCode = tt.phase, state.ExitCode, &code
				}
				if tt.deleted {
					run.Pod.State = state.PodDeleted
				}
				if reads++; reads > 1 && tt.left {
					return st, nil
				}
				st.Resources["run.r"] = &state.Resource{Run: &state.RunResource{Current: run.ID, Runs: []*state.Run{run}}}
				return st, nil
			}
			st, _ := read(t.Context())
			_, run := st.FindRun("r-1")
			f := &podFinder{
				address: "run.r", run: run, read: read, say: func(string) {},
				wait: func(context.Context, time.Duration) error { return nil }, now: time.Now,
				dial: func(_ context.Context, run *state.Run) (apply.Machine, error) {
					if tt.keyless {
						return nil, errors.New("the key is not here")
					}
					if run.Pod.SSH.Port != tt.answers {
						return nil, away
					}
					return logMachine{}, nil
				},
				ask: func(_ context.Context, _, id string) (pod providers.Pod, err error) {
					if asked < len(tt.errs) {
						err = tt.errs[asked]
					} else {
						pod = tt.pods[asked]
					}
					asked++
					return pod, err
				},
			}
			for range 2 { // the second time it is known, though the state does not
				m, err := f.reach(t.Context())
				if tt.message == "" && (err != nil || m == nil) {
					t.Fatalf("not reached: %v", err)
				}
				if tt.message != "" {
					if err == nil || !strings.Contains(err.Error(), tt.message) || podOver(err) != tt.over {
						t.Errorf("%v", err)
					}
					break
				}
			}
			if asked != tt.asked {
				t.Errorf("the provider was asked %d times", asked)
			}
		})
	}
}

// TestPodLogEnds: the log of a pod whose results are here ends well, that of one that
// died or was destroyed with how it ended, as the log of its job does.
func TestPodLogEnds(t *testing.T) {
	unknown := &providers.Error{Kind: providers.NotFound}
	running := &state.Run{ID: "r-1", Phase: state.Running, Pod: &state.Pod{ID: "p1"}}
	ended := func(phase state.Phase, retrieved bool, pod state.PodState) *state.Run {
		return &state.Run{ID: "r-1", Phase: phase, Retrieved: retrieved, Pod: &state.Pod{ID: "p1", State: pod}}
	}
	tests := []struct {
		name    string
		run     *state.Run // nil: it has left the state
		quiet   time.Duration
		err     error // of the provider
		ended   bool
		message string
	}{
		{name: "runs", run: running, quiet: time.Hour},
		{name: "died", run: running, quiet: time.Hour, err: unknown, ended: true, message: "is gone: the provider does not know it any more; the state says running"},
		{name: "died a moment ago", run: running, err: unknown},
		{name: "cannot be asked", run: running, quiet: time.Hour, err: errors.New("there is no API key")},
		{name: "lost", run: ended(state.Failed, false, state.PodDeleted), ended: true, message: "is gone; the state says failed"},
		{name: "fetched", run: ended(state.Succeeded, true, state.PodDeleted), ended: true},
		{name: "fetched, being deleted", run: ended(state.Succeeded, true, state.PodDeleting), quiet: time.Hour, err: unknown, ended: true},
		{name: "kept", run: ended(state.Succeeded, true, state.PodKept), quiet: time.Hour},
		{name: "has no pod yet", run: &state.Run{ID: "r-1", Phase: state.Preparing}, quiet: time.Hour, err: unknown},
		{name: "destroyed", err: unknown, ended: true, message: "another process removed the run from the state"},
		{name: "forgotten", ended: true, message: "is not followed any more; another process removed the run from the state"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			now, said := time.Now(), 0
			e := &podLogEnd{at: now.Add(-tt.quiet), pod: &podFinder{
				address: "run.r", run: running, now: func() time.Time { return now },
				read: func(context.Context) (*state.State, error) {
					st := state.New("")
					if tt.run != nil {
						st.Resources["run.r"] = &state.Resource{Run: &state.RunResource{Current: "r-1", Runs: []*state.Run{tt.run}}}
					}
					return st, nil
				},
				ask: func(context.Context, string, string) (providers.Pod, error) {
					return providers.Pod{ID: "p1", Status: providers.Running, SSH: &providers.Endpoint{Host: "192.0.2.1", Port: 1}}, tt.err
				},
				say: func(string) { said++ }, wait: func(context.Context, time.Duration) error { return nil },
			}}
			ended, err := e.look(t.Context())
			if ended != tt.ended || (err != nil) != (tt.message != "") || err != nil && (!podOver(err) || !strings.Contains(err.Error(), tt.message)) {
				t.Errorf("ended %v: %v", ended, err)
			}
			if cannot := tt.name == "cannot be asked"; cannot != (said == 1) {
				t.Errorf("%d words", said)
			}
		})
	}
}
