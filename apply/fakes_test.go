package apply

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/overbrainer/overbrainer/internal/glob"
	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/providers/providertest"
	"github.com/overbrainer/overbrainer/state"
)

// memStore keeps a state in memory, as a Store does on disk.
type memStore struct {
	mu  sync.Mutex
	now *state.State
	// fail, when set, makes a write fail after its change was made.
	fail   func(*state.State) error
	failed *state.State // what could not be written
	// seen is told of every write.
	seen func(*state.State)
}

func newMemStore() *memStore { return &memStore{now: state.New("")} }

func (m *memStore) Where() string { return "memory" }

func (m *memStore) Read(context.Context) (*state.State, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now.Clone()
}

func (m *memStore) Update(ctx context.Context, change func(*state.State) error) (*state.State, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	start := m.now
	if m.failed != nil {
		start = m.failed
	}
	work, err := start.Clone()
	if err != nil {
		return nil, err
	}
	if work.Lineage == "" {
		work.Lineage = "lineage-1"
	}
	if err := change(work); err != nil {
		if errors.Is(err, state.ErrNoChange) {
			return m.now.Clone()
		}
		return nil, err
	}
	if err := keptPromise(ctx, start, work); err != nil {
		return nil, err
	}
	if m.fail != nil {
		if err := m.fail(work); err != nil {
			m.failed = work
			return nil, err
		}
	}
	work.Serial++
	m.now, m.failed = work, nil
	if m.seen != nil {
		m.seen(work)
	}
	return work.Clone()
}

// keptPromise checks that a change altered no more than state.Touching says.
func keptPromise(ctx context.Context, was, is *state.State) error {
	touched, ok := state.Touched(ctx)
	if !ok {
		return nil
	}
	hide := func(s *state.State) string {
		c, err := s.Clone()
		if err != nil {
			return err.Error()
		}
		c.Lineage, c.Claims, c.Spend = "", nil, nil
		for _, address := range touched {
			delete(c.Resources, address)
			if address == state.Overall {
				c.Catalogs, c.Outputs = nil, nil
			}
		}
		data, _ := state.Encode(c)
		return string(data)
	}
	if a, b := hide(was), hide(is); a != b {
		panic(fmt.Sprintf("a change that named %v altered more:\n%s\n%s", touched, a, b))
	}
	return nil
}

// fakeJob is what a pod does once it is told to.
type fakeJob struct {
	length  time.Duration
	exit    int
	files   map[string]string // results
	log     string            // whole lines, spread over its length
	metrics string
	// snapshot: it saves itself when asked, at this step; 0: it does not.
	snapshot int64
	unsaved  bool     // it says that it saved itself, and there is no checkpoint
	obeys    bool     // it ends when asked and leaves no snapshot
	badProof string   // it leaves a proof of which this is wrong
	badEnd   int      // it ends so after it saved itself
	hang     bool     // it never ends by itself
	left     []string // links among its results that lead to nothing
	moved    string   // where results with taken names are
}

// fakePod is one machine.
type fakePod struct {
	w         *world
	id        string
	request   providers.CreatePod
	job       fakeJob
	bootTime  time.Duration
	verdict   Verdict
	unread    error // why the verdict cannot be read
	refuseKey bool
	otherKey  time.Duration // so long after its boot something else answers at its address
	lost      bool          // the job's process is gone
	noJob     error         // Launch fails with it
	// answer may lose the answer of a call that had its effect.
	answer func(call string) error
	// upload stands in for the transfer of the inputs.
	upload func(u UploadRequest) error

	mu        sync.Mutex
	born      time.Time
	gone      bool
	heard     time.Time // when it last answered
	offline   bool      // the network is away
	started   time.Time
	cancelled time.Time
	asked     string
	askedAt   time.Time
	marks     map[string]int
	uploads   []File
	launch    LaunchRequest
	collects  int
	more      func() bool // whether there is more of the log to read at once
	collect   func(n int) error
	// unfinished is what the job left running.
	unfinished func(now time.Time) (Unfinished, error)
	copying    func(c CollectRequest) error
	listed     func(m Manifest) error // why what was listed did not come
	capAt      time.Time
	volumeGB   int
	disk       Disk
	df         [2]int64
	done       chan struct{}
}

