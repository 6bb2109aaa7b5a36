package apply

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/overbrainer/overbrainer/internal/remote"
	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/state"
)

// ErrTaken says that a run's directory on the pod belongs to another run.
var ErrTaken = errors.New("the run's directory on the pod belongs to another run")

// ErrLacks says that a pod's image lacks programs that a run takes.
var ErrLacks = errors.New("the image lacks what a run takes")

// errEdited says that a file was changed here between its plan and its upload.
var errEdited = errors.New("plan again")

// start arms the money, brings the inputs to the pod and starts the job. On failure the pod is still there, for the caller
// to delete; once it returns nil the job runs and the state says so.
func (r *runner) start() error {
	if err := r.arm(); err != nil {
		return err
	}
	reserve := func(ctx context.Context, m Machine) error { return m.Reserve(ctx, r.run.HostKey) }
	if err := r.onPod(r.t.Call, reserve); errors.Is(err, ErrLacks) {
		return r.startFailed(r.imageRefused(), err)
	} else if err != nil {
		return r.startFailed("its directory on the pod could not be claimed", err)
	}
	files, open, resume, err := r.inputs()
	if err != nil {
		return err
	}
	if err := r.upload(UploadRequest{Files: files, Open: open}); errors.Is(err, ErrPodFull) {
		return r.inputsTooLarge(total(files), err)
	} else if err != nil {
		return r.startFailed("the inputs could not be uploaded", err)
	}
	if r.s.interrupted() {
		return errInterrupted
	}
	return r.launch(resume)
}

// upload brings the inputs to the pod, in the time that it has to get ready
// after each loss of it.
func (r *runner) upload(request UploadRequest) error {
	if len(request.Files) == 0 {
		return nil
	}
	r.phase("uploading", "uploading %s, %s", countFiles(len(request.Files)), size(total(request.Files)))
	ctx, cancel := r.s.breakable()
	defer cancel()
	progress, finish := r.transfer("upload")
	return r.carry(carriage{
		failed:   "the inputs could not be uploaded",
		patience: func(lost time.Time) time.Time { return lost.Add(r.readyTimeout()) },
		once: func() (there int64, err error) {
			defer finish()
			r.leased()
			request.Progress = func(done, total int64, rate float64) {
				there = done
				r.leased()
				progress(done, total, rate)
			}
			err = r.machine.Upload(ctx, request)
			return there, err
		},
		final: func(err error) bool {
			return ctx.Err() != nil || errors.Is(err, errEdited) || errors.Is(err, ErrPodFull)
		},
	})
}

// leased writes down, ahead of time, until when a transfer may renew the lease on
// the pod: where nobody comes back, that is how long its guard waits for a job, or
// for its results to be fetched.
func (r *runner) leased() {
	now := r.now()
	if until := r.run.Pod.LeasedUntil; until != nil && until.Sub(now) > r.t.LeaseTTL/2 {
		return
	}
	until := now.Add(r.t.LeaseTTL)
	_ = r.save(func(_ *state.State, run *state.Run) {
		if run.Pod != nil {
			run.Pod.LeasedUntil = &until
		}
	})
}

// imageWords names what the pod was made from.
func (r *runner) imageWords() string {
	if t := r.spec.Target; t.Image == "" {
		return "the template " + t.Template
	}
	return r.spec.Target.Image
}

// imageRefused says that the image is at fault.
func (r *runner) imageRefused() string { return "no job was started from " + r.imageWords() }

func (r *runner) startFailed(what string, err error) error {
	if r.s.interrupted() {
		return errInterrupted
	}
	return failf("launch_failed", "%s: %v", what, err).at(r.address).because(errors.Join(err, &endError{state.LaunchFailed}))
}

// arm writes the times of the cost cap at the pod's real rate onto it. A cap
// that cannot be armed refuses the job.
func (r *runner) arm() error {
	pod := r.run.Pod
	b := r.run.Bounds
	if b.MaxCostUSD <= 0 && b.MaxTotalUSD <= 0 || pod.Free {
		return nil
	}
	usd := math.Inf(1)
	if b.MaxCostUSD > 0 {
		usd = b.MaxCostUSD - r.run.CostUSD
	}
	if b.MaxTotalUSD > 0 {
		usd = math.Min(usd, r.run.ReservedUSD)
	}
	if math.IsInf(usd, 1) {
		return nil
	}
	if pod.HourUSD() <= 0 {
		return failf("cap_unset", "the cost cap cannot be armed: the provider did not tell the pod's rate").at(r.address).because(&endError{state.LaunchFailed})
	}
	snapshotAt, capAt := capTimes(usd, pod.HourUSD(), pod.CreatedAt, r.t)
	if pod.CostCapAt != nil && pod.CostCapAt.Before(capAt) {
		capAt = *pod.CostCapAt
	}
	err := r.onPod(r.t.Call, func(ctx context.Context, m Machine) error { return m.ArmCost(ctx, snapshotAt, capAt) })
	if err != nil {
		if r.s.interrupted() {
			return errInterrupted
		}
		return failf("cap_unset", "the cost cap cannot be armed: %v", err).at(r.address).because(errors.Join(err, &endError{state.LaunchFailed}))
	}
	return r.save(func(_ *state.State, run *state.Run) {
		if run.Pod != nil {
			run.Pod.CostCapAt = &capAt
		}
	})
}

