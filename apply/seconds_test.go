package apply

import (
	"testing"
	"time"
)

// TestSecondsAreKept: what a plan shows of a run is what the next runs were
// given when it ended.
func TestSecondsAreKept(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.timing = w.timing.Scaled(10)
		w.job.length = time.Minute
		out := w.apply(oneRun(spec()), Options{})
		if run := w.run("run.train"); run.Seconds < 500 || run.Seconds != out.Runs[0].Seconds {
			t.Errorf("the state says %v s, the outcome %v", run.Seconds, out.Runs[0].Seconds)
		}
	})
}