// state of the job at a time.
func (p *fakePod) state(now time.Time) (JobState, int) {
	switch {
	case p.started.IsZero():
		return JobNone, 0
	case p.lost:
		return JobLost, 0
	case !p.cancelled.IsZero():
		return JobCancelled, 0
	case p.asked != "" && (p.job.snapshot > 0 || p.job.obeys || p.job.badProof != "") && !now.Before(p.askedAt.Add(time.Minute)):
		return JobExited, p.job.badEnd
	case !p.job.hang && !now.Before(p.started.Add(p.job.length)):
		return JobExited, p.job.exit
	}
	return JobRunning, 0
}

func (p *fakePod) mark(name string) {
	p.marks[name]++
}

// fakeMachine is a connection to a fakePod.
type fakeMachine struct{ *fakePod }

var errCut = errors.New("connection lost")

func (m fakeMachine) enter() error {
	if m.gone || m.offline {
		return errCut
	}
	m.heard = time.Now()
	return nil
}

func (m fakeMachine) Verdict(context.Context) (Verdict, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.enter(); err != nil {
		return Verdict{}, err
	}
	return m.verdict, m.unread
}

func (m fakeMachine) Reserve(context.Context, string) error { return m.answered("reserve") }

// answered is the answer of a call that had its effect.
func (m fakeMachine) answered(call string) error {
	if m.answer == nil {
		return nil
	}
	return m.answer(call)
}

func (m fakeMachine) Upload(ctx context.Context, u UploadRequest) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.enter(); err != nil {
		return err
	}
	for _, f := range u.Files {
		r, err := u.Open(f)
		if err != nil {
			return err
		}
		_ = r.Close()
	}
	if m.upload != nil {
		if err := m.upload(u); err != nil {
			return err
		}
	}
	m.uploads = u.Files
	return ctx.Err()
}

func (m fakeMachine) Launch(_ context.Context, l LaunchRequest) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.enter(); err != nil {
		return err
	}
	if m.noJob != nil {
		return m.noJob
	}
	if !m.started.IsZero() {
		m.mark("second launch")
		return nil
	}
	m.launch = l
	m.started = time.Now()
	m.mark("launch")
	return m.answered("launch")
}

func cutFrom(text string, from int64) string {
	if from < 0 {
		from = max(0, int64(len(text))+from)
	}
	if from >= int64(len(text)) {
		return ""
	}
	return text[from:]
}

func (m fakeMachine) Poll(ctx context.Context, from Offsets, most int64) (Poll, error) {
	more := m.more != nil && m.more() // which may take its time
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.enter(); err != nil {
		return Poll{}, err
	}
	if ctx.Err() != nil {
		return Poll{}, ctx.Err()
	}
	now := time.Now()
	st, exit := m.state(now)
	p := Poll{State: st, Exit: exit, Next: from, DiskUsed: -1, DiskFree: -1, VolumeUsed: -1, Snapshot: m.asked}
	if m.df != [2]int64{} {
		p.DiskUsed, p.DiskFree = m.df[0], m.df[1]
	}
	if st != JobNone {
		p.Log, p.Metrics = []byte(cutFrom(m.written(m.job.log, now), from.Log)), []byte(cutFrom(m.written(m.job.metrics, now), from.Metrics))
		p.Next = Offsets{Log: int64(len(m.written(m.job.log, now))), Metrics: int64(len(m.written(m.job.metrics, now)))}
	}
	p.More = more
	p.Proof = m.asked != "" && (st == JobExited && m.job.snapshot > 0 || m.job.badProof != "")
	return p, nil
}

// written is how much of a text there is at a time.
func (p *fakePod) written(text string, now time.Time) string {
	if st, _ := p.state(now); st != JobRunning || p.job.length == 0 {
		return text
	}
	share := float64(now.Sub(p.started)) / float64(p.job.length)
	lines := strings.SplitAfter(text, "\n")
	n := min(len(lines), int(share*float64(len(lines))))
	return strings.Join(lines[:n], "")
}

func (m fakeMachine) Cancel(context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.enter(); err != nil {
		return err
	}
	if st, _ := m.state(time.Now()); st == JobRunning {
		m.cancelled = time.Now()
	}
	m.mark("cancel")
	return nil
}

func (m fakeMachine) Unfinished(_ context.Context, anew bool) (Unfinished, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.enter(); err != nil {
		return Unfinished{}, err
	}
	m.mark("unfinished")
	if m.unfinished == nil {
		return Unfinished{Changed: anew}, nil
	}
	return m.unfinished(time.Now())
}

func fileOf(path, content string) File {
	sum := sha256.Sum256([]byte(content))
	return File{Path: path, Size: int64(len(content)), SHA256: hex.EncodeToString(sum[:])}
}

func (m fakeMachine) Manifest(_ context.Context, globs, always []string) (Manifest, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.started.IsZero() {
		return Manifest{}, ErrNoJob
	}
	return m.manifest(globs, always), m.enter()
}

