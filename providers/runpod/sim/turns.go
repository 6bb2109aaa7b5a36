package sim

import (
	"context"
	"runtime"
	"sync"
	"time"
)

const (
	// bootsPerCPU is how many containers of a processor may be starting at once.
	bootsPerCPU = 6
	// bootPatience is for how long a container counts as starting at most: one
	// whose SSH nobody asks for would keep the others waiting.
	bootPatience = 3 * time.Second
)

// turns lets containers start a few at a time. Started all at once they would all
// be ready when the last one is; one after another they are on average in half the
// time, and so is what they do after that.
type turns chan struct{}

func newTurns() turns { return make(turns, bootsPerCPU*runtime.NumCPU()) }

// take waits for a turn, which lasts until over is called, or for bootPatience.
// It is nil when ctx ended first.
func (t turns) take(ctx context.Context) (over func()) {
	select {
	case t <- struct{}{}:
	case <-ctx.Done():
		return nil
	}
	over = sync.OnceFunc(func() { <-t })
	time.AfterFunc(bootPatience, over)
	return over
}
