package apply

import (
	"context"
	"fmt"
	"time"

	"github.com/overbrainer/overbrainer/providers"
)

// gone reports whether a pod is proven absent: several reads in a row that do
// not know it, and one list without it. A pod that was just created is waited
// for, because "not known" means "not visible yet" for a while. An error means
// that it cannot be told; a pod that is seen is not gone.
func (r *runner) gone(id string, created time.Time) (bool, error) {
	return r.goneWith(r.s.steady(), id, created, func(d time.Duration) error { r.s.pause(d); return nil })
}

func (r *runner) goneWith(ctx context.Context, id string, created time.Time, wait func(time.Duration) error) (bool, error) {
	if young := r.t.FreshPod - r.now().Sub(created); young > 0 {
		if err := wait(young); err != nil {
			return false, err
		}
	}
	for look := 0; look < r.t.GoneLooks; look++ {
		if look > 0 {
			if err := wait(r.t.GoneInterval); err != nil {
				return false, err
			}
		}
		_, err := r.rented.Provider.GetPod(ctx, id)
		switch {
		case err == nil:
			return false, nil
		case !providers.Is(err, providers.NotFound):
			return false, err
		}
	}
	pods, err := r.s.listPodsUntil(ctx, r.provider, 0)
	if err != nil {
		return false, err
	}
	for _, pod := range pods {
		if pod.ID == id {
			return false, fmt.Errorf("pod %s is listed although a read does not know it", id)
		}
	}
	return true, nil
}

// limitPassed names the first bound of a pod to pass, and when that was; "" where
// none has. A deadline ends no pod that is kept for ever.
func (r *runner) limitPassed(now time.Time) (limit string, at time.Time) {
	p := r.run.Pod
	passed := func(at *time.Time) bool { return at != nil && !now.Before(*at) }
	switch {
	case p == nil:
	case passed(p.Deadline) && r.run.Bounds.KeepPodS >= 0 && (p.CostCapAt == nil || p.Deadline.Before(*p.CostCapAt)):
		return "time", *p.Deadline
	case passed(p.CostCapAt):
		return "cost", *p.CostCapAt
	}
	return "", time.Time{}
}
