package apply

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/providers/providertest"
	"github.com/overbrainer/overbrainer/state"
)

var errDead = errors.New("the process is dead")

// grim lets a process die at one of its boundaries: from there on nothing that
// it does has an effect or an answer.
type grim struct {
	mu    sync.Mutex
	at    int // the boundary at which it dies; 0: never
	n     int
	dead  bool
	label string
	seen  []string
	// end takes the caller's place in the process that died: what is left of it
	// runs on without effect.
	end chan struct{}
}

// pass goes through one boundary.
func (g *grim) pass(label string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.dead {
		return errDead
	}
	g.n++
	g.seen = append(g.seen, label)
	if g.n == g.at {
		g.dead, g.label = true, label
		if g.end != nil {
			g.end <- struct{}{}
			g.end <- struct{}{}
		}
		return errDead
	}
	return nil
}

// around makes an effect between two boundaries.
func around[T any](g *grim, label string, effect func() (T, error)) (T, error) {
	var none T
	if err := g.pass("before " + label); err != nil {
		return none, err
	}
	v, err := effect()
	if derr := g.pass("after " + label); derr != nil {
		return none, derr
	}
	return v, err
}

type mortalStore struct {
	state.Store
	g *grim
}

func (m mortalStore) Update(ctx context.Context, change func(*state.State) error) (*state.State, error) {
	return around(m.g, "state write", func() (*state.State, error) { return m.Store.Update(ctx, change) })
}

func (m mortalStore) Read(ctx context.Context) (*state.State, error) {
	m.g.mu.Lock()
	dead := m.g.dead
	m.g.mu.Unlock()
	if dead {
		return nil, errDead
	}
	return m.Store.Read(ctx)
}

type mortalProvider struct {
	providers.Provider
	g *grim
}

func (m mortalProvider) CreatePod(ctx context.Context, req providers.CreatePod) (providers.Pod, error) {
	return around(m.g, "CreatePod", func() (providers.Pod, error) { return m.Provider.CreatePod(ctx, req) })
}

func (m mortalProvider) DeletePod(ctx context.Context, id string) (bool, error) {
	return around(m.g, "DeletePod", func() (bool, error) { return m.Provider.DeletePod(ctx, id) })
}

func (m mortalProvider) GetPod(ctx context.Context, id string) (providers.Pod, error) {
	if m.g.isDead() {
		return providers.Pod{}, errDead
	}
	return m.Provider.GetPod(ctx, id)
}

func (m mortalProvider) ListPods(ctx context.Context) (providers.PodList, error) {
	if m.g.isDead() {
		return providers.PodList{}, errDead
	}
	return m.Provider.ListPods(ctx)
}

func (m mortalProvider) PutSecret(ctx context.Context, name, value string) (providers.Secret, error) {
	return around(m.g, "PutSecret", func() (providers.Secret, error) { return m.Provider.PutSecret(ctx, name, value) })
}

func (m mortalProvider) DeleteSecret(ctx context.Context, id string) (bool, error) {
	return around(m.g, "DeleteSecret", func() (bool, error) { return m.Provider.DeleteSecret(ctx, id) })
}

func (m mortalProvider) PodLogs(ctx context.Context, req providers.LogRequest, sink func(providers.LogLine) error) error {
	if m.g.isDead() {
		return errDead
	}
	return m.Provider.PodLogs(ctx, req, sink)
}

func (g *grim) isDead() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.dead
}

// mortalMachine dies at the commands on a pod.
type mortalMachine struct {
	Machine
	g *grim
}

func (m mortalMachine) act(label string, f func() error) error {
	_, err := around(m.g, label, func() (struct{}, error) { return struct{}{}, f() })
	return err
}

func (m mortalMachine) Upload(ctx context.Context, u UploadRequest) error {
	return m.act("Upload", func() error { return m.Machine.Upload(ctx, u) })
}

func (m mortalMachine) Launch(ctx context.Context, l LaunchRequest) error {
	return m.act("Launch", func() error { return m.Machine.Launch(ctx, l) })
}

func (m mortalMachine) Poll(ctx context.Context, from Offsets, most int64) (Poll, error) {
	if m.g.isDead() {
		return Poll{}, errDead
	}
	return m.Machine.Poll(ctx, from, most)
}

func (m mortalMachine) Cancel(ctx context.Context) error {
	return m.act("Cancel", func() error { return m.Machine.Cancel(ctx) })
}

func (m mortalMachine) Collect(ctx context.Context, c CollectRequest) (Manifest, error) {
	return around(m.g, "Collect", func() (Manifest, error) { return m.Machine.Collect(ctx, c) })
}

func (m mortalMachine) MarkRetrieved(ctx context.Context) error {
	return m.act("MarkRetrieved", func() error { return m.Machine.MarkRetrieved(ctx) })
}

func (m mortalMachine) ArmCost(ctx context.Context, snapshotAt, capAt time.Time) error {
	return m.act("ArmCost", func() error { return m.Machine.ArmCost(ctx, snapshotAt, capAt) })
}

