package apply

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/state"
)

// create sends one create call: the attempt is in the state before it leaves,
// the answer before anything else happens. An error with a verdict of
// nextReady means that the call was not made, or that its answer could not be
// kept and the pod was deleted. again: it was asked for before, which goes
// without saying.
func (r *runner) create(offer plan.Offer, again bool) (attempt string, pod providers.Pod, v verdict, err error) {
	request, err := r.intend(offer)
	if err != nil {
		return "", pod, verdict{}, err
	}
	attempt = request.Marker.Attempt
	if !again {
		r.emit(Event{Kind: EventCreating, Phase: "placing", GPUType: offer.GPUType, RateUSD: r.offerRate(offer),
			Message: fmt.Sprintf("asking for %s %s", offer.GPUType, r.offerHour(offer))})
	}
	r.noteRunning(noJobYet, r.offerRate(offer), fmt.Sprintf("%s: a pod with %s %s was asked for and may exist or come to be; overbrainer apply goes on with it, overbrainer destroy ends it, and by itself it ends boot_grace = %s after its start", r.address, offer.GPUType, r.offerHour(offer), spanWords(r.run.Bounds.BootGraceS)))
	ctx, cancel := r.s.effect(r.t.CreateLimit)
	r.soon(r.late("makes the pod"), func() { pod, err = r.rented.Provider.CreatePod(ctx, request) })
	cancel()
	if v = classify(err); v.then == nextReady {
		return attempt, pod, v, r.keep(attempt, pod, state.AttemptCreated)
	}
	saved := r.save(func(_ *state.State, run *state.Run) {
		if a := findAttempt(run, attempt); a != nil {
			a.Result, a.Detail = v.result, reasonOf(err)
			if v.then != nextReconcile {
				a.EndedAt = timePtr(r.now())
			}
		}
	})
	if saved != nil {
		return attempt, pod, verdict{}, saved
	}
	return attempt, pod, v, err
}

// intend reserves the money, writes the attempt down and gives the request.
func (r *runner) intend(offer plan.Offer) (providers.CreatePod, error) {
	if err := r.s.mayBegin(); err != nil {
		return providers.CreatePod{}, err
	}
	name := fmt.Sprintf("overbrainer-%s-%d", r.run.ID, len(r.run.Attempts)+1)
	rate, before := r.offerRate(offer), r.run.ReservedUSD
	var now, deadline time.Time
	var p purse
	take := func(st *state.State, run *state.Run) (err error) {
		if r.spec.Target.Free {
			p = purse{usd: math.Inf(1)}
		} else if p, err = r.purseFor(st, run, rate); err != nil {
			return err
		}
		if run.Bounds.MaxTotalUSD > 0 {
			return st.Reserve(run, p.reserve, run.Bounds.MaxTotalUSD)
		}
		return nil
	}
	attempt := func(_ *state.State, run *state.Run) {
		run.Pod = nil
		run.Attempts = append(run.Attempts, &state.Attempt{
			Name: name, GPUType: offer.GPUType, SentAt: now, Deadline: &deadline,
			Result: state.AttemptSent, RateUSD: rate,
		})
	}
	err := r.funded(func() error {
		now = r.now()
		deadline = now.Add(r.t.Hours(r.run.Bounds.MaxHours)).Truncate(time.Second)
		return r.saveIf(take, attempt)
	})
	if err != nil {
		return providers.CreatePod{}, r.poor(err)
	}
	if r.run.ReservedUSD < before {
		r.s.crew.fallen()
	}
	r.shortCap(p)
	snapshotAt, capAt := p.capTimes(now, r.t)
	return r.request(name, offer, deadline, snapshotAt, capAt)
}

// poor names the address in an error about money, and how the run ends.
func (r *runner) poor(err error) error {
	var e *Error
	if errors.As(err, &e) && e.Address == "" {
		if err = addressed(err, r.address); e.Code == "cost_cap" || e.Code == "budget" || e.Code == "cap_unset" {
			e.Err = &endError{state.CostCap}
		}
		return err
	}
	var b *state.BudgetError
	if errors.As(err, &b) {
		return failf("budget", "%v", b).at(r.address).because(&endError{state.CostCap})
	}
	return err
}

// request builds the create call.
func (r *runner) request(name string, offer plan.Offer, deadline, snapshotAt, capAt time.Time) (providers.CreatePod, error) {
	t := r.spec.Target
	spec := PodSpec{
		RunID: r.run.ID, Lineage: r.s.lineage, Attempt: name, Snapshots: r.spec.Snapshot != nil,
		RunDir:        workDir(r.run.ID, t.VolumeID, r.rented.Description.VolumeMount),
		AuthorizedKey: authorizedLine(r.signer, r.run.ID), Claim: r.run.HostKey,
		HostKeyPlaceholder: r.placeholder(), Version: r.s.Version,
		Deadline: deadline, Overrun: r.t.Hours(r.run.Bounds.OverrunHours),
		SnapshotAt: snapshotAt, CostCapAt: capAt, SnapshotLead: r.t.lead(r.t.Hours(r.run.Bounds.MaxHours)),
		BootGrace: r.t.Seconds(r.run.Bounds.BootGraceS), RetrieveGrace: r.t.Seconds(r.run.Bounds.RetrieveGrace),
		Keep: r.keepTime(), GPUCount: max(1, t.GPUCount), GPUType: offer.GPUType,
		InstallSSHD: t.InstallSSHD, Timing: r.t, Guard: r.rented.Description.Guard,
	}
	if t.VolumeID != "" {
		spec.VolumeDir, spec.VolumeGB = r.rented.Description.VolumeMount, t.VolumeGB
	}
	command, env, err := r.s.Program(spec)
	if err != nil {
		return providers.CreatePod{}, failf("program", "%v", err).at(r.address).because(err)
	}
	return providers.CreatePod{
		Marker: providers.Marker{RunID: r.run.ID, Lineage: r.s.lineage, Attempt: name},
		Image:  t.Image, Template: t.Template, Registry: t.Registry, Cloud: providers.Cloud(t.Cloud),
		GPUType: offer.GPUType, GPUCount: max(1, t.GPUCount), MinCUDA: t.MinCUDA, DiskGB: t.DiskGB,
		DataCenters: offer.DataCenters, VolumeID: t.VolumeID, Env: env, Command: command,
	}, nil
}

