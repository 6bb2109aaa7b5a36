package apply

import (
	"errors"
	"fmt"
	"strings"

	"github.com/overbrainer/overbrainer/internal/money"
	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/state"
)

// stopped is the end of a walk at an answer that no other offer would change.
func (w *placement) stopped(v verdict, err error) error {
	code := string(v.reason)
	message := reasonOf(err)
	if v.reason == state.NoCredits {
		message = "the account's balance is too low for a pod: " + message
	}
	return failf(code, "%s", message).at(w.r.address).because(&endError{v.reason})
}

// nothing is the error of a target for which nothing is to be had at all.
func (w *placement) nothing() error {
	e := failf("not_in_stock", "nothing was created: nothing is offered").at(w.r.address).
		class(NothingRentable).hint("loosen the target, or %s", w.patience())
	if why := w.offers.none; why != nil {
		e.Message = "nothing was created: " + why.Error()
		var dearer *plan.DearerError
		if errors.As(why, &dearer) {
			// Waiting does not help, as it may where nothing is in stock.
			e.Code, e.Class, e.Hint = "price_moved", Failure, "plan again to see and accept the new prices"
		}
	}
	return e.because(&endError{state.NoCapacity})
}

// exhausted is the error of a walk that has tried everything.
func (w *placement) exhausted() error {
	r := w.r
	hint := ""
	if r.spec.Target.VolumeID != "" {
		hint = "the volume binds the target to its data center"
	}
	switch {
	case w.attempts > 0 && w.unclear == w.attempts:
		return failf("unanswered", "no create call was answered clearly: %s", w.reasons()).at(r.address).
			because(&endError{state.Unanswered}).hint("overbrainer pod ls shows what there is")
	case w.created > 0:
		text := fmt.Sprintf("%d pods were created and none got ready: %s", w.created, strings.Join(w.notReady, "; "))
		if w.created == 1 {
			text = "one pod was created and did not get ready: " + w.notReady[0]
		}
		if len(w.refusals) > 0 {
			text += "; the others could not be placed: " + w.reasons()
		}
		if w.noBetter() {
			text += "; that is no fault of a GPU type, so no other was tried"
		}
		if w.last != "" {
			hint = string(w.last)
		}
		text += fmt.Sprintf("; the attempts cost %s", money.USD(r.run.CostUSD))
		reason := state.NotReady
		if len(w.notReady) == 1 || w.last != "" && w.common[w.last] == len(w.notReady) {
			reason = w.reason
		}
		e := failf(string(reason), "%s", text).at(r.address).because(&endError{reason})
		e.Hint = hint
		return e
	case w.attempts == 0:
		return w.nothing()
	case w.rejected == w.attempts:
		return failf("request_refused", "every offer was refused the same way, so the request itself is the likely cause: %s", w.detail).
			at(r.address).because(&endError{state.RequestRefused})
	}
	text := "nothing could be placed: " + w.reasons()
	if dear := w.offers.tooDear(); dear != "" {
		text += "; not tried: " + dear
	}
	e := failf("no_capacity", "%s", text).at(r.address).class(NothingRentable).because(&endError{state.NoCapacity})
	e.Hint = hint
	if e.Hint == "" {
		e.Hint = "loosen gpu_types, data_centers or max_price_per_hour, or " + w.patience()
	}
	return e
}

// patience says what a target does to wait for stock, or to wait longer.
func (w *placement) patience() string {
	if s := w.r.spec.Target.WaitForStockS; s > 0 {
		return fmt.Sprintf("raise wait_for_stock, which is %s", spanWords(s))
	}
	return "set wait_for_stock"
}

// endError carries the reason with which a run ends.
type endError struct{ reason state.Reason }

func (e *endError) Error() string { return string(e.reason) }

// endReason is the reason that an error gives a run.
func endReason(err error) state.Reason {
	var end *endError
	var slow *notReadyError
	switch {
	case errors.Is(err, errInterrupted):
		return state.Interrupted
	case errors.As(err, &end):
		return end.reason
	case errors.As(err, &slow):
		return slow.end
	}
	return state.LaunchFailed
}

func detailOf(err error) string {
	var e *providers.Error
	if errors.As(err, &e) && e.Detail != "" {
		return e.Detail
	}
	return reasonOf(err)
}
