package apply

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/overbrainer/overbrainer/internal/safetext"
	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/state"
)

// preflight waits for the guard's word.
func (w *readiness) preflight() error {
	r := w.r
	limit := r.now().Add(r.t.Preflight)
	const silent = "the guard on the pod has not spoken yet"
	w.why = silent
	for looks := 0; ; looks++ {
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
		case errors.Is(err, ErrLacks):
			return refused(state.LaunchFailed, "%s: %v", r.imageRefused(), err)
		case err != nil:
			why := "the guard's word cannot be read: " + err.Error()
			w.why = why
			r.closeMachine()
			if err := w.reach(); err != nil {
				return err
			}
			w.why = why // and not what the new connection was waited for
		default:
			w.why = silent
			if done, err := w.dead(); done {
				return err
			}
		}
		if !r.now().Before(limit) {
			after := r.t.Nominal(r.t.Preflight).Round(time.Second)
			if w.why == silent {
				return unguarded("its guard said nothing within %s", after)
			}
			return unguarded("its guard was not heard within %s: %s", after, w.why)
		}
		w.heartbeat()
		if err := r.s.sleepUntil(r.t.step(looks), r.guardSpeaks()); err != nil {
			return err
		}
	}
}

// failedVerdict is a pod whose guard says that it cannot guard.
func failedVerdict(reason string, bootstrap bool) error {
	if bootstrap {
		return refused(state.Bootstrap, "its start failed: %s", safetext.Cut(safetext.Printable(reason), 200))
	}
	text := fmt.Sprintf("its guard cannot act: %s; no job starts on a pod that cannot end itself", guardWords(safetext.Cut(safetext.Printable(reason), 200)))
	if noWayOut.MatchString(reason) {
		e := unguarded("it got no answer from the provider's API (%s), which its guard needs to end it", reason)
		e.common = commonCutOff
		return e
	}
	return refused(state.WatchdogRefused, "%s", text)
}

// guardWords says what a guard's word for a reason means.
func guardWords(reason string) string {
	switch {
	case reason == "missing_key":
		return "the pod was given no key for the provider's API, or not its own ID (missing_key)"
	case reason == "no_curl":
		return "curl is missing in the image (no_curl)"
	case reason == "no_certificates":
		return "the image has no CA certificates by which to know the provider's API, as ca-certificates installs them (no_certificates)"
	case reason == "read_only_key":
		return "the key that the pod was given may look at the pod and not delete it (read_only_key)"
	case strings.HasPrefix(reason, "http_4"):
		return "the provider's API refuses the key that the pod was given (" + reason + ")"
	}
	return reason
}

// noWayOut are the verdicts of a guard that got no answer from the provider,
// which is its host's fault or the API's, not its GPU type's; others are the
// image's or the key's, and the same on every pod.
var noWayOut = regexp.MustCompile(`^(unreachable|http_408|http_429|http_5\d\d)$`)

// unguarded is a pod without a guard where another may have one.
func unguarded(format string, args ...any) *notReadyError {
	e := slow(format, args...)
	e.result, e.end = state.AttemptRefused, state.WatchdogRefused
	return e
}

// dead looks whether a pod that answers SSH is still there.
func (w *readiness) dead() (bool, error) {
	unbroken, end := w.r.s.breakable()
	defer end()
	ctx, cancel := w.r.looking(unbroken)
	defer cancel()
	pod, err := w.r.rented.Provider.GetPod(ctx, w.r.run.Pod.ID)
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
	pod := w.r.run.Pod
	for _, a := range w.r.run.Attempts {
		if a.Name == pod.Attempt && pod.GPUType != "" && a.GPUType != "" && pod.GPUType != a.GPUType {
			e := slow("it has %s, asked was %s", pod.GPUType, a.GPUType)
			e.result, e.end = state.AttemptRefused, state.PlacementMismatch
			return e
		}
	}
	return nil
}

func (w *readiness) seenVerdict() {
	ctx, cancel := w.r.s.effect(w.r.t.Call)
	defer cancel()
	_ = w.r.machine.MarkSeen(ctx)
}