// mortal gives an engine whose process dies at a boundary.
func (w *world) mortal(g *grim) *Engine {
	e := w.engine()
	g.end = make(chan struct{}, 2)
	e.Interrupts = g.end
	e.Store = mortalStore{w.store, g}
	r := e.Providers["memory"]
	r.Provider = mortalProvider{r.Provider, g}
	e.Providers = map[string]Rented{"memory": r}
	e.Dial = func(ctx context.Context, to Target) (Machine, error) {
		if g.isDead() {
			return nil, errDead
		}
		m, err := w.dial(ctx, to)
		if err != nil {
			return nil, err
		}
		return mortalMachine{m, g}, nil
	}
	return e
}

// replan says what a plan would do with the addresses now.
func (w *world) replan(specs map[string]*plan.RunSpec) *plan.Plan {
	p := planOf(plan.Run, specs)
	for _, step := range p.Steps {
		run := w.run(step.Address)
		switch {
		case run == nil:
		case unfetched(run):
			step.Action = plan.Collect
		case !run.Phase.Ended():
			step.Action = plan.Attach
		case run.Phase == state.Succeeded && run.Retrieved:
			step.Action = plan.NoOp
		default:
			step.Action = plan.Rerun
		}
	}
	return p
}

// TestCrash kills the process at every boundary of a scenario: two runs side by
// side, one of which fails over to a second GPU type, and one create call that
// is made and not answered. Afterwards apply, or destroy, must end with nothing
// left behind, no result lost and no job started twice.
func TestCrash(t *testing.T) {
	specs := func() map[string]*plan.RunSpec {
		b := spec()
		b.Cap.MaxCostUSD = 20
		b.Cap.MaxTotalUSD = 100
		return map[string]*plan.RunSpec{"run.a": spec(), "run.b": b}
	}
	arrange := func(w *world) {
		w.mem.Fail(providertest.Fault{Op: "CreatePod", Arg: "NVIDIA A40", Err: providertest.Error(providers.Capacity, "create pod", "none")})
		w.mem.Fail(providertest.Fault{Op: "CreatePod", Arg: "NVIDIA A40", After: true, Err: providertest.Error(providers.Ambiguous, "create pod", "no answer")})
	}
	var boundaries int
	in(t, func(t *testing.T, w *world) {
		arrange(w)
		g := &grim{}
		out, err := w.mortal(g).Apply(t.Context(), planOf(plan.Run, specs()), Options{})
		if err != nil || out.Class != OK {
			t.Fatalf("undisturbed: %v %+v", err, out)
		}
		boundaries = g.n
	})
	if boundaries < 60 {
		t.Fatalf("only %d boundaries", boundaries)
	}
	step := 1
	if testing.Short() {
		step = 7
	}
	for _, way := range []string{"apply", "destroy"} {
		for at := 1; at <= boundaries; at += step {
			t.Run(fmt.Sprintf("%s after death at %d", way, at), func(t *testing.T) {
				in(t, func(t *testing.T, w *world) {
					arrange(w)
					g := &grim{at: at}
					_, _ = w.mortal(g).Apply(t.Context(), planOf(plan.Run, specs()), Options{})
					if !g.dead {
						t.Fatalf("it did not die (%d boundaries)", g.n)
					}
					w.dead[w.pid] = true
					// What it had in flight at its death has come to its end.
					synctest.Wait()
					w.survive(g, way, specs())
					time.Sleep(48 * time.Hour) // until what is left of the dead process has ended
				})
			})
		}
	}
}

// survive runs the recovery and checks what is left.
func (w *world) survive(g *grim, way string, specs map[string]*plan.RunSpec) {
	t := w.t
	if way == "destroy" {
		out, err := w.engine().Destroy(t.Context(), nil, DestroyOptions{})
		if err != nil || out.Class != OK {
			t.Errorf("%s: destroy: %v %+v", g.label, err, out)
		}
		if st, _ := w.store.Read(t.Context()); len(st.Resources) != 0 {
			t.Errorf("%s: resources left", g.label)
		}
	} else {
		out := w.apply(w.replan(specs), Options{})
		if out.Class != OK {
			t.Errorf("%s: apply: class %d: %v %v", g.label, out.Class, out.Errors, out.Runs)
		}
		for address := range specs {
			run := w.run(address)
			if run == nil || run.Phase != state.Succeeded || !run.Retrieved {
				t.Errorf("%s: %s: %+v", g.label, address, run)
			}
		}
	}
	if pods := w.mem.Pods(); len(pods) > 0 {
		t.Errorf("%s: pods left: %v", g.label, pods)
	}
	if s := w.secrets(); len(s) > 0 {
		t.Errorf("%s: secrets left: %v", g.label, s)
	}
	byRun := map[string]int{}
	for _, p := range w.pods {
		byRun[p.request.Marker.RunID] += p.marks["launch"]
		if p.marks["second launch"] > 0 {
			t.Errorf("%s: launched again on the same pod", g.label)
		}
	}
	for id, n := range byRun {
		if n > 1 {
			t.Errorf("%s: job of %s started %d times", g.label, id, n)
		}
	}
}
