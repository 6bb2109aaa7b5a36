package apply

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/state"
)

// runner works on one run of one address, which it holds a claim on.
type runner struct {
	s        *session
	address  string
	provider string
	rented   Rented
	t        Timing
	// spec is what to do; nil where only the state tells.
	spec  *plan.RunSpec
	claim *claim
	// checkpoint are the files that the job starts from, once they were read.
	checkpoint []File
	// unclaimed: only looking, or acting beside the holder; nothing is written.
	unclaimed bool
	diskUSD   float64

	mu  sync.Mutex
	run *state.Run // as last written, with what could not be written
	// told: that the run's pod bills while the state cannot be written.
	told bool

	// secrets are the values that the job is given, by secret, from shortly
	// before its pod is rented.
	secrets  map[string][]byte
	signer   ssh.Signer
	machine  Machine
	logs     *podLog
	lastSeen time.Time // of the pod, alive
	// stateLooks counts the looks at the state since the pod was last reached.
	stateLooks int
	// unseen says until when the pod counts whose end nobody saw; "" where somebody
	// did.
	unseen string
	// unansweredAt is when the provider last gave no answer at a time at which the
	// pod was still to be there: its guard got none, either, and ended nothing.
	unansweredAt time.Time
	marked       bool // the pod's guard knows that the results are here
	volumeGB     int
	endpoint     *providers.Endpoint
	shown        int64 // up to where on the pod lines of the job's log were told
	// taken is the newest whole checkpoint that came home while the job went on, as
	// it was then on the pod.
	taken Checkpoint
	// fetchedEarly: what the job wrote until shortly before its bound is here.
	fetchedEarly bool
}

// change is a modification of the run's record. It may be made more than once.
type change func(st *state.State, run *state.Run)

func (s *session) runner(address, provider string, spec *plan.RunSpec, c *claim) (*runner, error) {
	rented, err := s.provider(provider)
	if err != nil {
		return nil, err
	}
	r := &runner{s: s, address: address, provider: provider, rented: rented, t: s.timing(provider), spec: spec, claim: c}
	if spec != nil {
		r.diskUSD = spec.Target.DiskHourly()
	}
	return r, nil
}

// load takes over the record of a run.
func (r *runner) load(run *state.Run) { r.run = run.Copy() }

// save writes changes of the run's record. It fails with errClaimLost when
// somebody else works on the address now.
func (r *runner) save(changes ...change) error {
	return r.saveIf(nil, changes...)
}

