package remote

import (
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

const (
	// garbageRoom is how many bytes of garbage may wait to be collected while a
	// large download runs, of which each SSH packet leaves its length. By itself
	// Go collects as soon as there is as much of it as of what lives, here a few
	// megabytes: that took a tenth of a download's processor time.
	garbageRoom = 24 << 20
	// worthRoom is how large a download must be.
	worthRoom = 64 << 20
)

var garbage struct {
	sync.Mutex
	users  int
	before int // the percentage without us
}

// roomForGarbage lets garbage wait until done is called by everyone who asked.
func roomForGarbage() (done func()) {
	garbage.Lock()
	defer garbage.Unlock()
	if garbage.users++; garbage.users == 1 {
		garbage.before = debug.SetGCPercent(-1)
		percent := garbage.before
		if percent >= 0 {
			percent = max(percent, garbageRoom/max(liveHeap()/100, 1))
		}
		debug.SetGCPercent(percent)
	}
	return sync.OnceFunc(func() {
		garbage.Lock()
		defer garbage.Unlock()
		if garbage.users--; garbage.users == 0 {
			debug.SetGCPercent(garbage.before)
		}
	})
}

// liveHeap is how many bytes the last collection left, or the least that Go
// collects at.
func liveHeap() int {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return max(int(live[0].Value.Uint64()), 4<<20)
}
