package apply

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/overbrainer/overbrainer/internal/job"
	"github.com/overbrainer/overbrainer/internal/safetext"
	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/state"
)

// notReadyError is a pod that cannot be used.
type notReadyError struct {
	reason string
	// final: no other pod would do better, so the walk ends.
	final  bool
	result state.AttemptResult
	end    state.Reason
	hint   string
}

func (e *notReadyError) Error() string { return e.reason }

func slow(format string, args ...any) *notReadyError {
	return &notReadyError{reason: fmt.Sprintf(format, args...), result: state.AttemptNotReady, end: state.NotReady}
}

func refused(end state.Reason, format string, args ...any) *notReadyError {
	return &notReadyError{reason: fmt.Sprintf(format, args...), result: state.AttemptRefused, end: end, final: true}
}

// readiness is the wait for one pod.
type readiness struct {
	r     *runner
	start time.Time // of the attempt
	limit time.Time
	// what is waited for, with since when it was last said.
	why      string
	saidAt   time.Time
	seen     bool // the pod was read at least once
	missing  int  // reads in a row that did not know it
	refusals int
	refused  time.Time // the first refusal of our key
}

// waitReady waits until the pod proves its host key, accepts the run's key and
// says that its guard is ready. On success the connection is open and the
// state says ready.
func (r *runner) waitReady() error {
	pod := r.run.Pod
	w := &readiness{
		r: r, start: r.now(), limit: pod.CreatedAt.Add(r.t.Seconds(r.spec.Target.ReadyTimeoutS)),
		why: "the pod is being made",
	}
	if r.spec.Target.ReadyTimeoutS == 0 {
		w.limit = pod.CreatedAt.Add(r.t.Of(15 * time.Minute))
	}
	w.saidAt = w.start
	r.captureLogs(pod.ID)
	if err := w.reach(); err != nil {
		return w.explain(err)
	}
	if err := w.preflight(); err != nil {
		return w.explain(err)
	}
	at := r.now()
	endpoint := r.endpoint
	err := r.save(func(_ *state.State, run *state.Run) {
		if run.Pod != nil {
			run.Pod.State, run.Pod.ReadyAt = state.PodReady, &at
			run.Pod.SSH = stateEndpoint(endpoint)
		}
	})
	if err != nil {
		return err
	}
	r.emit(Event{Kind: EventReady, Message: fmt.Sprintf("pod %s is ready after %s", pod.ID, r.t.Nominal(at.Sub(pod.CreatedAt)).Round(time.Second))})
	return nil
}

// explain names the run's address in an error that ends the walk.
func (w *readiness) explain(err error) error {
	var slow *notReadyError
	if errors.As(err, &slow) && slow.final {
		e := failf(string(slow.end), "pod %s cannot be used: %s", w.r.run.Pod.ID, slow.reason).at(w.r.address).id(w.r.run.Pod.ID).because(slow)
		e.Hint = slow.hint
		return e
	}
	return err
}

// reach looks at the pod until a connection stands.
func (w *readiness) reach() error {
	for {
		if w.r.s.interrupted() {
			return errInterrupted
		}
		done, err := w.look()
		if done || err != nil {
			return err
		}
		if !w.r.now().Before(w.limit) {
			return w.late()
		}
		w.heartbeat()
		if err := w.r.s.sleep(w.r.t.Poll); err != nil {
			return err
		}
	}
}

// late is the error of a pod that took too long.
func (w *readiness) late() error {
	after := w.r.t.Nominal(w.r.now().Sub(w.r.run.Pod.CreatedAt)).Round(time.Second)
	text := fmt.Sprintf("it was not ready after %s: %s", after, w.why)
	if line := w.r.lastLogLine(); line != "" {
		text += fmt.Sprintf("; the container's last word: %q", line)
	} else {
		text += fmt.Sprintf("; worth checking: the image's name and size (the disk has %d GB), and whether it starts", w.r.spec.Target.DiskGB)
	}
	return slow("%s", text)
}

