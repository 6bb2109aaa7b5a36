package remote

import (
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

const (
	// garbageRoom is how many bytes of garbage may wait to be collected while a
	// large download runs, of which each SSH packet leaves its length. By itself
	// Go collects as soon as there is as much of it as of what lives, here a few
	// megabytes: that took a tenth of a download's processor time.
	garbageRoom = 32 << 20
	// worthRoom is how large a download must be.
	worthRoom = 64 << 20
	// roomEvery is how often the room is made anew from what lives by then.
	roomEvery = 100 * time.Millisecond
)

var garbage struct {
	sync.Mutex
	users  int
	before int // the percentage without us
	stop   chan struct{}
}

// roomForGarbage lets garbage wait until done is called by everyone who asked.
func roomForGarbage() (done func()) {
	garbage.Lock()
	defer garbage.Unlock()
	if garbage.users++; garbage.users == 1 {
		garbage.before = debug.SetGCPercent(-1)
		debug.SetGCPercent(garbage.before)
		garbage.stop = make(chan struct{})
		go makeRoom(garbage.before, garbage.stop)
	}
	return sync.OnceFunc(func() {
		garbage.Lock()
		defer garbage.Unlock()
		if garbage.users--; garbage.users == 0 {
			close(garbage.stop)
			debug.SetGCPercent(garbage.before)
		}
	})
}

// makeRoom sets the percentage until stop. The first one is set after a while: what a
// download holds lives only then.
func makeRoom(before int, stop chan struct{}) {
	if before < 0 {
		return // nothing is collected
	}
	ticker := time.NewTicker(roomEvery)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
		}
		garbage.Lock()
		if garbage.stop == stop && garbage.users > 0 {
			debug.SetGCPercent(max(before, garbageRoom/max(liveHeap()/100, 1)))
		}
		garbage.Unlock()
	}
}

// liveHeap is how many bytes the last collection left, or the least that Go
// collects at.
func liveHeap() int {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return max(int(live[0].Value.Uint64()), 4<<20)
}
