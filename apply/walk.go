package apply

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/state"
)

// maxUnclear is how often one GPU type is asked for when no answer is clear.
const maxUnclear = 2

// common is a fault of a pod that is not its GPU type's, by what to do where
// several pods have it; "" is none.
type common string

const (
	commonCutOff     common = "try again once the provider's API answers its pods"
	commonForeignKey common = "see whether the image starts an sshd of its own, and whether SSH connections from here are led elsewhere"
)

// mostCommon is how many pods with one such fault end a walk: the first may be
// its host's, with the second it is the image's, the API's or the network's.
const mostCommon = 2

// placement is the walk over the offers until one gives a pod that is ready.
type placement struct {
	r      *runner
	offers *offers
	// created counts pods that were made, notReady says why each of them could
	// not be used and reason the last one's; refusals says why each offer gave
	// none, the last one at the end.
	created  int
	notReady []string
	refusals []refusal
	common   map[common]int // pods with each fault that is no GPU type's
	last     common         // of the last pod
	rejected int            // refusals of the request itself
	unclear  int            // attempts that were never answered clearly
	attempts int
	detail   string // of the last rejection
	reason   state.Reason
}

// place walks the offers until a pod of the run is ready and connected. Its
// error says how the run ends; nothing is left behind that the state does not
// show.
func (r *runner) place(shown []plan.Offer) error {
	w := &placement{r: r, offers: r.newOffers(shown), common: map[common]int{}}
	err := w.walk()
	if err == nil {
		return nil
	}
	if w.unclear > 0 || r.unfinished() {
		r.sweepOthers(r.s.steady())
		if names := r.unfinishedNames(); len(names) > 0 {
			r.warnf("some create calls were not answered clearly (%s); a pod may still appear, the next apply, destroy or sweep finds it", strings.Join(names, ", "))
		}
	}
	return err
}

func (w *placement) walk() error {
	r := w.r
	until := r.now().Add(r.t.Seconds(r.spec.Target.WaitForStockS))
	backoff := r.t.StockBackoff
	told := ""
	for {
		if w.offers.none != nil {
			if !w.mayWait(until) {
				return w.nothing()
			}
		} else if done, err := w.round(); done {
			return err
		}
		if !w.mayWait(until) {
			return w.exhausted()
		}
		nothing := "nothing to rent"
		if w.offers.none != nil { // why an offer was refused has been said
			nothing += ": " + w.offers.none.Error()
		}
		if nothing == told {
			nothing = "still nothing to rent"
		} else {
			told = nothing
		}
		r.emit(Event{Kind: EventWaiting, Phase: "waiting", Message: fmt.Sprintf("%s; trying again in %s, until %s", nothing, backoff.Round(time.Second), until.Local().Format(clock))})
		if err := r.s.sleep(backoff); err != nil {
			return err
		}
		backoff = min(2*backoff, r.t.StockBackoffMax)
		w.offers.begin(0)
	}
}

// mayWait reports whether the target's patience for stock covers another
// round: only where nothing was made that failed, and no request was wrong.
func (w *placement) mayWait(until time.Time) bool {
	return w.r.spec.Target.WaitForStockS > 0 && w.created == 0 && w.rejected == 0 && w.unclear == 0 && w.r.now().Before(until)
}

// round tries every offer once. done: the walk is over, with err or a pod.
func (w *placement) round() (done bool, err error) {
	for {
		if w.r.s.interrupted() {
			return true, errInterrupted
		}
		offer, ok := w.offers.next()
		if !ok {
			return false, nil
		}
		if done, err = w.try(offer); done {
			return true, err
		}
	}
}

// try asks for one offer, again where an answer was not clear.
func (w *placement) try(offer plan.Offer) (done bool, err error) {
	r := w.r
	for unclear := 0; unclear < maxUnclear; unclear++ {
		attempt, pod, v, err := r.create(offer, w.asked(offer))
		if err != nil && v.then == nextReady {
			return true, err // before the call, or the answer could not be saved
		}
		w.attempts++
		switch v.then {
		case nextReady:
			return w.use(attempt, pod, offer)
		case nextReconcile:
			w.unclear++
			adopted, failed := r.reconcile(attempt)
			if failed != nil {
				return true, failed
			}
			if adopted != nil {
				w.unclear--
				return w.use(attempt, *adopted, offer)
			}
			w.refused(offer, "no clear answer", reasonOf(err))
			continue
		case nextStop:
			w.rejected++
			w.refused(offer, reasonOf(err), reasonOf(err))
			return true, w.stopped(v, err)
		}
		if v.result == state.AttemptRejected {
			w.rejected++
			w.detail = detailOf(err)
		}
		w.refused(offer, reasonOf(err), reasonOf(err))
		w.offers.refused(offer.GPUType)
		return false, nil
	}
	return false, nil
}

// use waits for a pod that was made, and gives it up where it is not what was
// asked or does not get ready.
func (w *placement) use(attempt string, pod providers.Pod, offer plan.Offer) (done bool, err error) {
	r := w.r
	w.created++
	if why := mismatch(r.spec.Target, offer, r.diskUSD, pod); why != "" {
		w.reason = state.PlacementMismatch
		w.notReady = append(w.notReady, offer.GPUType+": "+why)
		r.emit(Event{Kind: EventUnavailable, GPUType: offer.GPUType, Message: "the pod is not what was asked: " + why})
		return w.giveUp(attempt, state.AttemptRefused, why, "mismatch")
	}
	err = r.waitReady()
	var slow *notReadyError
	switch {
	case err == nil:
		return true, nil
	case errors.As(err, &slow) && !slow.final:
		w.notReady = append(w.notReady, offer.GPUType+": "+slow.reason)
		w.reason = slow.end
		w.common[slow.common]++
		w.last = slow.common
		if done, err = w.giveUp(attempt, slow.result, slow.reason, "not ready"); !done && w.noBetter() {
			return true, w.exhausted()
		}
		return done, err
	}
	result := state.AttemptNotReady
	if slow != nil {
		result = slow.result
	}
	if derr := r.endAttempt(attempt, result, err.Error(), deleteReason(err)); derr != nil {
		return true, derr
	}
	return true, err
}

// noBetter reports whether no other GPU type would help.
func (w *placement) noBetter() bool { return w.last != "" && w.common[w.last] >= mostCommon }

// giveUp ends an attempt whose pod cannot be used; a deletion that cannot be
// proven ends the walk.
func (w *placement) giveUp(attempt string, result state.AttemptResult, detail, reason string) (done bool, err error) {
	if err := w.r.endAttempt(attempt, result, detail, reason); err != nil {
		return true, givenUp(detail, err)
	}
	if w.r.s.interrupted() {
		return true, errInterrupted
	}
	return false, nil
}

// givenUp says of a pod that is not proven gone why it was to go.
func givenUp(why string, err error) error {
	var e *Error
	if !errors.As(err, &e) || errors.Is(err, errClaimLost) {
		return err
	}
	c := *e
	c.Message += "; it was given up because " + why
	return &c
}