// look reads the pod once and tries to connect.
func (w *readiness) look() (done bool, err error) {
	r := w.r
	pod, err := r.rented.Provider.GetPod(r.s.steady(), r.run.Pod.ID)
	switch {
	case providers.Is(err, providers.NotFound):
		return false, w.unknown()
	case err != nil && !transient(err):
		return false, failf("read_pod", "%s", reasonOf(err)).at(r.address).because(err)
	case err != nil:
		w.why = "the provider does not answer: " + reasonOf(err)
		return false, nil
	}
	w.seen, w.missing = true, 0
	r.sawPod(pod)
	if pod.Status.Dead() {
		return false, slow("it is %s", pod.Status)
	}
	if v, _ := r.guardSaid(); v.State == job.VerdictFailed {
		return false, failedVerdict(v.Reason, v.Bootstrap)
	}
	if pod.SSH == nil {
		w.why = fmt.Sprintf("the pod is %s and has no address yet", pod.Status)
		return false, nil
	}
	return w.connect(pod)
}

// unknown is a read that did not know the pod.
func (w *readiness) unknown() error {
	r := w.r
	created := r.run.Pod.CreatedAt
	if r.now().Sub(created) < r.t.FreshPod {
		w.why = "the pod is not visible yet"
		return nil
	}
	if w.missing++; w.missing < 2 {
		w.why = "the provider does not know the pod"
		return nil
	}
	gone, err := r.gone(r.run.Pod.ID, created)
	if err != nil || !gone {
		w.missing = 0
		return nil
	}
	if w.seen {
		return refused(state.Lost, "it was deleted by somebody else while it was getting ready")
	}
	return slow("it disappeared")
}

func (w *readiness) connect(pod providers.Pod) (done bool, err error) {
	r := w.r
	ctx, cancel := r.s.breakable()
	defer cancel()
	machine, err := r.dial(ctx, *pod.SSH)
	if err == nil {
		r.machine, r.endpoint = machine, pod.SSH
		w.refusals = 0
		w.why = "the guard on the pod has not spoken yet"
		return true, nil
	}
	var failed *DialError
	if !errors.As(err, &failed) {
		w.why = "no connection: " + err.Error()
		return false, nil
	}
	w.why = dialWords(failed)
	if failed.Stage != StageAuth {
		w.refusals = 0
		return false, nil
	}
	return false, w.keyRefused()
}

// keyRefused counts refusals of the run's key; a few of them are final.
func (w *readiness) keyRefused() error {
	if w.refusals++; w.refusals == 1 {
		w.refused = w.r.now()
	}
	if w.refusals < w.r.t.Refusals || w.r.now().Sub(w.refused) < w.r.t.RefusalWindow {
		return nil
	}
	return refused(state.NotReady, "its SSH refuses this run's key %s; the account's own keys play no part", ssh.FingerprintSHA256(w.r.signer.PublicKey()))
}

func dialWords(e *DialError) string {
	switch e.Stage {
	case StageConnect:
		return "nothing answers at the pod's address yet: " + e.Error()
	case StageBanner:
		return "the pod's address accepts a connection and says nothing yet"
	case StageHandshake:
		return "the pod's SSH breaks off: " + e.Error()
	case StageHostKey:
		return "what answers at the pod's address does not have this run's host key"
	case StageAuth:
		return "the pod's SSH refuses this run's key"
	}
	return e.Error()
}

// preflight waits for the guard's word.
func (w *readiness) preflight() error {
	r := w.r
	limit := r.now().Add(r.t.Preflight)
	for {
		if r.s.interrupted() {
			return errInterrupted
		}
		ctx, cancel := r.s.effect(r.t.Call)
		v, err := r.machine.Verdict(ctx)
		cancel()
		switch {
		case err == nil && v.State == "ready":
			return w.gpus(v)
		case err == nil && v.State == "failed":
			w.seenVerdict()
			return failedVerdict(v.Reason, v.Bootstrap)
		case err != nil:
			w.why = "the guard's word cannot be read: " + err.Error()
			r.closeMachine()
			if err := w.reach(); err != nil {
				return err
			}
		default:
			if done, err := w.dead(); done {
				return err
			}
		}
		if !r.now().Before(limit) {
			return refused(state.WatchdogRefused, "its guard said nothing within %s", r.t.Nominal(r.t.Preflight).Round(time.Second))
		}
		w.heartbeat()
		if err := r.s.sleep(r.t.Poll); err != nil {
			return err
		}
	}
}

