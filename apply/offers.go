package apply

import (
	"strings"
	"time"

	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/providers"
)

// offers is what is left to try, in order: what the plan showed, by the
// catalog as it is now, and nothing at a higher price than shown.
type offers struct {
	r       *runner
	planned []plan.Offer
	ceiling map[string]*float64
	// walk orders by the live catalog; nil where that could not be read, and
	// then blind is the plan's own order.
	walk  *plan.Walk
	blind []plan.Offer
	// none says why nothing is to be had.
	none error
	// said are the moves of prices that were told: once, however often the
	// catalog is read.
	said map[string]bool
}

func (r *runner) newOffers(planned []plan.Offer) *offers {
	o := &offers{r: r, planned: planned, ceiling: map[string]*float64{}, said: map[string]bool{}}
	for _, offer := range planned {
		o.ceiling[offer.GPUType] = offer.PriceUSD
	}
	// Runs that begin together read it once: what it is good for is the order in
	// which to ask, and a pod's price is looked at when it is there.
	o.begin(r.t.PodLook)
	return o
}

// begin starts over with the catalog as it was within so long.
func (o *offers) begin(within time.Duration) {
	o.walk, o.blind, o.none = nil, nil, nil
	catalog, err := o.catalog(within)
	if err != nil {
		o.unread("the plan's order", err)
		for _, offer := range o.planned {
			if !offer.Reserve {
				o.blind = append(o.blind, offer)
			}
		}
		return
	}
	o.walk, o.none = plan.NewWalk(o.r.spec.Target, catalog, o.planned)
	if o.walk != nil {
		for _, move := range o.walk.Dearer() {
			if text := move.String(); !o.said[text] {
				o.said[text] = true
				o.r.emit(Event{Kind: EventUnavailable, GPUType: move.GPUType, Message: text + "; not used"})
			}
		}
	}
}

func (o *offers) catalog(within time.Duration) (providers.Catalog, error) {
	return o.r.s.catalog(o.r.provider, o.r.spec.Target.Query(), within)
}

// next gives the next offer, at the plan's price.
func (o *offers) next() (plan.Offer, bool) {
	if o.walk == nil {
		if len(o.blind) == 0 {
			return plan.Offer{}, false
		}
		offer := o.blind[0]
		o.blind = o.blind[1:]
		return offer, true
	}
	offer, ok := o.walk.Next()
	if shown := o.ceiling[offer.GPUType]; ok && shown != nil {
		offer.PriceUSD = shown
	}
	return offer, ok
}

// refused takes in that an offer was refused: where types are chosen by the
// catalog it is read again.
func (o *offers) refused(gpuType string) {
	if o.walk == nil || !o.walk.Refused(gpuType) {
		return
	}
	catalog, err := o.catalog(0)
	if err != nil {
		o.unread("the order", err)
		return
	}
	o.walk.Reread(catalog)
}

// unread says that the catalog could not be read, unless that was the user's wish.
func (o *offers) unread(order string, err error) {
	if !o.r.s.interrupted() {
		o.r.warnf("the catalog could not be read again, so %s stays: %s", order, reasonOf(err))
	}
}

// tooDear says which offers were left out for their price.
func (o *offers) tooDear() string {
	if o.walk == nil {
		return ""
	}
	var parts []string
	for _, move := range o.walk.Dearer() {
		parts = append(parts, move.String())
	}
	return strings.Join(parts, "; ")
}
