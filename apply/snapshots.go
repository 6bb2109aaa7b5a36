package apply

import (
	"context"
	"time"

	"github.com/overbrainer/overbrainer/state"
)

// snapshotWatch follows a request for a snapshot, whoever made it, and ends a
// job that does not answer it.
type snapshotWatch struct {
	// because is why we asked or ended the job; "" where we did not.
	because   state.Reason
	askedAt   time.Time
	proofAt   time.Time
	cancelled bool
	// ignored is the nominal grace after which the job was ended without having
	// saved itself; 0 if it was not.
	ignored time.Duration
}

// ask writes a request.
func (s *snapshotWatch) ask(f *follower, reason string, overwrite bool) error {
	err := f.call(func(ctx context.Context) error { return f.r.machine.RequestSnapshot(ctx, reason, overwrite) })
	if err == nil && s.askedAt.IsZero() {
		s.askedAt = f.r.now()
	}
	return err
}

// poll takes in what a look at the job says of a request.
func (s *snapshotWatch) poll(f *follower, p Poll) (watched, bool) {
	r := f.r
	if r.run.Job.SnapshotPath == "" {
		return watched{}, false
	}
	now := r.now()
	if p.Snapshot != "" && s.askedAt.IsZero() {
		s.askedAt = now
		r.emit(Event{Kind: EventSnapshot, Message: "the job was asked to save itself: " + p.Snapshot})
	}
	if p.Proof && s.proofAt.IsZero() && s.proven(f) {
		s.proofAt = now
		r.emit(Event{Kind: EventSnapshot, Message: "the job saved itself"})
	}
	if f.observing || s.cancelled || s.askedAt.IsZero() {
		return watched{}, false
	}
	grace := s.grace(f, p)
	switch {
	case !s.proofAt.IsZero() && now.Sub(s.proofAt) >= r.t.SnapshotLinger:
		r.warnf("the job goes on although it saved itself; it is ended")
		s.cancel(f)
	case s.proofAt.IsZero() && now.Sub(s.askedAt) >= grace:
		s.ignored = r.t.Nominal(grace).Round(time.Second)
		r.warnf("the job did not save itself within %s; it is ended", spanWords(int(s.ignored.Seconds())))
		if s.because == "" && p.Snapshot != "" {
			s.because = snapshotReason(p.Snapshot)
		}
		s.cancel(f)
	}
	return watched{}, false
}

// grace is how long the job has to save itself. It ends before a bound ends the
// pod, while the newest checkpoint can still be fetched.
func (s *snapshotWatch) grace(f *follower, p Poll) time.Duration {
	t := f.r.t
	grace := t.Seconds(f.r.run.Job.SnapshotGraceS)
	if grace <= 0 {
		grace = t.Of(30 * time.Minute)
	}
	end := f.end()
	if p.Snapshot == "deadline" && f.r.run.Bounds.OverrunHours > 0 {
		// Its guard does not let it run over and holds the deadline for this.
		end = earlier(end, s.askedAt.Add(t.GuardSnapshotWait))
	}
	left := end.Sub(s.askedAt)
	if end.IsZero() || left <= 0 {
		return grace
	}
	return min(grace, left-min(t.LastFetch, left/2))
}

// earlier is the earlier of two times, of which a may be none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// proven reports whether the job's proof is valid. One that is not may still be
// being written.
func (s *snapshotWatch) proven(f *follower) bool {
	found := false
	err := f.call(func(ctx context.Context) (err error) {
		_, found, err = f.r.machine.Proof(ctx, f.r.run.Job.SnapshotPath)
		return err
	})
	return err == nil && found
}

// cancel ends the job; the next look sees it.
func (s *snapshotWatch) cancel(f *follower) {
	ctx, cancel := f.r.s.effect(2 * f.r.t.Call)
	defer cancel()
	if err := f.r.machine.Cancel(ctx); err != nil {
		f.r.warnf("the job could not be ended: %v", err)
		return
	}
	s.cancelled = true
}