// failedVerdict is a pod whose guard says that it cannot guard.
func failedVerdict(reason string, bootstrap bool) error {
	if bootstrap {
		return refused(state.Bootstrap, "its start failed: %s", safetext.Cut(safetext.Printable(reason), 200))
	}
	return refused(state.WatchdogRefused, "its guard cannot act: %s; no job starts on a pod that cannot end itself", safetext.Cut(safetext.Printable(reason), 200))
}

// dead looks whether a pod that answers SSH is still there.
func (w *readiness) dead() (bool, error) {
	pod, err := w.r.rented.Provider.GetPod(w.r.s.steady(), w.r.run.Pod.ID)
	switch {
	case err == nil && pod.Status.Dead():
		return true, slow("it is %s", pod.Status)
	case providers.Is(err, providers.NotFound):
		err := w.unknown()
		return err != nil, err
	}
	return false, nil
}

// gpus checks that the pod has what was rented.
func (w *readiness) gpus(v Verdict) error {
	asked := max(1, w.r.spec.Target.GPUCount)
	if v.GPUCount >= 0 && v.GPUCount != asked {
		return refused(state.PlacementMismatch, "it has %d of %d GPU", v.GPUCount, asked)
	}
	return nil
}

func (w *readiness) seenVerdict() {
	ctx, cancel := w.r.s.effect(w.r.t.Call)
	defer cancel()
	_ = w.r.machine.MarkSeen(ctx)
}

// heartbeat says now and then what is waited for.
func (w *readiness) heartbeat() {
	now := w.r.now()
	if now.Sub(w.saidAt) < w.r.t.Heartbeat {
		return
	}
	w.saidAt = now
	text := fmt.Sprintf("waiting for the pod since %s: %s", w.r.t.Nominal(now.Sub(w.r.run.Pod.CreatedAt)).Round(time.Second), w.why)
	if line := w.r.lastLogLine(); line != "" {
		text += fmt.Sprintf(" (log: %s)", line)
	}
	w.r.emit(Event{Kind: EventWaiting, Phase: "booting", Message: text})
}

// dial opens a connection to the pod and writes the files for people's ssh.
func (r *runner) dial(ctx context.Context, at providers.Endpoint) (Machine, error) {
	hostKey, _, _, _, err := ssh.ParseAuthorizedKey([]byte(r.run.HostKey))
	if err != nil {
		return nil, failf("keys", "the pod's public host key in the state is not readable").at(r.address)
	}
	if err := validEndpoint(at); err != nil {
		return nil, err
	}
	r.writeSSHFiles(at)
	ctx, cancel := context.WithTimeout(ctx, 2*r.t.Connect)
	defer cancel()
	return r.s.Dial(ctx, Target{
		Host: at.Host, Port: at.Port, User: at.User, Signer: r.signer, HostKey: hostKey,
		RunID: r.run.ID, RunDir: r.run.Pod.WorkDir, Metrics: r.run.Job.Metrics, Connect: r.t.Connect,
		LeaseEvery: min(time.Minute, r.t.LeaseTTL/3), Stall: r.t.TransferStall,
	})
}

// sawPod takes from a read what was not known before.
func (r *runner) sawPod(pod providers.Pod) {
	r.lastSeen = r.now()
	p := r.run.Pod
	if p == nil {
		return
	}
	news := pod.RatePerHour > 0 && p.RateUSD == 0 || pod.DataCenter != "" && p.DataCenter == "" || pod.GPUType != "" && p.GPUType == ""
	if !news {
		return
	}
	_ = r.save(func(_ *state.State, run *state.Run) {
		if run.Pod == nil || run.Pod.ID != pod.ID {
			return
		}
		if run.Pod.RateUSD == 0 {
			run.Pod.RateUSD = pod.RatePerHour
		}
		if run.Pod.DataCenter == "" {
			run.Pod.DataCenter = pod.DataCenter
		}
		if run.Pod.GPUType == "" {
			run.Pod.GPUType = pod.GPUType
		}
	})
}

func stateEndpoint(e *providers.Endpoint) *state.Endpoint {
	if e == nil {
		return nil
	}
	return &state.Endpoint{Host: e.Host, Port: e.Port, User: e.User}
}
