package remote

import (
	"runtime/debug"
	"testing"
)

// TestRoomForGarbage: garbage may wait while any large download runs, and the
// process is as it was when the last one has ended.
func TestRoomForGarbage(t *testing.T) {
	percent := func() int {
		now := debug.SetGCPercent(100)
		debug.SetGCPercent(now)
		return now
	}
	before := debug.SetGCPercent(50)
	defer debug.SetGCPercent(before)

	first := roomForGarbage()
	room := percent()
	if live := liveHeap(); room < 100 && live < garbageRoom/2 || room < 50 || room > 100*garbageRoom/(4<<20) {
		t.Errorf("%d %% of %d bytes", room, live)
	}
	second := roomForGarbage()
	first()
	first()
	if now := percent(); now != room {
		t.Errorf("%d %% while one still runs, want %d", now, room)
	}
	second()
	if now := percent(); now != 50 {
		t.Errorf("%d %% afterwards, want 50", now)
	}

	debug.SetGCPercent(-1)
	defer roomForGarbage()()
	if now := percent(); now != -1 {
		t.Errorf("where nothing is to be collected, %d %%", now)
	}
}
