package apply

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/overbrainer/overbrainer/state"
)

// checkpointWatch brings the newest whole checkpoint home every so often while a
// job is followed, so that a pod which vanishes takes little with it.
type checkpointWatch struct {
	triedAt time.Time
	running chan brought
	// newest is the newest checkpoint on the pod, as it has been since newestAt.
	newest   Checkpoint
	newestAt time.Time
	// held is here and not known to be whole, as it was then on the pod.
	held  Checkpoint
	alone int // looks in a row at which no checkpoint was known to be whole
	told  map[string]bool
	on    Machine // what is under way is on
	// unsaved: the state could not be written, and may know older ones only.
	unsaved bool
}

// brought is what came of a try to bring a checkpoint home.
type brought struct {
	newest Checkpoint      // on the pod
	got    *state.Snapshot // nil: nothing new
	from   Checkpoint      // what got was made of
	whole  bool
	err    error
}

func (c *checkpointWatch) look(f *follower, now time.Time) {
	every := f.r.t.Seconds(f.r.run.Job.SnapshotEveryS)
	if every <= 0 || f.r.run.Job.SnapshotPath == "" {
		return
	}
	if c.running != nil {
		select {
		case b := <-c.running:
			c.running = nil
			c.take(f, b)
		default:
		}
		return
	}
	if c.triedAt.IsZero() {
		c.triedAt = f.started
	}
	if now.Sub(c.triedAt) < every || f.last.tried {
		return
	}
	c.triedAt, c.on = now, f.r.machine
	c.running = make(chan brought, 1)
	fetch := checkpointFetch{
		m: f.r.machine, dir: f.r.dir(), pattern: f.r.run.Job.SnapshotPath, now: now, have: -1, taken: f.r.taken, held: c.held,
		quiet: func(n Checkpoint) bool { return n == c.newest && now.Sub(c.newestAt) >= every },
	}
	if !c.unsaved {
		fetch.keep = keptDirs(f.r.run)
	}
	if s := f.r.run.Snapshot; s != nil {
		fetch.have = s.Step
	}
	go func(out chan<- brought) { out <- fetch.newest(f.ctx) }(c.running)
}

// end takes in what has come home, once the follower's context has ended, and waits
// for what is under way where something else is to use the same directory.
func (c *checkpointWatch) end(f *follower, wait bool) {
	if c.running != nil && (wait || len(c.running) > 0) {
		c.take(f, <-c.running)
		c.running = nil
	}
}

// take writes down what has come home.
func (c *checkpointWatch) take(f *follower, b brought) {
	r := f.r
	if b.newest.Path != "" && b.newest != c.newest {
		c.newest, c.newestAt = b.newest, c.triedAt
	}
	switch {
	case b.err != nil:
		c.failed(f, b.err)
		return
	case b.got == nil:
		return
	case !b.whole:
		c.held = b.from
		c.save(r, func(run *state.Run) { run.Unproven = b.got })
		if c.alone++; c.alone == 3 {
			r.warnf("the job keeps one checkpoint only and changes it within snapshot.every = %q, so none is known to be whole; that of step %d is here and nothing goes on from it by itself. Have it keep two",
				spanWords(r.run.Job.SnapshotEveryS), b.got.Step)
		}
		return
	}
	c.alone, r.taken = 0, b.from
	c.save(r, func(run *state.Run) { run.Leave(*b.got) })
	if len(c.told) > 0 {
		r.warnf("checkpoints come home again")
		c.told = nil
	}
	r.emit(Event{Kind: EventSnapshot, Message: fmt.Sprintf("the checkpoint of step %d is here", b.got.Step)})
}

func (c *checkpointWatch) save(r *runner, note func(*state.Run)) {
	c.unsaved = r.save(func(_ *state.State, run *state.Run) { note(run) }) != nil
}

// errRemoved says that the job removed each checkpoint before it was here.
var errRemoved = errors.New("the job removes its checkpoints faster than one is fetched; have it keep more of them, or save less often")

// failed tells, once for each kind of cause, that checkpoints do not come home.
func (c *checkpointWatch) failed(f *follower, err error) {
	r := f.r
	select {
	case <-c.on.Done(): // told as a lost connection
		return
	case <-f.ctx.Done():
		return
	default:
	}
	kind := "other"
	switch {
	case errors.Is(err, ErrNoSpace), errors.Is(err, syscall.ENOSPC):
		kind = "space"
	case errors.Is(err, errRemoved):
		kind = "removed"
	}
	if c.told[kind] {
		return
	}
	if c.told == nil {
		c.told = map[string]bool{}
	}
	c.told[kind] = true
	here := "none is here"
	if s := r.run.Snapshot; s != nil {
		here = fmt.Sprintf("the newest here is that of step %d", s.Step)
	}
	r.warnf("the job's checkpoints do not come home, %s: %v", here, err)
}