func (m fakeMachine) manifest(globs, always []string) Manifest {
	out := Manifest{Left: m.job.left, Moved: m.job.moved}
	for _, name := range sortedKeys(m.job.files) {
		if glob.Match(globs, name) {
			out.Files = append(out.Files, fileOf(name, m.job.files[name]))
			out.Matched++
		} else if slices.Contains(always, name) {
			out.Files = append(out.Files, fileOf(name, m.job.files[name]))
		} else {
			out.Others = append(out.Others, name)
		}
	}
	return out
}

func (m fakeMachine) Collect(ctx context.Context, c CollectRequest) (Manifest, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.enter(); err != nil {
		return Manifest{}, err
	}
	m.collects++
	if m.collect != nil {
		if err := m.collect(m.collects); err != nil {
			return Manifest{}, err
		}
	}
	if m.copying != nil {
		if err := m.copying(c); err != nil {
			return Manifest{}, err
		}
	}
	if m.started.IsZero() {
		return Manifest{}, ErrNoJob
	}
	files := map[string]string{}
	for k, v := range m.job.files {
		files[k] = v
	}
	list := m.manifest(c.Globs, c.Always)
	if !c.Running {
		files["job.log"], files["metrics.jsonl"] = m.job.log, m.job.metrics
		list.Files = append(list.Files, fileOf("job.log", m.job.log), fileOf("metrics.jsonl", m.job.metrics))
	}
	if m.listed != nil {
		if err := m.listed(list); err != nil {
			return list, err
		}
	}
	for _, f := range list.Files {
		path := filepath.Join(c.Dir, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return list, err
		}
		if err := os.WriteFile(path, []byte(files[f.Path]), 0o600); err != nil {
			return list, err
		}
	}
	m.mark("collect")
	return list, ctx.Err()
}

func (m fakeMachine) note(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.enter(); err != nil {
		return err
	}
	m.mark(name)
	return nil
}

func (m fakeMachine) MarkRetrieved(context.Context) error { return m.note("retrieved") }
func (m fakeMachine) MarkSeen(context.Context) error      { return m.note("seen") }
func (m fakeMachine) RenewLease(context.Context) error    { return m.note("lease") }
func (m fakeMachine) RemoveRunDir(context.Context) error  { return m.note("remove run dir") }

func (m fakeMachine) RequestSnapshot(_ context.Context, reason string, overwrite bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.enter(); err != nil {
		return err
	}
	if m.asked == "" || overwrite {
		m.asked, m.askedAt = reason, time.Now()
		if m.job.snapshot > 0 && !m.job.unsaved {
			m.job.files = maps.Clone(m.job.files)
			m.job.files[fmt.Sprintf("output/checkpoint-%d/state", m.job.snapshot)] = "saved"
		}
	}
	return nil
}

func (m fakeMachine) Proof(_ context.Context, path string) (state.Snapshot, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.job.badProof != "" {
		return state.Snapshot{}, false, &badProof{errors.New(m.job.badProof)}
	}
	if m.job.snapshot == 0 || m.asked == "" {
		return state.Snapshot{}, false, nil
	}
	return state.Snapshot{Path: strings.ReplaceAll(path, "{step}", fmt.Sprint(m.job.snapshot)), Step: m.job.snapshot, Reason: m.asked}, true, nil
}

func (m fakeMachine) ArmCost(_ context.Context, _, capAt time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.capAt = capAt
	return errors.Join(m.enter(), m.answered("arm"))
}

func (m fakeMachine) VolumeGB(_ context.Context, gb int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.volumeGB = gb
	return nil
}

func (m fakeMachine) Disk(context.Context, string, string) (Disk, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.disk, m.enter()
}

func (m fakeMachine) Checkpoints(_ context.Context, pattern string) ([]Checkpoint, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mark("checkpoints")
	if err := m.enter(); err != nil {
		return nil, err
	}
	return m.checkpoints(pattern)
}