// launch starts the job. The state says that it is about to before the order
// leaves, so that whoever comes after a crash asks the pod.
func (r *runner) launch(resumeDir string) error {
	request, err := r.launchRequest(resumeDir)
	if err != nil {
		return err
	}
	if r.s.interrupted() {
		return errInterrupted
	}
	if err := r.s.mayBegin(); err != nil {
		return err
	}
	err = r.save(func(_ *state.State, run *state.Run) {
		if run.Pod != nil {
			run.Pod.State, run.Pod.LeasedUntil = state.PodLaunching, nil
		}
	})
	if err != nil {
		return err
	}
	r.phase("starting", "starting the job")
	ctx, cancel := r.s.effect(2 * r.t.Call)
	err = r.machine.Launch(ctx, request)
	cancel()
	if err != nil {
		switch started, unknown := r.started(); {
		case unknown != nil:
			return &doubtError{unknown}
		case !started:
			return failf("launch_failed", "the job could not be started: %v", err).at(r.address).because(errors.Join(err, &endError{state.LaunchFailed}))
		}
	}
	return r.launched()
}

// launched writes down that the job runs. A job that cannot be written down is
// cancelled.
func (r *runner) launched() error {
	at := r.now()
	err := r.save(func(_ *state.State, run *state.Run) {
		run.Phase, run.StartedAt = state.Running, &at
		if run.Pod != nil {
			run.Pod.State = state.PodRunning
			run.PodID, run.GPUType, run.DataCenter = run.Pod.ID, run.Pod.GPUType, run.Pod.DataCenter
		}
	})
	if err != nil {
		_ = r.onPod(r.t.Call, func(ctx context.Context, m Machine) error { return m.Cancel(ctx) })
		return err
	}
	r.emit(Event{Kind: EventStarted, Phase: "training", Message: "the job runs on pod " + r.run.Pod.ID})
	return nil
}

func (r *runner) launchRequest(resumeDir string) (LaunchRequest, error) {
	spec := r.spec
	l := LaunchRequest{
		Command: spec.Command, Setup: spec.Setup, Env: spec.Env, Metrics: spec.Metrics,
		ResumeDir: resumeDir, Secrets: map[string][]byte{}, GPUType: r.run.Pod.GPUType,
		Vars: map[string]string{
			"OVERBRAINER_RUN_ID":    r.run.ID,
			"OVERBRAINER_GPU_TYPE":  r.run.Pod.GPUType,
			"OVERBRAINER_GPU_COUNT": strconv.Itoa(max(1, spec.Target.GPUCount)),
		},
	}
	if spec.Snapshot != nil {
		l.Signal = spec.Snapshot.Signal
	}
	for variable, secret := range spec.Secrets {
		value, err := r.secret(secret)
		if err != nil {
			return l, failf("secret", "%v", err).at(r.address).because(errors.Join(err, &endError{state.LaunchFailed}))
		}
		l.Secrets[variable] = value
	}
	return l, nil
}

// secret reads a secret's value once for the run, and masks it from now on.
func (r *runner) secret(s plan.SecretSpec) ([]byte, error) {
	if value, ok := r.secrets[s.Name]; ok {
		return value, nil
	}
	if r.s.Secrets == nil {
		return nil, errors.New("no secret can be read here")
	}
	value, err := r.s.Secrets(r.s.steady(), s)
	if err != nil {
		return nil, err
	}
	r.s.Redactor.Add(string(value))
	if r.secrets == nil {
		r.secrets = map[string][]byte{}
	}
	r.secrets[s.Name] = value
	return value, nil
}

// needSecrets reads what the job will be given, before anything is rented for
// it.
func (r *runner) needSecrets() error {
	for _, variable := range sortedKeys(r.spec.Secrets) {
		if _, err := r.secret(r.spec.Secrets[variable]); err != nil {
			return failf("secret", "%v; nothing was rented", err).at(r.address).because(errors.Join(err, &endError{state.LaunchFailed}))
		}
	}
	return nil
}

// knowSecrets masks the job's secrets in a process that did not launch it; a
// secret that cannot be read here cannot be masked.
func (r *runner) knowSecrets() {
	if r.spec == nil {
		return
	}
	for _, s := range r.spec.Secrets {
		_, _ = r.secret(s)
	}
}

func (r *runner) savePodState(to state.PodState) error {
	return r.save(func(_ *state.State, run *state.Run) {
		if run.Pod != nil {
			run.Pod.State = to
		}
	})
}

// transfer gives a progress function that tells of a transfer at most four
// times a second, and one that ends a try. A try that goes on from what is there
// begins by measuring that: what an earlier one reached is told until then.
func (r *runner) transfer(what string) (progress remote.Progress, finish func()) {
	var told time.Time
	var last, all int64
	var rate float64
	tell := func() {
		if last == 0 && all > 0 {
			return
		}
		r.emit(Event{Kind: EventTransfer, Message: what, Done: last, Total: all, Rate: rate})
	}
	progress = func(done, total int64, now float64) {
		last, all, rate = max(last, done), total, now
		if time.Since(told) >= 250*time.Millisecond {
			told = time.Now()
			tell()
		}
	}
	finish = func() {
		if all > 0 {
			tell()
		}
	}
	return progress, finish
}

func total(files []File) int64 {
	var n int64
	for _, f := range files {
		n += f.Size
	}
	return n
}

// countFiles is a number of files in words.
func countFiles(n int) string {
	if n == 1 {
		return "1 file"
	}
	return fmt.Sprintf("%d files", n)
}

func size(n int64) string {
	const unit = 1000
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	value, names := float64(n), []string{"kB", "MB", "GB", "TB"}
	for i, name := range names {
		value /= unit
		if value < unit || i == len(names)-1 {
			return fmt.Sprintf("%.1f %s", value, name)
		}
	}
	return ""
}
