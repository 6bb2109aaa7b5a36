package apply

import (
	"time"

	"github.com/overbrainer/overbrainer/plan"
)

// Timing holds every wait, interval, limit and grace that the engine and the
// guard on a pod use, at their production values unless scaled. It is the only
// place that divides a duration: a simulator that runs N times as fast is
// served by Scaled(N) and by Of, and people go on seeing nominal hours.
type Timing struct {
	// Poll is the time between two looks at a pod that is being waited for.
	Poll time.Duration
	// Preflight is how long a machine that answers SSH may take to say whether
	// its guard is ready.
	Preflight time.Duration
	// Heartbeat is the time between two words about what is waited for.
	Heartbeat time.Duration
	// FreshPod is the age below which "not known" means "not visible yet".
	FreshPod time.Duration
	// RefusalWindow and Refusals: so many refusals of our key over so long a
	// time are final.
	RefusalWindow time.Duration
	Refusals      int
	// ForeignKey is how long another host key than the run's may be shown at a
	// pod's address once the guard on the pod is ready, ForeignKeyBoot where
	// nothing was heard of it: an image's own sshd may answer until ours has
	// started, which may have to be installed within three minutes.
	ForeignKey, ForeignKeyBoot time.Duration

	// Reconcile are the waits before the looks for a create without a clear
	// answer; AdoptAge is the least age of an attempt that is called absent.
	Reconcile []time.Duration
	AdoptAge  time.Duration
	// Blind is how long a list that cannot be read is waited for while a create
	// call has no clear answer.
	Blind time.Duration
	// CreateLimit ends the wait for the answer to a create call, which then
	// counts as unclear.
	CreateLimit time.Duration
	// StockBackoff is the first wait for stock, StockBackoffMax the longest.
	StockBackoff, StockBackoffMax time.Duration

	// DeleteConfirm is how long a deleted pod may still be shown.
	DeleteConfirm time.Duration
	// GoneInterval is the time between two of the GoneLooks looks that must all
	// miss a pod before it counts as gone.
	GoneInterval time.Duration
	GoneLooks    int
	// DrainLogs is how long a pod's log is read before its deletion.
	DrainLogs time.Duration

	// JobPoll is the time between two looks at a job.
	JobPoll time.Duration
	// GuardTick is the time between two looks at the bounds, PodLook between
	// two looks at the pod through the provider.
	GuardTick, PodLook time.Duration
	// A lease is renewed every LeaseEvery while there was progress within
	// LeaseStall; the guard on the pod honours it for LeaseTTL.
	LeaseEvery, LeaseTTL, LeaseStall time.Duration
	// DeadlineMargin is how long after a deadline the client deletes the pod
	// itself.
	DeadlineMargin time.Duration
	// Reconnect is the first wait after a lost connection, ReconnectMax the
	// longest.
	Reconnect, ReconnectMax time.Duration

	// SnapshotLead is the longest time between a request for a snapshot and the
	// bound that it is for, see lead;
	// RequestLook between two looks for somebody else's request; SnapshotLinger
	// how long a job may run on after its proof.
	SnapshotLead, RequestLook, SnapshotLinger time.Duration
	// LastFetch is how long before a bound what a job has written is fetched.
	LastFetch time.Duration
	// Settle is how long results that something still writes are waited for, in
	// all, before what the job left running is ended; Steady how long nothing of
	// them changes before they count as finished while something of the job runs.
	Settle, Steady time.Duration
	// MinCapTime is the least time that a cost cap should buy.
	MinCapTime time.Duration

	// DiskLook is the time between two measurements; GrowWait how long a grown
	// volume may take to show its size, GrowLooks how many such waits may fail.
	DiskLook, GrowWait time.Duration
	GrowLooks          int

	// GuardInterval is the tick of the guard on the pod, GuardSnapshotWait how
	// long it holds a deadline for a snapshot, GuardProbeWait the wait between
	// two proofs that it can act and GuardProbeLimit how long it tries, a little
	// less than Preflight; SeenWait how long it keeps a failed boot for
	// the client to read.
	GuardInterval, GuardSnapshotWait, GuardProbeWait, GuardProbeLimit, SeenWait time.Duration

	// ClaimRenew and ClaimTTL are real time, shared with other processes.
	ClaimRenew, ClaimTTL, ClaimPoll time.Duration
	// TransferStall ends an attempt that moved no byte; TransferTries is how
	// often one is made. Real time: networks do not run faster.
	TransferStall time.Duration
	TransferTries int
	// Call is the limit of one short command on a pod, Connect that of one
	// connection; EffectAnswer is after how long it is said that making a pod or
	// its deletion has no answer. Real time.
	Call, Connect, EffectAnswer time.Duration

	speed float64
}

