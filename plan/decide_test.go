package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/overbrainer/overbrainer/state"
)

func TestWhenARunRunsAgain(t *testing.T) {
	code := 3
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	end := at.Add(10 * time.Minute)
	pod := func(s state.PodState) *state.Pod { return &state.Pod{ID: "pod1", State: s} }
	destroyed := pod(state.PodDeleting)
	destroyed.DeletingFor = "destroyed"
	snap := &state.Snapshot{Step: 40, At: at, Local: true}
	from := &state.Checkpoint{RunID: "r0", Step: 11, At: at}
	before := &state.Checkpoint{RunID: "r0", Dir: "runs/r0/c7", Step: 7}
	missing := func(*state.Checkpoint) string { return "it is away" }
	for _, test := range []struct {
		name   string
		run    *state.Run
		change func(*situation)
		want   Action
		words  string
	}{
		{"nothing", nil, nil, Run, "not in the state"},
		{"succeeded, same", &state.Run{Phase: state.Succeeded, Retrieved: true}, nil, NoOp, ""},
		{"succeeded, changed", &state.Run{Phase: state.Succeeded, Retrieved: true},
			func(s *situation) { s.fingerprint, s.changed = "f2", []string{"file train.py"} }, Rerun, "file train.py changed"},
		{"succeeded, depends on a run to come", &state.Run{Phase: state.Succeeded, Retrieved: true},
			func(s *situation) { s.fingerprint, s.waitsFor = "", []string{"run.a"} }, Rerun, "depends on run.a"},
		{"depends on a sweep", &state.Run{Phase: state.Succeeded, Retrieved: true},
			func(s *situation) {
				s.fingerprint, s.waitsFor = "", []string{"run.a[0]", "run.a[1]", "run.a[2]", "run.a[3]"}
			}, Rerun, "depends on run.a[0], run.a[1], run.a[2] and 1 more, so"},
		{"succeeded, changed, manual", &state.Run{Phase: state.Succeeded},
			func(s *situation) { s.fingerprint, s.rerun = "f2", "manual" }, Hold, "-replace"},
		{"failed", &state.Run{Phase: state.Failed, Reason: state.ExitCode, ExitCode: &code}, nil, Rerun, "failed with exit code 3; try 2"},
		{"failed, only on change", &state.Run{Phase: state.Failed}, func(s *situation) { s.rerun = "on_change" }, Hold, "on_change"},
		{"failed, changed", &state.Run{Phase: state.Failed}, func(s *situation) { s.fingerprint = "f2" }, Rerun, "failed before"},
		{"never placed", &state.Run{Phase: state.Failed, Reason: state.NoCapacity}, nil, Rerun, "no_capacity"},
		{"time limit", &state.Run{StartedAt: &at, Phase: state.Failed, Reason: state.TimeLimit}, nil, Hold, "time_limit"},
		{"cost cap", &state.Run{StartedAt: &at, Phase: state.Stopped, Reason: state.CostCap, Snapshot: snap, Retrieved: true}, nil, Hold, "-replace"},
		{"no money to begin", &state.Run{Phase: state.Failed, Reason: state.CostCap}, nil, Rerun, "try 2"},
		{"stalled", &state.Run{StartedAt: &at, Phase: state.Failed, Reason: state.StalledOut}, nil, Hold, "stalled"},
		{"time limit, changed", &state.Run{StartedAt: &at, Phase: state.Failed, Reason: state.TimeLimit}, func(s *situation) { s.fingerprint = "f2" }, Rerun, ""},
		{"time limit, replaced, snapshot", &state.Run{StartedAt: &at, Phase: state.Stopped, Reason: state.TimeLimit, Snapshot: snap, Retrieved: true},
			func(s *situation) { s.replaced = true }, Resume, "goes on from the snapshot of step 40"},
		{"time limit, replaced", &state.Run{StartedAt: &at, Phase: state.Failed, Reason: state.TimeLimit}, func(s *situation) { s.replaced = true }, Rerun, "-replace"},
		{"cancelled", &state.Run{Phase: state.Cancelled, Reason: state.UserCancelled}, nil, Hold, "cancelled"},
		{"cancelled, changed", &state.Run{Phase: state.Cancelled, Reason: state.UserCancelled}, func(s *situation) { s.fingerprint = "f2" }, Rerun, ""},
		{"interrupted before the job", &state.Run{Phase: state.Cancelled, Reason: state.Interrupted}, nil, Rerun, "interrupted"},
		{"stopped with a snapshot", &state.Run{Phase: state.Stopped, Reason: state.UserStopped, Snapshot: snap, Retrieved: true, EndedAt: &end}, nil, Resume,
			"step 40 of run r1, taken 2026-01-02 03:04:05 UTC (10m0s before the end"},
		{"stopped with a snapshot, in a simulator's hours", &state.Run{Phase: state.Stopped, Reason: state.UserStopped, Snapshot: snap, Retrieved: true, EndedAt: &end, Pod: &state.Pod{ID: "pod1", State: state.PodDeleted, Speed: 20}}, nil, Resume,
			"(3h20m0s before the end"},
		{"stopped without", &state.Run{Phase: state.Stopped, Reason: state.UserStopped}, nil, Hold, "without a snapshot"},
		{"taken away, snapshot here", &state.Run{Phase: state.Failed, Reason: state.TakenAway, Snapshot: snap}, nil, Resume, "taken_away"},
		{"taken away", &state.Run{StartedAt: &at, Phase: state.Failed, Reason: state.TakenAway}, nil, Rerun, "no snapshot of it is here, so the job begins anew; try 2"},
		{"taken away before it began", &state.Run{Phase: state.Failed, Reason: state.TakenAway}, nil, Rerun, "failed (taken_away); try 2"},
		{"stopped for a full volume", &state.Run{Phase: state.Stopped, Reason: state.DiskFull, Snapshot: snap, Retrieved: true, FullVolumeGB: 10},
			func(s *situation) { s.volumeGB = 10 }, Hold, "its volume of 10 GB was full, and is no larger; raise size_gb"},
		{"stopped for a full volume, larger now", &state.Run{Phase: state.Stopped, Reason: state.DiskFull, Snapshot: snap, Retrieved: true, FullVolumeGB: 10},
			func(s *situation) { s.volumeGB = 20 }, Resume, "step 40"},
		{"stopped for a full volume, replaced", &state.Run{Phase: state.Stopped, Reason: state.DiskFull, Snapshot: snap, Retrieved: true, FullVolumeGB: 10},
			func(s *situation) { s.volumeGB, s.replaced = 10, true }, Resume, "step 40"},
		{"stopped for a full container disk", &state.Run{Phase: state.Stopped, Reason: state.DiskFull, Snapshot: snap, Retrieved: true}, nil, Resume, "step 40"},
		{"stopped with a snapshot, changed", &state.Run{Phase: state.Stopped, Reason: state.UserStopped, Snapshot: snap, Retrieved: true},
			func(s *situation) { s.fingerprint, s.changed = "f2", []string{"env N"} }, Rerun, "env N changed; the snapshot of step 40 of run r1, taken 2026-01-02 03:04:05 UTC is not used, as it is from before that"},
		{"stopped with a snapshot, replaced", &state.Run{Phase: state.Stopped, Reason: state.UserStopped, Snapshot: snap, Retrieved: true},
			func(s *situation) { s.replaced = true }, Rerun, "begins without the snapshot of step 40 of run r1"},
		{"stopped with a snapshot, manual, replaced", &state.Run{Phase: state.Stopped, Reason: state.UserStopped, Snapshot: snap, Retrieved: true},
			func(s *situation) { s.replaced, s.rerun = true, "manual" }, Resume, "goes on from the snapshot of step 40"},
		{"crashed, snapshot here", &state.Run{Phase: state.Failed, Reason: state.ExitCode, ExitCode: &code, Snapshot: snap}, nil, Resume, "failed with exit code 3; goes on from the snapshot of step 40"},
		{"crashed, snapshot here, only on change", &state.Run{Phase: state.Failed, Reason: state.ExitCode, Snapshot: snap},
			func(s *situation) { s.rerun = "on_change" }, Hold, "rerun is on_change; -replace goes on from the snapshot of step 40"},
		{"crashed, snapshot here, changed", &state.Run{Phase: state.Failed, Reason: state.ExitCode, Snapshot: snap}, func(s *situation) { s.fingerprint = "f2" }, Rerun, "step 40 of run r1, taken 2026-01-02 03:04:05 UTC is not used"},
		{"succeeded with a snapshot, replaced", &state.Run{Phase: state.Succeeded, Snapshot: snap, Retrieved: true}, func(s *situation) { s.replaced = true }, Rerun, "asked for by -replace"},
		{"resumed, nothing in stock", &state.Run{Phase: state.Failed, Reason: state.NoCapacity, From: from}, nil, Resume, "failed (no_capacity); goes on from the snapshot of step 11 of run r0, taken 2026-01-02 03:04:05 UTC; try 2"},
		{"resumed, crashed", &state.Run{Phase: state.Failed, Reason: state.ExitCode, From: from}, nil, Resume, "step 11 of run r0"},
		{"resumed, crashed after a snapshot of its own", &state.Run{Phase: state.Failed, Reason: state.ExitCode, From: from, Snapshot: snap}, nil, Resume, "step 40 of run r1"},
		{"resumed in vain", &state.Run{Phase: state.Failed, Reason: state.ExitCode, From: from, Previous: before}, nil, Resume,
			"goes on from the snapshot of step 7 of run r0, as that of step 11 of run r0 was tried: run r1 started from it and failed before it came any further"},
		{"resumed in vain, nothing before", &state.Run{Phase: state.Failed, Reason: state.ExitCode, From: from}, nil, Resume,
			"step 11 of run r0, taken 2026-01-02 03:04:05 UTC once more, although run r1 started from it and failed before it came any further: no earlier one is kept to go back to; -replace begins anew"},
		{"resumed in vain, nothing before, replaced", &state.Run{Phase: state.Failed, Reason: state.ExitCode, From: from}, func(s *situation) { s.replaced = true }, Rerun, "begins without the snapshot of step 11 of run r0"},
		{"resumed in vain, nothing before, only on change", &state.Run{Phase: state.Failed, Reason: state.ExitCode, From: from},
			func(s *situation) { s.rerun = "on_change" }, Hold, "-replace, which begins without the snapshot of step 11 of run r0, taken 2026-01-02 03:04:05 UTC: run r1 started from it"},
		{"resumed in vain, nothing before, only on change, replaced", &state.Run{Phase: state.Failed, Reason: state.ExitCode, From: from},
			func(s *situation) { s.rerun, s.replaced = "on_change", true }, Rerun, "begins without the snapshot of step 11"},
		{"resumed in vain, only on change, replaced", &state.Run{Phase: state.Failed, Reason: state.ExitCode, From: from, Previous: before},
			func(s *situation) { s.rerun, s.replaced = "on_change", true }, Resume, "step 7"},
		{"resumed, came further and crashed", &state.Run{Phase: state.Failed, Reason: state.ExitCode, From: from, Previous: before, Metrics: map[string]float64{"step": 12}}, nil, Resume, "goes on from the snapshot of step 11 of run r0, taken 2026-01-02 03:04:05 UTC; try 2"},
		{"crashed, the newest in doubt", &state.Run{Phase: state.Failed, Reason: state.ExitCode, Dir: "runs/r1", Snapshot: snap, Unproven: &state.Snapshot{Path: "ck/41", Step: 41}}, nil, Resume,
			"the snapshot of step 40 of run r1, taken 2026-01-02 03:04:05 UTC; the newest checkpoint, of step 41, in runs/r1/ck/41, is not known to be whole and is not used: overbrainer run accept says that it is; try 2"},
		{"crashed, the only one in doubt", &state.Run{Phase: state.Failed, Reason: state.ExitCode, Dir: "runs/r1", Unproven: &state.Snapshot{Path: "ck/41", Step: 41}}, nil, Rerun,
			"failed (exit_code); the newest checkpoint, of step 41, in runs/r1/ck/41, is not known to be whole and is not used: overbrainer run accept says that it is; try 2"},
		{"crashed, the one in doubt is away", &state.Run{Phase: state.Failed, Reason: state.ExitCode, Dir: "runs/r1", Unproven: &state.Snapshot{Path: "ck/41", Step: 41}}, func(s *situation) { s.broken = missing }, Rerun, "failed (exit_code); try 2"},
		{"stopped without, the only one in doubt", &state.Run{Phase: state.Stopped, Reason: state.UserStopped, Dir: "runs/r1", Unproven: &state.Snapshot{Path: "ck/41", Step: 41}}, nil, Hold, "overbrainer run accept says that it is; to run it again use -replace"},
		{"resumed, interrupted", &state.Run{Phase: state.Failed, Reason: state.Interrupted, From: from}, nil, Resume, "step 11 of run r0"},
		{"resumed, stopped without saving itself", &state.Run{Phase: state.Stopped, Reason: state.UserStopped, From: from}, nil, Resume, "step 11 of run r0"},
		{"resumed, past its cap", &state.Run{StartedAt: &at, Phase: state.Failed, Reason: state.CostCap, From: from}, nil, Hold, "-replace goes on from the snapshot of step 11 of run r0"},
		{"resumed, past its cap, replaced", &state.Run{StartedAt: &at, Phase: state.Failed, Reason: state.CostCap, From: from}, func(s *situation) { s.replaced = true }, Resume, "step 11 of run r0"},
		{"resumed, cancelled", &state.Run{Phase: state.Cancelled, Reason: state.UserCancelled, From: from}, nil, Hold, "was cancelled; -replace goes on from the snapshot of step 11"},
		{"resumed, nothing in stock, changed", &state.Run{Phase: state.Failed, Reason: state.NoCapacity, From: from}, func(s *situation) { s.fingerprint = "f2" }, Rerun, "step 11 of run r0, taken 2026-01-02 03:04:05 UTC is not used"},
		{"resumed, pod gone in its boot", &state.Run{Phase: state.Preparing, Pod: pod(state.PodProvisioning), From: from}, func(s *situation) { s.lost = true }, Resume, "pod1 is not in the account any more; goes on from the snapshot of step 11"},
		{"resumed, pod gone", &state.Run{Phase: state.Running, Pod: pod(state.PodRunning), From: from}, func(s *situation) { s.lost = true }, Resume, "step 11"},
		{"resumed, succeeded, results lost", &state.Run{Phase: state.Succeeded, From: from}, nil, Resume, "never brought home and its pod is gone; goes on from the snapshot of step 11"},
		{"stopped, snapshot not here", &state.Run{Phase: state.Stopped, Reason: state.UserStopped, Snapshot: snap, Retrieved: true},
			func(s *situation) { s.broken = missing }, Hold, "would go on from the snapshot of step 40 of run r1, taken 2026-01-02 03:04:05 UTC, and cannot: it is away; put it back"},
		{"stopped, snapshot not here, replaced", &state.Run{Phase: state.Stopped, Reason: state.UserStopped, Snapshot: snap, Retrieved: true},
			func(s *situation) { s.broken, s.replaced = missing, true }, Rerun, "begins without the snapshot of step 40 of run r1, taken 2026-01-02 03:04:05 UTC: it is away"},
		{"past its cap, snapshot not here", &state.Run{StartedAt: &at, Phase: state.Stopped, Reason: state.CostCap, Snapshot: snap, Retrieved: true},
			func(s *situation) { s.broken = missing }, Hold, "-replace, which begins without the snapshot of step 40"},
		{"running", &state.Run{Phase: state.Running, Pod: pod(state.PodRunning)}, nil, Attach, "goes on"},
		{"running, changed", &state.Run{Phase: state.Running, Pod: pod(state.PodRunning)},
			func(s *situation) { s.fingerprint, s.changed = "f2", []string{"command"} }, Attach, "runs again after it ended: command changed"},
		{"running, pod gone", &state.Run{Phase: state.Running, Pod: pod(state.PodRunning)}, func(s *situation) { s.lost = true }, Rerun, "pod1 is not in the account"},
		{"running, pod gone, snapshot here", &state.Run{Phase: state.Running, Pod: pod(state.PodRunning), Snapshot: snap}, func(s *situation) { s.lost = true }, Resume, "step 40"},
		{"running, pod gone, only on change", &state.Run{Phase: state.Running, Pod: pod(state.PodRunning)},
			func(s *situation) { s.lost, s.rerun = true, "on_change" }, Attach, "after that it is held"},
		{"running, pod gone, past its deadline", &state.Run{Phase: state.Running, Pod: pod(state.PodRunning), Snapshot: snap},
			func(s *situation) { s.lost, s.limit = true, state.TimeLimit }, Attach, "after that it is held: ended by a limit (failed (time_limit))"},
		{"running, pod gone, past its cap, changed", &state.Run{Phase: state.Running, Pod: pod(state.PodRunning)},
			func(s *situation) { s.lost, s.limit, s.fingerprint = true, state.CostCap, "f2" }, Rerun, "pod1 is not in the account"},
		{"preparing, pod gone past its deadline", &state.Run{Phase: state.Preparing, Pod: pod(state.PodProvisioning)},
			func(s *situation) { s.lost, s.limit = true, state.TimeLimit }, Rerun, "try 2"},
		{"preparing, pod stopped", &state.Run{Phase: state.Preparing, Pod: pod(state.PodProvisioning)}, func(s *situation) { s.stopped = true }, Attach, "made ready"},
		{"running, pod stopped", &state.Run{Phase: state.Running, Pod: pod(state.PodRunning)}, func(s *situation) { s.stopped = true }, Attach, "pod1 is stopped"},
		{"preparing", &state.Run{Phase: state.Preparing}, nil, Attach, "made ready"},
		{"ended, not retrieved", &state.Run{Phase: state.Succeeded, Pod: pod(state.PodAwaiting)}, nil, Collect, "still on pod pod1"},
		{"not launched, pod being deleted", &state.Run{Phase: state.Failed, Reason: state.LaunchFailed, Pod: pod(state.PodDeleting)}, nil, Rerun, "try 2"},
		{"being destroyed", &state.Run{Phase: state.Running, Pod: destroyed}, nil, Rerun, "its pod pod1 is being deleted; try 2"},
		{"being destroyed, past its deadline", &state.Run{Phase: state.Running, Pod: destroyed}, func(s *situation) { s.limit = state.TimeLimit }, Rerun, "its pod pod1 is being deleted; try 2"},
		{"being destroyed, with a snapshot", &state.Run{Phase: state.Running, Pod: destroyed, Snapshot: snap}, nil, Resume, "its pod pod1 is being deleted; goes on from the snapshot of step 40"},
		{"being destroyed and gone", &state.Run{Phase: state.Running, Pod: destroyed}, func(s *situation) { s.lost = true }, Rerun, "its pod pod1 is not in the account any more; try 2"},
		{"preparing, pod being deleted", &state.Run{Phase: state.Preparing, Pod: pod(state.PodDeleting)}, nil, Rerun, "its pod pod1 is being deleted"},
		{"no outputs, pod there", &state.Run{Phase: state.Failed, Reason: state.NoOutputs, Pod: pod(state.PodAwaiting)}, nil, Collect, ""},
		{"ended, not retrieved, changed", &state.Run{Phase: state.Succeeded, Pod: pod(state.PodAwaiting)},
			func(s *situation) { s.fingerprint = "f2" }, Collect, "runs again after that"},
		{"ended, pod gone with the results", &state.Run{Phase: state.Failed, Reason: state.Lost, Pod: pod(state.PodDeleted)}, nil, Rerun, "lost"},
		{"kept and retrieved", &state.Run{Phase: state.Succeeded, Retrieved: true, Pod: pod(state.PodKept)}, nil, NoOp, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := situation{cur: test.run, fingerprint: "f1"}
			if s.cur != nil {
				s.cur.ID, s.cur.Fingerprint, s.cur.Try = "r1", "f1", 1
			}
			if test.change != nil {
				test.change(&s)
			}
			d := decide(s)
			if d.action != test.want || !strings.Contains(d.reason, test.words) {
				t.Errorf("%s: %q, want %s: %q", d.action, d.reason, test.want, test.words)
			}
			if (d.action == Resume) != (d.resume != nil) {
				t.Error("resume without its run")
			}
		})
	}
	running := situation{cur: &state.Run{Phase: state.Running, Fingerprint: "f1"}, fingerprint: "f1", replaced: true}
	if d := decide(running); d.action != Attach || !d.refused {
		t.Errorf("replacing what runs: %+v", d)
	}
}
