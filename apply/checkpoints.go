package apply

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/overbrainer/overbrainer/state"
)

// checkpointWatch brings the newest complete checkpoint home every so often
// while a job is followed, so that a pod which vanishes takes little with it.
type checkpointWatch struct {
	triedAt time.Time
	step    int64
	running chan state.Snapshot
}

func (c *checkpointWatch) look(f *follower, now time.Time) {
	every := f.r.t.Seconds(f.r.run.Job.SnapshotEveryS)
	if every <= 0 || f.r.run.Job.SnapshotPath == "" {
		return
	}
	if c.running != nil {
		c.take(f)
		return
	}
	if c.triedAt.IsZero() {
		c.triedAt = f.started
	}
	if now.Sub(c.triedAt) < every {
		return
	}
	c.triedAt = now
	c.running = make(chan state.Snapshot, 1)
	go c.fetch(f.ctx, f.r.machine, f.r.run.Job.SnapshotPath, f.r.dir(), c.step, now, c.running)
}

// take writes down a checkpoint that has come home, if one has.
func (c *checkpointWatch) take(f *follower) {
	select {
	case snap, ok := <-c.running: // nil: none is on its way
		c.running = nil
		if ok {
			c.step = snap.Step
			_ = f.r.save(func(_ *state.State, run *state.Run) { run.Snapshot = &snap })
			f.r.emit(Event{Kind: EventSnapshot, Message: fmt.Sprintf("the checkpoint of step %d is here", snap.Step)})
		}
	default:
	}
}

// fetch brings the newest checkpoint home if it is complete: it must look the
// same before and after the transfer.
func (c *checkpointWatch) fetch(ctx context.Context, m Machine, pattern, dir string, have int64, now time.Time, out chan<- state.Snapshot) {
	defer close(out)
	before, err := m.Manifest(ctx, []string{strings.ReplaceAll(pattern, "{step}", "*") + "/**"}, nil)
	if err != nil {
		return
	}
	step, name, files := newestCheckpoint(pattern, before.Files)
	if name == "" || step <= have {
		return
	}
	if _, err := m.Collect(ctx, CollectRequest{Dir: dir, Globs: []string{globLiteral(name) + "/**"}, Running: true}); err != nil {
		return
	}
	after, err := m.Manifest(ctx, []string{globLiteral(name) + "/**"}, nil)
	if err != nil || !slices.Equal(files, after.Files) {
		return
	}
	out <- state.Snapshot{Path: name, Step: step, Reason: "every", At: now, Local: true, SHA256: checkpointSum(checkpointOf(files, name))}
}

// newestCheckpoint gives the checkpoint with the highest step and its files.
func newestCheckpoint(pattern string, files []File) (step int64, name string, own []File) {
	step = -1
	expr, err := regexp.Compile("^" + strings.ReplaceAll(regexp.QuoteMeta(path.Clean(pattern)), `\{step\}`, `(\d+)`) + "/")
	if err != nil {
		return -1, "", nil
	}
	for _, f := range files {
		m := expr.FindStringSubmatch(f.Path)
		if len(m) < 2 {
			continue
		}
		n, err := strconv.ParseInt(m[1], 10, 64)
		switch {
		case err != nil || n < step:
			continue
		case n > step:
			step, name, own = n, strings.TrimSuffix(m[0], "/"), nil
		}
		own = append(own, f)
	}
	return step, name, own
}
