package apply

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/overbrainer/overbrainer/internal/job"
	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/state"
)

// notReadyError is a pod that cannot be used.
type notReadyError struct {
	reason string
	// final: no other pod would do better, so the walk ends.
	final bool
	// common: another GPU type would not change it.
	common common
	result state.AttemptResult
	end    state.Reason
	hint   string
}

func (e *notReadyError) Error() string { return e.reason }

// defaultReadyS is how long a pod may take to get ready where nothing else is
// said, in nominal seconds.
const defaultReadyS = 15 * 60

// mostStarts is how many failed starts of a container in a row end the wait.
const mostStarts = 3

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
	why     string
	saidAt  time.Time
	seen    bool // the pod was read at least once
	missing int  // reads in a row that did not know it
	// refused are refusals of our key, foreign looks that foreignAt answered with
	// another host key.
	refused, foreign streak
	foreignAt        providers.Endpoint
}

// waitReady waits until the pod proves its host key, accepts the run's key and
// says that its guard is ready. On success the connection is open and the
// state says ready.
func (r *runner) waitReady() error {
	pod := r.run.Pod
	w := &readiness{
		r: r, start: r.now(), limit: pod.CreatedAt.Add(r.readyTimeout()),
		why: "the pod is being made",
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
			run.Pod.State, run.Pod.ReadyAt, run.Pod.LeasedUntil = state.PodReady, &at, &at
			run.Pod.SSH = stateEndpoint(endpoint)
		}
	})
	if err != nil {
		return err
	}
	r.emit(Event{Kind: EventReady, Message: fmt.Sprintf("pod %s is ready after %s", pod.ID, r.t.Nominal(at.Sub(pod.CreatedAt)).Round(time.Second))})
	return nil
}

// readyTimeout is how long a pod may take to get ready.
func (r *runner) readyTimeout() time.Duration {
	return r.t.Seconds(cmp.Or(r.spec.Target.ReadyTimeoutS, defaultReadyS))
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
	for looks := 0; ; looks++ {
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
		if err := w.r.s.sleepUntil(w.r.t.step(looks), w.r.guardSpeaks()); err != nil {
			return err
		}
	}
}

// late is the error of a pod that took too long.
func (w *readiness) late() error {
	after := w.r.t.Nominal(w.r.now().Sub(w.r.run.Pod.CreatedAt)).Round(time.Second)
	text := fmt.Sprintf("it was not ready after %s: %s", after, w.why)
	if line := w.r.lastLogLine(); line != "" {
		text += fmt.Sprintf("; the container's last word: %q%s", line, w.r.diskSize(line))
	} else {
		text += fmt.Sprintf("; worth checking: the image's name and size (the disk has %d GB), and whether it starts", w.r.spec.Target.DiskGB)
	}
	return slow("%s", text)
}

// diskSize names the disk of a pod whose container says that it is too small.
func (r *runner) diskSize(words string) string {
	if !strings.Contains(strings.ToLower(words), "no space left") {
		return ""
	}
	return fmt.Sprintf("; its disk has %d GB, container_disk_gb makes it larger", r.spec.Target.DiskGB)
}