// checkpointFetch is one try to bring home the newest checkpoint.
type checkpointFetch struct {
	m            Machine
	dir, pattern string
	now          time.Time
	have         int64 // the step of the newest whole one here
	taken, held  Checkpoint
	// quiet reports whether a checkpoint has not changed for a whole period.
	quiet func(Checkpoint) bool
	// keep are those here that stay whatever the pod has removed; nil: all.
	keep map[string]bool
}

// newest brings home the newest checkpoint that is known to be whole. Of a job
// that keeps only one it brings that one, whatever is known of it: better than
// nothing where the pod vanishes.
func (c checkpointFetch) newest(ctx context.Context) brought {
	var b brought
	for range 3 {
		list, err := c.m.Checkpoints(ctx, c.pattern)
		if err != nil || len(list) == 0 {
			return brought{err: err}
		}
		b.newest = list[len(list)-1]
		failed, why := b.from, b.err
		b.err = nil
		if c.keep != nil {
			b.err = removeOld(c.dir, c.pattern, list, c.keep)
		}
		pick := newestWhole(list, c.quiet(b.newest))
		b.whole = pick != nil
		if pick == nil {
			pick = &b.newest
		}
		b.from = *pick
		switch {
		case why != nil && pick.Path == failed.Path:
			b.err = why
			return b // there is no newer one that is whole
		case pick.Step <= c.have && !c.grown(*pick), !b.whole && *pick == c.held:
			return b
		case b.err != nil:
			return b
		}
		var got state.Snapshot
		if got, b.err = bring(ctx, c.m, c.dir, c.pattern, *pick, b.newest.Files, c.now); b.err == nil {
			b.got = &got
			return b
		}
	}
	if !errors.Is(b.err, errRemoved) {
		b.err = fmt.Errorf("%w: %w", b.err, errRemoved)
	}
	return b
}

// grown reports whether the job has added to the checkpoint that is here since, as
// to one that was quiet and not done.
func (c checkpointFetch) grown(now Checkpoint) bool {
	return now.Path == c.taken.Path && now != c.taken && now.Files >= c.taken.Files
}

// newestWhole gives the newest checkpoint of a list that is known to be whole, nil
// for none. Where there is a newer one the job has moved on; the newest itself
// counts once it is quiet and has no fewer files than the one before.
func newestWhole(list []Checkpoint, quiet bool) *Checkpoint {
	n := len(list)
	switch {
	case n > 0 && quiet && (n == 1 || list[n-1].Files >= list[n-2].Files):
		return &list[n-1]
	case n > 1:
		return &list[n-2]
	}
	return nil
}

// holdsCheckpoint reports whether a checkpoint is in a list as it was.
func holdsCheckpoint(list []Checkpoint, c Checkpoint) bool {
	for _, l := range list {
		if l == c || l.Stamp == "" && l.Path == c.Path {
			return true
		}
	}
	return false
}

// bring fetches a checkpoint of a job that goes on, as it was listed. One that the
// job has removed since counts as well, if that had not begun before it was read:
// it then had all that was listed, and no fewer files than least.
func bring(ctx context.Context, m Machine, dir, pattern string, c Checkpoint, least int, now time.Time) (state.Snapshot, error) {
	none := state.Snapshot{}
	got, err := m.Collect(ctx, CollectRequest{Dir: dir, Globs: globsOf(c.Path), Running: true})
	if err != nil {
		return none, fmt.Errorf("that of step %d, %s: %w", c.Step, size(c.Bytes), err)
	}
	list, err := m.Checkpoints(ctx, pattern)
	if err != nil {
		return none, err
	}
	all := len(got.Files) == c.Files && total(got.Files) == c.Bytes && c.Files >= least
	if len(got.Files) == 0 || !all && !holdsCheckpoint(list, c) {
		return none, fmt.Errorf("that of step %d changed while it was fetched: %w", c.Step, errRemoved)
	}
	if err := removeStrangers(dir, c.Path, got.Files); err != nil {
		return none, err
	}
	return state.Snapshot{Path: c.Path, Step: c.Step, Reason: "every", At: now, Local: true, SHA256: checkpointSum(checkpointOf(got.Files, c.Path))}, nil
}

// globsOf match a checkpoint, a directory or a file.
func globsOf(path string) []string { return []string{globLiteral(path) + "/**", globLiteral(path)} }
