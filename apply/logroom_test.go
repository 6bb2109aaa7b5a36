package apply

import (
	"context"
	"slices"
	"testing"
	"time"
)

// TestLogRoomIsSharedByAll: what polls may bring at once is bounded in all, however
// many runs pour; alone each has as much as a poll takes.
func TestLogRoomIsSharedByAll(t *testing.T) {
	for _, runs := range []int{1, 10, 60, 100, 200} {
		var room logRoom
		parts := make([]int64, runs)
		for range 3 { // everybody comes, and comes again
			for i := range parts {
				if parts[i] > 0 {
					room.leave()
				}
				parts[i] = room.enter()
			}
		}
		var sum int64
		for _, n := range parts {
			sum += n
		}
		if sum > mostOfLogs || runs <= mostOfLogs/mostOfLog && sum != int64(runs)*mostOfLog {
			t.Errorf("%d runs may have %d bytes", runs, sum)
		}
		for range parts {
			room.leave()
		}
		if n := room.enter(); n != mostOfLog {
			t.Errorf("after %d runs a single one has %d bytes", runs, n)
		}
	}
}

// TestPollsGiveTheirRoomBack: one run that is followed for long, with a connection
// that is lost meanwhile, has as much of its log in the last poll as in the first.
func TestPollsGiveTheirRoomBack(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.job.length = 2 * time.Hour
		w.boot = func(_ int, p *fakePod) {
			go func() {
				for range 60 {
					time.Sleep(time.Minute)
					p.mu.Lock()
					p.offline = !p.offline
					p.mu.Unlock()
				}
			}()
		}
		var asked []int64
		e := w.engine()
		dial := e.Dial
		e.Dial = func(ctx context.Context, to Target) (Machine, error) {
			m, err := dial(ctx, to)
			return askedMachine{m, &asked}, err
		}
		out, err := e.Apply(t.Context(), oneRun(spec()), Options{})
		if err != nil || out.Class != OK {
			t.Fatalf("%v %+v", err, out)
		}
		if len(asked) < 500 || slices.Min(asked) != mostOfLog || slices.Max(asked) != mostOfLog {
			t.Errorf("%d polls might bring %d to %d bytes", len(asked), slices.Min(asked), slices.Max(asked))
		}
	})
}

// askedMachine notes how much of a log a follower asks for.
type askedMachine struct {
	Machine
	asked *[]int64
}

func (m askedMachine) Poll(ctx context.Context, from Offsets, most int64) (Poll, error) {
	if most > 0 {
		*m.asked = append(*m.asked, most)
	}
	return m.Machine.Poll(ctx, from, most)
}