// look reads the pod once and tries to connect.
func (w *readiness) look() (done bool, err error) {
	r := w.r
	unbroken, end := r.s.breakable()
	defer end()
	ctx, cancel := r.looking(unbroken)
	defer cancel()
	pod, err := r.readPod(ctx, r.t.Poll/2)
	if err == nil && pod.SSH == nil && r.guardReady() {
		// It has an address by now, which a list of before does not show.
		pod, err = r.rented.Provider.GetPod(ctx, pod.ID)
	}
	switch {
	case providers.Is(err, providers.NotFound):
		return false, w.unknown()
	case err != nil && ctx.Err() != nil:
		w.why = "the provider has not answered yet"
		return false, nil
	case err != nil && !transient(err):
		return false, failf("read_pod", "%s", reasonOf(err)).at(r.address).because(err)
	case err != nil:
		w.why = "the provider does not answer: " + reasonOf(err)
		return false, nil
	}
	w.seen, w.missing, r.stateLooks = true, 0, 0
	r.sawPod(pod)
	if pod.Status.Dead() {
		return false, slow("it is %s", pod.Status)
	}
	if v, _ := r.guardSaid(); v.State == job.VerdictFailed {
		return false, failedVerdict(v.Reason, v.Bootstrap)
	}
	if n, words := r.startsFailed(); n >= mostStarts {
		text := fmt.Sprintf("its container could not be started %d times, at last: %s%s", n, words, r.diskSize(words))
		if at := r.rented.Description.VolumeMount; r.spec.Target.VolumeID != "" && strings.Contains(words, at+"/") {
			// No other GPU type would change that.
			return false, refused(state.NotReady, "%s; the volume is mounted at %s, which hides what the image keeps there", text, at)
		}
		return false, slow("%s", text)
	}
	if pod.SSH == nil {
		w.why = fmt.Sprintf("the pod is %s and has no address for direct SSH yet", pod.Status)
		return false, nil
	}
	return w.connect(pod)
}

// unknown is a read that did not know the pod.
func (w *readiness) unknown() error {
	r := w.r
	created := r.run.Pod.CreatedAt
	if r.overtaken(r.s.steady()) {
		return errClaimLost
	}
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
	after := r.t.Nominal(r.now().Sub(created)).Round(time.Second)
	bootGrace := r.t.Seconds(r.run.Bounds.BootGraceS)
	if _, said := r.guardSaid(); said == "never_started" {
		return slow("it ended itself after %s: no job had started within boot_grace = %s", after, spanWords(r.run.Bounds.BootGraceS))
	}
	if w.seen {
		limit, _ := r.limitPassed(r.now())
		switch limit {
		case "cost":
			return refused(state.CostCap, "%s", r.limitMessage(state.CostCap))
		case "time":
			return refused(state.TimeLimit, "%s", r.limitMessage(state.TimeLimit))
		}
		if bootGrace > 0 && r.now().Sub(created) >= bootGrace {
			return slow("it is gone after %s: its guard ends it where no job starts within boot_grace = %s", after, spanWords(r.run.Bounds.BootGraceS))
		}
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
		w.refused, w.foreign = streak{}, streak{}
		return true, nil
	}
	var failed *DialError
	if !errors.As(err, &failed) {
		w.why = "no connection: " + err.Error()
		return false, nil
	}
	w.why = dialWords(failed)
	if failed.Stage == StageAuth {
		w.foreign = streak{}
		return false, w.keyRefused()
	}
	w.refused = streak{}
	if failed.Stage == StageHostKey {
		return false, w.foreignKey(*pod.SSH, failed.shownKey())
	}
	return false, nil
}

// keyRefused counts refusals of the run's key; a few of them are final.
func (w *readiness) keyRefused() error {
	if !w.refused.lasts(w.r.now(), w.r.t.Refusals, w.r.t.RefusalWindow) {
		return nil
	}
	return refused(state.NotReady, "its SSH refuses this run's key %s; the account's own keys play no part", ssh.FingerprintSHA256(w.r.signer.PublicKey()))
}

// heartbeat says now and then what is waited for.
func (w *readiness) heartbeat() {
	now := w.r.now()
	if now.Sub(w.saidAt) < w.r.t.Heartbeat {
		return
	}
	w.saidAt = now
	text := fmt.Sprintf("waiting for the pod for %s: %s", w.r.t.Nominal(now.Sub(w.r.run.Pod.CreatedAt)).Round(time.Second), w.why)
	if line := w.r.lastLogLine(); line != "" {
		text += fmt.Sprintf(" (log: %s)", line)
	}
	w.r.emit(Event{Kind: EventWaiting, Phase: "booting", Message: text})
}