// saveIf is save under a condition: when it fails nothing is written.
func (r *runner) saveIf(condition func(st *state.State, run *state.Run) error, changes ...change) error {
	if r.unclaimed {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	st, err := r.s.updateOnly(func(st *state.State) error {
		if r.claim != nil && !st.Holds(r.claim.id, r.address) {
			return errClaimLost
		}
		run := findRun(st, r.address, r.run.ID)
		if run == nil {
			return failf("state_moved", "run %s is not in the state any more", r.run.ID).at(r.address)
		}
		if condition != nil {
			if err := condition(st, run); err != nil {
				return err
			}
		}
		for _, c := range changes {
			c(st, run)
		}
		return nil
	}, r.address)
	if err != nil {
		if CodeOf(err) != "state" {
			return err // the condition's own, or the claim's
		}
		scratch := state.New("")
		for _, c := range changes {
			c(scratch, r.run)
		}
		return r.billing(err)
	}
	if run := findRun(st, r.address, r.run.ID); run != nil {
		r.run = run.Copy()
	}
	return nil
}

// billing names the pod that bills in the error of a write that failed. The
// store keeps what was to be written and writes it with what comes next.
func (r *runner) billing(err error) error {
	var e *Error
	if r.run.Pod == nil || r.run.Pod.Gone() || !errors.As(err, &e) {
		return err
	}
	e.Hint = fmt.Sprintf("pod %s is there, %s; overbrainer pod rm %s -force ends it, whatever the state says", r.run.Pod.ID, podHour(r.run.Pod), r.run.ID)
	if !r.told {
		r.told = true
		r.warnf("the state cannot be written: %s", e.Hint)
	}
	return err
}

func findRun(st *state.State, address, id string) *state.Run {
	res := st.Resources[address]
	if res == nil || res.Run == nil {
		return nil
	}
	return res.Run.Find(id)
}

// dir is the run's local directory.
func (r *runner) dir() string { return filepath.Join(r.s.Project, filepath.FromSlash(r.run.Dir)) }

func (r *runner) now() time.Time { return r.s.now(r.provider) }

func (r *runner) emit(e Event) {
	e.Address = r.address
	if r.run != nil {
		e.RunID = r.run.ID
		if !r.run.Phase.Ended() {
			e.Since = r.run.CreatedAt
		}
		if e.PodID == "" && r.run.Pod != nil {
			e.PodID = r.run.Pod.ID
		}
		e.SpentUSD = r.run.SpentUSD(r.now())
		e.CapUSD = r.limitUSD()
		e.RateUSD, e.Speed = rateOf(r.run.Pod), r.t.Speed()
	}
	r.s.emit(e)
}

func (r *runner) phase(name, format string, args ...any) {
	r.emit(Event{Kind: EventPhase, Phase: name, Message: fmt.Sprintf(format, args...)})
}

func (r *runner) warnf(format string, args ...any) {
	r.emit(Event{Kind: EventWarning, Message: fmt.Sprintf(format, args...)})
}

// begin makes the record of a new run, its directory and its keys. Where the money
// of its cap does not allow it there is no run that could only fail.
func (r *runner) begin(offers []plan.Offer) error {
	var run *state.Run
	err := r.funded(func() (err error) {
		run, err = r.noteNew(offers)
		return err
	})
	if err != nil {
		return err
	}
	r.run = run
	r.phase("waiting", "run %s", run.ID)
	return r.saveInputs()
}

// noteNew writes down a new run, with what is set aside for it.
func (r *runner) noteNew(offers []plan.Offer) (*state.Run, error) {
	now := r.now()
	id, err := newRunID(r.address, now)
	if err != nil {
		return nil, err
	}
	run := r.record(id, now)
	_, err = r.s.updateOnly(func(st *state.State) error {
		if !st.Holds(r.claim.id, r.address) {
			return errClaimLost
		}
		st.Prune(r.address) // what earlier runs of it do not hold any more is left
		if err := r.setAside(st, run, offers); err != nil {
			return err
		}
		res := st.Resources[r.address]
		if res == nil || res.Run == nil {
			res = &state.Resource{Type: "run", Provider: r.provider, Run: &state.RunResource{}}
			st.Resources[r.address] = res
		}
		if cur := res.Run.CurrentRun(); cur != nil {
			if !cur.Phase.Ended() {
				return failf("stale_plan", "run %s is under way", cur.ID).at(r.address).hint("plan again")
			}
			if cur.Fingerprint == run.Fingerprint {
				run.Try = cur.Try + 1
			}
			run.Previous = cur.Before(run.From)
		}
		res.Provider = r.provider
		res.Run.Runs = append(res.Run.Runs, run.Copy())
		res.Run.Current = id
		st.Prune(r.address)
		return nil
	}, r.address)
	return run, err
}

func (r *runner) record(id string, now time.Time) *state.Run {
	spec := r.spec
	run := &state.Run{
		ID: id, Phase: state.Preparing, Fingerprint: spec.Fingerprint, Try: 1,
		Dir: "runs/" + id, Target: spec.Target.Address, CreatedAt: now,
		KeySource: r.s.Keys.Kind(), Holder: r.s.Who.Who + "@" + r.s.Who.Host,
		CostBasis: "estimated", Bounds: boundsOf(spec), Job: jobOf(spec),
	}
	if from := spec.ResumeFrom; from != nil {
		run.ResumedFrom = from.RunID
		if from.Run == r.address {
			run.From = from.Checkpoint()
		}
	}
	return run
}

func boundsOf(spec *plan.RunSpec) state.Bounds {
	c := spec.Cap
	return state.Bounds{
		Cap: c.Address, Where: c.Where, MaxHours: c.MaxHours, OverrunHours: c.OverrunHours,
		MaxCostUSD: c.MaxCostUSD, MaxTotalUSD: c.MaxTotalUSD, BootGraceS: c.BootGraceS,
		RetrieveGrace: c.RetrieveGraceS, StallAfterS: c.StallAfterS, MaxVolumeGB: c.MaxVolumeGB,
		KeepPodS: spec.KeepPodS, ReadyTimeoutS: spec.Target.ReadyTimeoutS,
	}
}

func jobOf(spec *plan.RunSpec) state.Job {
	j := state.Job{
		Outputs: spec.Outputs, AllowEmpty: spec.AllowEmpty, Metrics: spec.Metrics,
		MetricsRequired: spec.MetricsRequired, PreventDestroy: spec.PreventDestroy,
	}
	if s := spec.Snapshot; s != nil {
		j.SnapshotPath, j.SnapshotGraceS, j.SnapshotEveryS, j.SnapshotSignal = s.Path, s.GraceS, s.EveryS, s.Signal
	}
	return j
}

// command names a command on this run for a message.
func (r *runner) command(verb string) string {
	return "overbrainer run " + verb + " " + plan.ShellWord(r.address)
}
