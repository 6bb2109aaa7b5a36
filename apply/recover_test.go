package apply

import (
	"fmt"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/plan"
	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/providers/providertest"
)

// TestLeftoversAreSettledTogether: what an earlier command left at many addresses takes
// about as long as at one, because the pods that live wait for it and bill.
func TestLeftoversAreSettledTogether(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		const runs = 8
		specs := map[string]*plan.RunSpec{}
		for i := range runs {
			specs[fmt.Sprintf("run.r%02d", i)] = spec()
		}
		w.mem.Fail(providertest.Fault{Op: "DeletePod", Times: runs, Err: providertest.Error(providers.Forbidden, "delete pod", "not now")})
		w.apply(planOf(plan.Create, specs), Options{})
		pods := w.mem.Pods()
		if len(pods) != runs {
			t.Fatalf("%d pods are left", len(pods))
		}
		for _, pod := range pods {
			w.mem.Take(pod.ID) // its guard ended it
		}
		began := time.Now()
		w.apply(w.replan(specs), Options{})
		if took := time.Since(began); took > 2*w.engine().Timing.GoneInterval*time.Duration(w.engine().Timing.GoneLooks) {
			t.Errorf("it took %s", took)
		}
		for address := range specs {
			if run := w.run(address); run.Pod != nil && !run.Pod.Gone() {
				t.Errorf("%s: its pod is not known to be gone", address)
			}
		}
		w.clean()
	})
}