// Production gives the values for real machines.
func Production() Timing {
	return Timing{
		Poll: 5 * time.Second, Preflight: 3 * time.Minute, Heartbeat: 20 * time.Second,
		FreshPod: time.Minute, RefusalWindow: 30 * time.Second, Refusals: 3,
		ForeignKey: time.Minute, ForeignKeyBoot: 5 * time.Minute,
		Reconcile: []time.Duration{5 * time.Second, 15 * time.Second, 30 * time.Second},
		AdoptAge:  30 * time.Second, CreateLimit: 15 * time.Minute, Blind: 15 * time.Minute,
		StockBackoff: 15 * time.Second, StockBackoffMax: 5 * time.Minute,
		DeleteConfirm: time.Minute, GoneInterval: 10 * time.Second, GoneLooks: 3,
		DrainLogs: 5 * time.Second,
		JobPoll:   750 * time.Millisecond, GuardTick: time.Minute, PodLook: 30 * time.Second,
		LeaseEvery: 5 * time.Minute, LeaseTTL: 15 * time.Minute, LeaseStall: 30 * time.Minute,
		DeadlineMargin: 5 * time.Minute,
		Reconnect:      time.Second, ReconnectMax: 30 * time.Second,
		SnapshotLead: plan.LongestLead, RequestLook: 30 * time.Second, SnapshotLinger: 10 * time.Minute,
		MinCapTime: 30 * time.Minute, LastFetch: 5 * time.Minute, Settle: 2 * time.Minute, Steady: 10 * time.Second,
		DiskLook: time.Minute, GrowWait: 2 * time.Minute, GrowLooks: 3,
		GuardInterval: time.Minute, GuardSnapshotWait: 15 * time.Minute,
		GuardProbeWait: 10 * time.Second, GuardProbeLimit: 165 * time.Second, SeenWait: 3 * time.Minute,
		ClaimRenew: 30 * time.Second, ClaimTTL: 3 * time.Minute, ClaimPoll: time.Second,
		TransferStall: time.Minute, TransferTries: 5,
		Call: 30 * time.Second, Connect: 15 * time.Second, EffectAnswer: 5 * time.Second,
		speed: 1,
	}
}

// Scaled gives the timing for a provider on which everything happens speed
// times as fast. Waits that give up keep a floor, because programs and
// networks do not run faster than they can. A speed of 0 or less counts as 1.
func (t Timing) Scaled(speed float64) Timing {
	if speed <= 0 || speed == 1 {
		if t.speed == 0 {
			t.speed = 1
		}
		return t
	}
	by := func(d *time.Duration, floor time.Duration) {
		*d = max(time.Duration(float64(*d)/speed), min(floor, *d))
	}
	for _, d := range []*time.Duration{
		&t.Poll, &t.Heartbeat, &t.GoneInterval, &t.JobPoll, &t.GuardTick, &t.PodLook,
		&t.Reconnect, &t.StockBackoff, &t.StockBackoffMax, &t.RequestLook, &t.DiskLook,
		&t.FreshPod, &t.AdoptAge, &t.LeaseEvery,
	} {
		by(d, 50*time.Millisecond)
	}
	reconcile := make([]time.Duration, len(t.Reconcile))
	for i, d := range t.Reconcile {
		by(&d, 100*time.Millisecond)
		reconcile[i] = d
	}
	t.Reconcile = reconcile
	for _, d := range []*time.Duration{
		&t.LeaseTTL, &t.LeaseStall, &t.DeadlineMargin, &t.SnapshotLead, &t.GuardInterval,
		&t.GuardSnapshotWait, &t.GuardProbeWait, &t.SeenWait, &t.MinCapTime, &t.ReconnectMax,
		&t.GrowWait, &t.RefusalWindow, &t.ForeignKey, &t.ForeignKeyBoot, &t.LastFetch, &t.Settle, &t.Steady,
	} {
		by(d, time.Second)
	}
	by(&t.SnapshotLinger, 10*time.Second)
	by(&t.Preflight, 30*time.Second)
	by(&t.GuardProbeLimit, 15*time.Second)
	by(&t.DeleteConfirm, 10*time.Second)
	by(&t.Blind, 10*time.Second)
	if t.speed == 0 {
		t.speed = 1
	}
	t.speed *= speed
	return t
}

// lead is how long before its bound a job is asked to save itself, where the bound
// is so long after the pod's creation. The guard on the pod is given the same.
func (t Timing) lead(span time.Duration) time.Duration {
	return plan.SnapshotLead(span, t.SnapshotLead)
}

// step is the wait after the nth look of a wait, from 0: an eighth of Poll at
// first, then a quarter more each time, up to Poll. So what is waited for is
// seen late by a quarter of the time it took, or less.
func (t Timing) step(n int) time.Duration {
	wait := t.Poll / 8
	for ; n > 0 && wait < t.Poll; n-- {
		wait += wait / 4
	}
	return min(wait, t.Poll)
}

// Of turns a nominal duration, as a user writes it, into a real one.
func (t Timing) Of(nominal time.Duration) time.Duration {
	return time.Duration(float64(nominal) / t.rate())
}

// Hours turns nominal hours into a real duration.
func (t Timing) Hours(h float64) time.Duration {
	return time.Duration(h * float64(time.Hour) / t.rate())
}

// Seconds turns nominal seconds into a real duration.
func (t Timing) Seconds(s int) time.Duration { return t.Of(time.Duration(s) * time.Second) }

// Nominal turns a real duration into the one that is shown and billed.
func (t Timing) Nominal(real time.Duration) time.Duration {
	return time.Duration(float64(real) * t.rate())
}

// NominalHours is Nominal in hours.
func (t Timing) NominalHours(real time.Duration) float64 { return real.Hours() * t.rate() }

// Speed is how many times as fast as real ones these durations are.
func (t Timing) Speed() float64 { return t.rate() }

func (t Timing) rate() float64 {
	if t.speed <= 0 {
		return 1
	}
	return t.speed
}
