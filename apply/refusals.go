package apply

import (
	"slices"
	"strings"

	"github.com/overbrainer/overbrainer/plan"
)

// refusal is why an offer gave no pod when it was asked for last.
type refusal struct{ offer, why string }

// candidate names an offer and where it was asked for.
func candidate(offer plan.Offer) string {
	if len(offer.DataCenters) == 0 {
		return offer.GPUType
	}
	return offer.GPUType + " in " + strings.Join(offer.DataCenters, ", ")
}

// asked reports whether an offer was refused before.
func (w *placement) asked(offer plan.Offer) bool {
	return slices.ContainsFunc(w.refusals, func(r refusal) bool { return r.offer == candidate(offer) })
}

// refused keeps why an offer gave no pod, one reason for each offer however
// often it is tried, and says what was answered where that is news.
func (w *placement) refused(offer plan.Offer, why, answer string) {
	now := refusal{candidate(offer), why}
	known := slices.Contains(w.refusals, now)
	w.refusals = slices.DeleteFunc(w.refusals, func(r refusal) bool { return r.offer == now.offer })
	w.refusals = append(w.refusals, now)
	if !known {
		w.r.emit(Event{Kind: EventUnavailable, GPUType: offer.GPUType, Message: offer.GPUType + ": " + answer})
	}
}

// reasons says why each offer gave no pod: each reason once, behind its offers.
func (w *placement) reasons() string {
	var whys []string
	offers := map[string][]string{}
	for _, r := range w.refusals {
		if offers[r.why] == nil {
			whys = append(whys, r.why)
		}
		offers[r.why] = append(offers[r.why], r.offer)
	}
	for i, why := range whys {
		whys[i] = strings.Join(offers[why], ", ") + ": " + strings.TrimSuffix(why, ".")
	}
	return strings.Join(whys, "; ")
}
