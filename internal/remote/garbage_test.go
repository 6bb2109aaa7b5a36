package remote

import (
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"
)

// TestRoomForGarbage: garbage may wait while any large download runs, no more of it
// than there is room for, and the process is as it was when the last one has ended.
func TestRoomForGarbage(t *testing.T) {
	percent := func() int {
		now := debug.SetGCPercent(100)
		debug.SetGCPercent(now)
		return now
	}
	before := debug.SetGCPercent(50)
	defer debug.SetGCPercent(before)
	synctest.Test(t, func(t *testing.T) {
		first := roomForGarbage()
		if now := percent(); now != 50 {
			t.Errorf("%d %% before it is known what lives", now)
		}
		time.Sleep(roomEvery + 1)
		synctest.Wait()
		room := percent()
		if live := liveHeap(); room < 100 && live < garbageRoom/2 || room < 50 || room > 100*garbageRoom/(4<<20) {
			t.Errorf("%d %% of %d bytes", room, live)
		}
		second := roomForGarbage()
		first()
		first()
		if now := percent(); now == 50 && room != 50 {
			t.Error("there is no room while one still runs")
		}
		second()
		time.Sleep(2 * roomEvery)
		synctest.Wait()
		if now := percent(); now != 50 {
			t.Errorf("%d %% afterwards, want 50", now)
		}

		debug.SetGCPercent(-1)
		done := roomForGarbage()
		time.Sleep(2 * roomEvery)
		synctest.Wait()
		if now := percent(); now != -1 {
			t.Errorf("where nothing is to be collected, %d %%", now)
		}
		done()
		debug.SetGCPercent(50)
	})
}