func (r *runner) keepTime() time.Duration {
	if s := r.run.Bounds.KeepPodS; s < 0 {
		return -1
	} else {
		return r.t.Seconds(s)
	}
}

// keep writes down a pod that exists. Where that fails the pod is deleted at
// once, so that nothing exists that nobody knows.
func (r *runner) keep(attempt string, pod providers.Pod, result state.AttemptResult) error {
	a := findAttempt(r.run, attempt)
	created := r.now()
	if a != nil {
		created = a.SentAt
	}
	// A call that waited for its turn made the pod later.
	if at := pod.CreatedAt; at.After(created) && !at.After(r.now()) {
		created = at
	}
	record := &state.Pod{
		ID: pod.ID, Attempt: attempt, State: state.PodProvisioning, GPUType: pod.GPUType,
		GPUCount: pod.GPUCount, DataCenter: pod.DataCenter, Cloud: string(pod.Cloud),
		RateUSD: pod.RatePerHour, DiskUSD: r.diskUSD, CreatedAt: created, VolumeID: pod.VolumeID,
		Speed: r.t.Speed(),
	}
	if r.spec != nil {
		record.Free = r.spec.Target.Free
		if record.VolumeID == "" {
			record.VolumeID = r.spec.Target.VolumeID
		}
	}
	record.WorkDir = workDir(r.run.ID, record.VolumeID, r.rented.Description.VolumeMount)
	if a != nil {
		record.Deadline = a.Deadline
		if record.GPUType == "" {
			record.GPUType = a.GPUType
		}
		if record.RateUSD == 0 && a.RateUSD > 0 {
			record.RateUSD = a.RateUSD - r.diskUSD
		}
	}
	if at := r.capAt(record); !at.IsZero() {
		record.CostCapAt = &at
	}
	err := r.save(func(_ *state.State, run *state.Run) {
		copied := *record
		run.Pod = &copied
		if a := findAttempt(run, attempt); a != nil {
			a.Result, a.PodID = result, pod.ID
		}
	})
	r.run.Pod = record
	if err != nil {
		if derr := r.remove("requested", "client"); derr != nil {
			return derr
		}
		return err
	}
	r.noteRunning(noJobYet, record.HourUSD(), fmt.Sprintf("%s: pod %s is there, %s, and no job runs on it yet; overbrainer apply goes on with it, overbrainer destroy ends it, and by itself it ends boot_grace = %s after its start",
		r.address, pod.ID, podHour(record), spanWords(r.run.Bounds.BootGraceS)))
	r.emit(Event{Kind: EventCreated, Phase: "booting", PodID: pod.ID, GPUType: record.GPUType, DataCenter: record.DataCenter,
		Message: fmt.Sprintf("pod %s, %s %s", pod.ID, record.GPUType, podHour(record))})
	return nil
}

// capAt is when the money for the pod ends, at its own rate; zero without a
// cap.
func (r *runner) capAt(p *state.Pod) time.Time {
	b := r.run.Bounds
	usd := 0.0
	if b.MaxCostUSD > 0 {
		usd = b.MaxCostUSD - r.run.CostUSD
	}
	if b.MaxTotalUSD > 0 && r.run.ReservedUSD > 0 && (usd == 0 || r.run.ReservedUSD < usd) {
		usd = r.run.ReservedUSD
	}
	if usd <= 0 || p.HourUSD() <= 0 {
		return time.Time{}
	}
	_, at := capTimes(usd, p.HourUSD(), p.CreatedAt, r.t)
	return at
}

// endAttempt gives up a pod and writes down why.
func (r *runner) endAttempt(attempt string, result state.AttemptResult, detail, reason string) error {
	r.closeMachine()
	err := r.save(func(_ *state.State, run *state.Run) {
		if a := findAttempt(run, attempt); a != nil {
			a.Result, a.Detail = result, detail
		}
	})
	if errors.Is(err, errClaimLost) {
		return err // the pod is somebody else's to end, or to go on with
	}
	if derr := r.remove(reason, "client"); derr != nil {
		return derr
	}
	return err
}

func findAttempt(run *state.Run, name string) *state.Attempt {
	for _, a := range run.Attempts {
		if a.Name == name {
			return a
		}
	}
	return nil
}

// unfinished reports whether a create call of the run was never resolved.
func (r *runner) unfinished() bool { return len(r.unfinishedNames()) > 0 }

func (r *runner) unfinishedNames() []string {
	var names []string
	for _, a := range r.run.Attempts {
		if open(a) {
			names = append(names, a.Name)
		}
	}
	return names
}

// open reports whether the attempt's pod may exist unknown to us.
func open(a *state.Attempt) bool {
	return a.Result == state.AttemptSent || a.Result == state.AttemptAmbiguous
}

func timePtr(t time.Time) *time.Time { return &t }

// workDir is the run's directory on the pod.
func workDir(runID, volumeID, mount string) string {
	if volumeID != "" && mount != "" {
		return mount + "/overbrainer/" + runID
	}
	return "/workspace/overbrainer/" + runID
}