func (m fakeMachine) checkpoints(pattern string) ([]Checkpoint, error) {
	expr := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\{step\}`, `(\d+)`) + "(/|$)")
	var list []Checkpoint
	for _, name := range sortedKeys(m.job.files) {
		hit := expr.FindStringSubmatch(name)
		if hit == nil {
			continue
		}
		step, _ := strconv.ParseInt(hit[1], 10, 64)
		dir := strings.TrimSuffix(hit[0], "/")
		i := slices.IndexFunc(list, func(c Checkpoint) bool { return c.Path == dir })
		if i < 0 {
			i = len(list)
			list = append(list, Checkpoint{Step: step, Path: dir})
		}
		list[i].Files++
		list[i].Bytes += int64(len(m.job.files[name]))
		list[i].Stamp += name + "=" + m.job.files[name] + ";"
	}
	slices.SortFunc(list, func(a, b Checkpoint) int { return cmp.Compare(a.Step, b.Step) })
	return list, nil
}
func (m fakeMachine) CopyLogs(context.Context, string) error { return m.note("copy logs") }
func (m fakeMachine) Done() <-chan struct{}                  { return m.done }
func (m fakeMachine) Err() error                             { return nil }
func (m fakeMachine) Heard() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.heard
}
func (m fakeMachine) Close() error { return nil }

// world is an account, a state, a project directory and an engine on them.
type world struct {
	t     *testing.T
	mem   *providertest.Memory
	store *memStore
	dir   string

	mu     sync.Mutex
	pods   map[int]*fakePod
	events []Event
	// boot prepares each pod before it boots; n counts from 1.
	boot func(n int, p *fakePod)
	job  fakeJob
	// shape changes what the provider says of a new pod.
	shape  func(n int, p providers.Pod) providers.Pod
	booted int

	interrupts chan struct{}
	timing     Timing
	pid        int
	dead       map[int]bool // processes that do not run any more
	keys       KeySource
	eval       Evaluator
	secretVals map[string]string
	specs      []PodSpec
	parallel   int
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		t: t, mem: providertest.NewMemory(), store: newMemStore(), dir: t.TempDir(), pods: map[int]*fakePod{},
		interrupts: make(chan struct{}, 4), timing: Production(), pid: 100, dead: map[int]bool{}, keys: FileKeys{},
		job:        fakeJob{length: 10 * time.Minute, files: map[string]string{"output/model.bin": "weights"}, log: "one\ntwo\nthree\n", metrics: "{\"step\":1,\"max_steps\":2,\"loss\":0.5}\n{\"step\":2,\"max_steps\":2,\"loss\":0.25}\n"},
		secretVals: map[string]string{},
	}
	w.timing.JobPoll = 3 * time.Second // hours pass here
	w.mem.Boot = w.bootPod
	w.mem.Gone = func(p providers.Pod) {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, fp := range w.pods {
			if fp.id == p.ID {
				fp.mu.Lock()
				fp.gone = true
				fp.mu.Unlock()
			}
		}
	}
	return w
}

func (w *world) bootPod(req providers.CreatePod, pod providers.Pod) providers.Pod {
	n, pod := w.addPod(req, pod)
	if w.shape != nil { // it may take its time, in which events come
		pod = w.shape(n, pod)
	}
	return pod
}

func (w *world) addPod(req providers.CreatePod, pod providers.Pod) (int, providers.Pod) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.booted++
	p := &fakePod{
		w: w, id: pod.ID, request: req, job: w.job, bootTime: 20 * time.Second, verdict: Verdict{State: "ready", GPUCount: -1},
		born: time.Now(), marks: map[string]int{}, done: make(chan struct{}), disk: Disk{VolumeUsed: -1, Checkpoint: -1},
	}
	if w.boot != nil {
		w.boot(w.booted, p)
	}
	port := 10000 + w.booted
	w.pods[port] = p
	pod.SSH = &providers.Endpoint{Host: "192.0.2.1", Port: port, User: "root"}
	return w.booted, pod
}

func (w *world) dial(_ context.Context, to Target) (Machine, error) {
	w.mu.Lock()
	p := w.pods[to.Port]
	w.mu.Unlock()
	if p == nil {
		return nil, &DialError{Stage: StageConnect, Err: errors.New("connection refused")}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.gone || p.offline || time.Since(p.born) < p.bootTime:
		return nil, &DialError{Stage: StageConnect, Err: errors.New("connection refused")}
	case time.Since(p.born) < p.bootTime+p.otherKey:
		return nil, &DialError{Stage: StageHostKey, Fingerprint: "SHA256:other", Err: errors.New("host key mismatch")}
	case p.refuseKey:
		return nil, &DialError{Stage: StageAuth, Err: errors.New("permission denied")}
	}
	return fakeMachine{p}, nil
}

// pod gives the nth pod that was booted, from 1.
func (w *world) pod(n int) *fakePod {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pods[10000+n]
}

func (w *world) engine() *Engine {
	w.mu.Lock()
	w.pid++
	pid := w.pid
	w.mu.Unlock()
	return &Engine{
		Store: w.store, Dial: w.dial, Keys: w.keys, Timing: w.timing, Now: time.Now, Project: w.dir,
		Providers: map[string]Rented{"memory": {Provider: w.mem, Description: w.mem.Description, Configured: w.mem.Configured}},
		Program: func(spec PodSpec) ([]string, map[string]string, error) {
			w.mu.Lock()
			w.specs = append(w.specs, spec)
			w.mu.Unlock()
			return []string{"bash"}, map[string]string{"OVERBRAINER_RUN_ID": spec.RunID}, nil
		},
		Emit: func(e Event) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.events = append(w.events, e)
		},
		Interrupts: w.interrupts, Evaluator: w.eval, Version: "test", Parallelism: w.parallel,
		Who: state.ClaimHolder{Who: "ann", Host: "here", PID: pid, Process: "p", Alive: func(pid int, _ string) bool {
			w.mu.Lock()
			defer w.mu.Unlock()
			return !w.dead[pid]
		}},
		Secrets: func(_ context.Context, s plan.SecretSpec) ([]byte, error) {
			v, ok := w.secretVals[s.Name]
			if !ok {
				return nil, errors.New("it is not set")
			}
			return []byte(v), nil
		},
	}
}

func price(usd float64) *float64 { return &usd }

// spec is a run on an A40, else an L40S.
func spec() *plan.RunSpec {
	return &plan.RunSpec{
		Provider: "memory", Fingerprint: "f1", Command: []string{"python", "train.py"}, Outputs: []string{"output/**"},
		Metrics: "metrics.jsonl", Inputs: plan.Inputs{Own: map[string]string{"command": "c1"}},
		Target: plan.TargetSpec{
			Address: "target.gpu", GPUTypes: []string{"NVIDIA A40", "NVIDIA L40S"}, GPUCount: 1, Cloud: "secure",
			Image: "image", DiskGB: 50, ReadyTimeoutS: 900, InstallSSHD: true,
		},
		Cap: plan.CapSpec{Address: "cap.small", Where: "overbrainer.hcl:10", MaxHours: 6, BootGraceS: 1800, RetrieveGraceS: 3600},
	}
}

func offersFor(s *plan.RunSpec) []plan.Offer {
	return []plan.Offer{
		{GPUType: "NVIDIA A40", GPUCount: 1, Cloud: "secure", PriceUSD: price(0.44), Stock: "high"},
		{GPUType: "NVIDIA L40S", GPUCount: 1, Cloud: "secure", PriceUSD: price(1.09), Stock: "low"},
	}
}

// planOf is a plan with one run step for each specification.
func planOf(action plan.Action, specs map[string]*plan.RunSpec) *plan.Plan {
	p := &plan.Plan{Offers: map[string][]plan.Offer{}}
	for _, address := range sortedKeys(specs) {
		p.Steps = append(p.Steps, &plan.Step{Address: address, Type: "run", Action: action, Run: specs[address]})
		p.Offers[address] = offersFor(specs[address])
	}
	return p
}

func oneRun(s *plan.RunSpec) *plan.Plan {
	return planOf(plan.Run, map[string]*plan.RunSpec{"run.train": s})
}

func (w *world) apply(p *plan.Plan, opt Options) Outcome {
	w.t.Helper()
	out, err := w.engine().Apply(w.t.Context(), p, opt)
	if err != nil {
		w.t.Fatalf("apply: %v", err)
	}
	return out
}

// state gives the current run of an address.
func (w *world) run(address string) *state.Run {
	w.t.Helper()
	st, err := w.store.Read(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return currentRun(st, address)
}

func (w *world) secrets() []providers.Secret {
	list, _ := w.mem.ListSecrets(w.t.Context(), "")
	return list
}

// clean fails unless the account holds nothing of ours.
func (w *world) clean() {
	w.t.Helper()
	if pods := w.mem.Pods(); len(pods) > 0 {
		w.t.Errorf("pods left: %v", pods)
	}
	if s := w.secrets(); len(s) > 0 {
		w.t.Errorf("secrets left: %v", s)
	}
}

func (w *world) said(kind EventKind, text string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.events, func(e Event) bool {
		return (kind == "" || e.Kind == kind) && (strings.Contains(e.Message, text) || strings.Contains(e.Line, text))
	})
}

// in runs a test with a clock that jumps over waits.
func in(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, newWorld(t)) })
}

// results gives the attempts' results.
func results(run *state.Run) []state.AttemptResult {
	var list []state.AttemptResult
	for _, a := range run.Attempts {
		list = append(list, a.Result)
	}
	return list
}
