package job

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The rules are tested on a clock of their own: ob_clock and sleep are functions
// that stand in front of the watchdog, so that a minute passes at once and a
// busy machine changes nothing. The watchdog looks every 60 s of its life and
// whenever a bound is met, and is parked at the end.
const clockFunctions = `
ob_clock() {
	case $1 in
	%s) read -r ob_now <"$CLOCK/now" ;;
	*) ob_now=2026-11-29T00:00:00Z ;;
	esac
}
sleep() {
	[ "$guard" != self ] || exec "$CLOCK/park"
	read -r t <"$CLOCK/now"
	until=$((t + $1))
	while [ "$t" -lt "$until" ]; do
		t=$((t + 1))
		[ ! -f "$CLOCK/event.$((t - CLOCK_START))" ] || {
			echo "$t" >"$CLOCK/now"
			. "$CLOCK/event.$((t - CLOCK_START))"
		}
	done
	echo "$t" >"$CLOCK/now"
	[ "$t" -lt "$CLOCK_END" ] || {
		: >"$CLOCK/parked"
		exec "$CLOCK/park"
	}
}
provider_probe() { echo ready; }
provider_delete() {
	echo "$((n - CLOCK_START))" >>"$CLOCK/deletes"
	if [ -f "$CLOCK/refuse" ]; then
		echo "DELETE 500"
		return 1
	fi
	echo "DELETE 204"
}
`

// life is what a pod's watchdog meets and what it does. Times are seconds since
// its start.
type life struct {
	spec    func(s *Spec) // times in it relative to the start too
	env     map[string]string
	files   map[string]string // in the run's directory, before the start
	lease   int               // when the lease was last renewed, if > noLease
	live    bool              // a process lives as the job
	events  map[int]string    // shell text at a time
	end     int               // when the test ends; 0: one look after the delete
	deleted int               // time of the first delete, never
	reason  string
	logged  []string
	request string // content of snapshot.request at the end
}

const (
	noLease = 0 // zero value; a lease at the very start is written as 1
	never   = -1
)

func (l life) run(t *testing.T, m machine) {
	root := filepath.Join(t.TempDir(), "it's a pod")
	clock := t.TempDir()
	start := time.Now().Unix()
	dir := filepath.Join(root, "workspace/run-1")
	write := func(path, content string) {
		t.Helper()
		if err := writeFile(path, []byte(content), strings.HasSuffix(path, "park")); err != nil {
			t.Fatal(err)
		}
	}
	if l.end == 0 {
		l.end = l.deleted + 60
	}
	write(filepath.Join(clock, "now"), fmt.Sprintln(start))
	write(filepath.Join(clock, "park"), "#!/bin/sh\nexec sleep 1000\n")
	write(filepath.Join(dir, ".pod/x"), "")
	spec := Spec{RunDir: "/workspace/run-1", Deadline: 10000}
	if l.spec != nil {
		l.spec(&spec)
	}
	for _, at := range []*int64{&spec.Deadline, &spec.SnapshotAt, &spec.CostCapAt} {
		if *at != 0 {
			*at += start
		}
	}
	for name, content := range l.files {
		write(filepath.Join(dir, name), strings.ReplaceAll(content, "@", strconv.FormatInt(start, 10)))
	}
	if l.lease > noLease {
		at := time.Unix(start+int64(l.lease), 0)
		write(filepath.Join(dir, ".pod/lease"), "")
		if err := os.Chtimes(filepath.Join(dir, ".pod/lease"), at, at); err != nil {
			t.Fatal(err)
		}
	}
	for at, text := range l.events {
		write(filepath.Join(clock, fmt.Sprintf("event.%d", at)), "cd \"$ob_run\" && "+text+"\n")
	}
	env := spec.Env()
	maps.Copy(env, map[string]string{
		"OVERBRAINER_POD_ROOT": root, "CLOCK": clock,
		"CLOCK_START": strconv.FormatInt(start, 10), "CLOCK_END": strconv.FormatInt(start+int64(l.end), 10),
	})
	for name, script := range l.env {
		if strings.HasPrefix(script, "#!") { // a program
			write(filepath.Join(clock, name, "park"), script)
			script = filepath.Join(clock, name, "park")
		}
		env[name] = script
	}
	if l.live {
		job := exec.Command("sleep", "1000")
		job.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := job.Start(); err != nil {
			t.Fatal(err)
		}
		reaped := make(chan struct{})
		go func() { _ = job.Wait(); close(reaped) }()
		defer func() { _ = syscall.Kill(-job.Process.Pid, syscall.SIGKILL); <-reaped }()
		write(filepath.Join(dir, "job.pid"), fmt.Sprintln(job.Process.Pid))
		env["JOB"] = strconv.Itoa(job.Process.Pid)
	}
	script := compact(libText) + clockFunctions + compact(watchdogText)
	cmd := m.command(t.Context(), script, env)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out := &safeBuffer{}
	cmd.Stdout, cmd.Stderr = out, out
	cmd.WaitDelay = 100 * time.Millisecond
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	parked := false
	for end := time.Now().Add(2 * time.Minute); !parked && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		_, err := os.Stat(filepath.Join(clock, "parked"))
		parked = err == nil
	}
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	_ = cmd.Wait()
	if !parked {
		t.Fatalf("the watchdog did not get to the end:\n%s", out)
	}
	l.check(t, clock, dir, out.String())
}

func (l life) check(t *testing.T, clock, dir, out string) {
	t.Helper()
	text, _ := os.ReadFile(filepath.Join(clock, "deletes"))
	deletes := strings.Fields(string(text))
	first := never
	if len(deletes) > 0 {
		first, _ = strconv.Atoi(deletes[0])
		if want := "delete reason=" + l.reason + "\n"; !strings.Contains(out, want) {
			t.Errorf("no %q", want)
		}
		// It never trusts a delete.
		if last := (l.end - first - 1) / 60; len(deletes) <= last {
			t.Errorf("deletes at %v only", deletes)
		}
	}
	if first != l.deleted {
		t.Errorf("deleted at %d, want %d", first, l.deleted)
	}
	for _, line := range l.logged {
		if !strings.Contains(out, line+"\n") {
			t.Errorf("not logged: %s", line)
		}
	}
	request, err := os.ReadFile(filepath.Join(dir, "snapshot.request"))
	if got := strings.TrimSpace(string(request)); got != l.request || (err == nil && l.request == "") {
		t.Errorf("request %q, want %q", got, l.request)
	}
	if strings.Contains(out, "touched") || strings.Contains(strings.ToLower(out), "error") || strings.Contains(out, "illegal") {
		t.Error("the shell complains")
	}
	if t.Failed() {
		t.Logf("output:\n%s", out)
	}
}

var endedFiles = map[string]string{"job.pid": "999999 1\n", "exit_code": "    0\n"}

func with(files ...string) map[string]string {
	all := maps.Clone(endedFiles)
	for i := 0; i+1 < len(files); i += 2 {
		all[files[i]] = files[i+1]
	}
	return all
}

const hour, minute = time.Hour, time.Minute

func TestDeleteRules(t *testing.T) {
	lives := map[string]life{
		"deadline": {
			spec: func(s *Spec) { s.Deadline = 200 }, end: 500, deleted: 200, reason: "deadline",
			logged: []string{"2026-11-29T00:00:00Z watchdog: DELETE 204"},
		},
		"the deadline is hard without overrun, lease or not": {
			spec: func(s *Spec) { s.Deadline = 200 }, lease: 180, deleted: 200, reason: "deadline",
		},
		"a lease carries over the deadline": {
			spec:  func(s *Spec) { s.Deadline, s.Overrun, s.LeaseTTL = 100, hour, 5*minute },
			lease: 1, deleted: 360, reason: "deadline",
			logged: []string{"2026-11-29T00:00:00Z watchdog: deadline passed, lease held"},
		},
		"overrun ends": {
			spec:  func(s *Spec) { s.Deadline, s.Overrun, s.LeaseTTL = 100, 2*minute, hour },
			lease: 1, deleted: 220, reason: "deadline",
		},
		"never started": {
			spec: func(s *Spec) { s.BootGrace = 3 * minute }, deleted: 180, reason: "never_started",
		},
		"keep_pod does not hold without a job": {
			spec: func(s *Spec) { s.BootGrace, s.KeepPod = 3*minute, -1 }, deleted: 180, reason: "never_started",
		},
		"an upload holds never_started": {
			spec:  func(s *Spec) { s.BootGrace, s.LeaseTTL = minute, 4*minute },
			lease: 1, deleted: 300, reason: "never_started",
		},
		"a restarted container goes on counting": {
			spec:  func(s *Spec) { s.BootGrace = 10 * minute },
			files: map[string]string{".pod/first_start": "1000\n"}, deleted: 0, reason: "never_started",
		},
		"abandoned": {
			spec: func(s *Spec) { s.RetrieveGrace = 3 * minute }, files: endedFiles, deleted: 180, reason: "abandoned",
		},
		"the job's end is remembered": {
			spec:  func(s *Spec) { s.RetrieveGrace = hour },
			files: with(".pod/ended_at", "1000\n"), deleted: 0, reason: "abandoned",
		},
		"cancelled counts as ended": {
			spec:  func(s *Spec) { s.RetrieveGrace = minute },
			files: map[string]string{"job.pid": "999999 1\n", "cancelled": ""}, deleted: 60, reason: "abandoned",
		},
		"a download holds abandoned": {
			spec:  func(s *Spec) { s.RetrieveGrace, s.LeaseTTL = minute, 4*minute },
			files: endedFiles, lease: 1, deleted: 300, reason: "abandoned",
		},
		"a download cannot hold for ever": {
			spec:  func(s *Spec) { s.Deadline, s.RetrieveGrace, s.LeaseTTL = 30, 2*minute, hour },
			files: endedFiles, lease: 1, deleted: 150, reason: "deadline",
		},
		"retrieved": {
			files: endedFiles, events: map[int]string{120: ": >.pod/retrieved"}, deleted: 120, reason: "retrieved",
			logged: []string{"2026-11-29T00:00:00Z watchdog: retrieved marker seen"},
		},
		"a killed job, abandoned": {
			spec: func(s *Spec) { s.BootGrace, s.RetrieveGrace = minute, 2*minute },
			live: true, events: map[int]string{180: `kill -KILL "$JOB"; for i in 1 2 3 4 5; do kill -0 "$JOB" 2>/dev/null || break; command sleep 0.2; done`},
			deleted: 300, reason: "abandoned",
			logged: []string{"2026-11-29T00:00:00Z watchdog: job started", "2026-11-29T00:00:00Z watchdog: job ended"},
		},
		"a live job is left alone": {
			spec: func(s *Spec) { s.BootGrace, s.RetrieveGrace = minute, minute }, live: true, end: 360, deleted: never,
		},
		"ended by itself has its grace past the deadline": {
			spec:  func(s *Spec) { s.Deadline, s.RetrieveGrace = -3500, hour },
			files: endedFiles, deleted: 100, reason: "deadline",
		},
		"kept, ended, retrieved, past the deadline": {
			spec:  func(s *Spec) { s.Deadline, s.KeepPod = -7200, -1 },
			files: with(".pod/retrieved", ""), end: 300, deleted: never,
		},
		"keep_pod is over": {
			spec:  func(s *Spec) { s.KeepPod = 3 * minute },
			files: with(".pod/retrieved", ""), deleted: 180, reason: "keep_over",
		},
		"keep_pod is over before the grace is": {
			spec:  func(s *Spec) { s.KeepPod, s.RetrieveGrace = minute, 4*minute },
			files: endedFiles, deleted: 240, reason: "abandoned",
		},
		"keep_pod was ended": {
			spec:  func(s *Spec) { s.KeepPod = -1 },
			files: with(".pod/retrieved", "", ".pod/keep_until", "1000\n"), deleted: 0, reason: "keep_over",
		},
		"a kept job ends at the deadline, its pod later": {
			spec: func(s *Spec) {
				s.Deadline, s.KeepPod, s.SnapshotWait, s.NoSnapshots, s.RetrieveGrace = 100, 3*minute, minute, true, minute
			},
			live: true, deleted: 340, reason: "abandoned",
			// Before the next look the job has died.
			events: map[int]string{120: `for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do kill -0 "$JOB" 2>/dev/null || break; command sleep 0.2; done`},
			logged: []string{"2026-11-29T00:00:00Z watchdog: ending the job reason=deadline"},
		},
		"keep_pod does not hold off the cost": {
			spec: func(s *Spec) { s.KeepPod, s.CostCapAt = -1, 100 }, files: endedFiles, deleted: 100, reason: "cost_cap",
		},
		"the cost is first, under a lease": {
			spec:  func(s *Spec) { s.NoSnapshots = true },
			files: map[string]string{".pod/cost_cap_at": "@\n"}, live: true, lease: 1, deleted: 0, reason: "cost_cap",
		},
		"files cannot loosen the cost": {
			spec:  func(s *Spec) { s.CostCapAt = 60 },
			files: map[string]string{".pod/cost_cap_at": "99999999999\n"}, deleted: 60, reason: "cost_cap",
		},
		"malformed numbers count as absent": {
			files: map[string]string{
				".pod/cost_cap_at": "12a; echo touched\n", ".pod/snapshot_at": "$(echo touched)\n", ".pod/volume_gb": "08x\n",
				".pod/keep_until": "-5\n", ".pod/first_start": "\n", ".pod/ended_at": "0x10\n", ".pod/du": "99999999999999999999\n",
			},
			env:  map[string]string{"OVERBRAINER_LEASE_TTL": "x", "OVERBRAINER_BOOT_GRACE": "-1", "OVERBRAINER_OVERRUN": "1;2", "OVERBRAINER_SNAPSHOTS": "0"},
			live: true, end: 180, deleted: never,
		},
		"leading zeros are decimal": {
			spec: func(s *Spec) {}, env: map[string]string{"OVERBRAINER_BOOT_GRACE": "0090"}, deleted: 90, reason: "never_started",
		},
		"failed deletes are tried again": {
			spec: func(s *Spec) { s.Deadline = 60 }, events: map[int]string{60: `: >"$CLOCK/refuse"`, 180: `rm "$CLOCK/refuse"`},
			end: 300, deleted: 60, reason: "deadline",
			logged: []string{"2026-11-29T00:00:00Z watchdog: delete failed", "2026-11-29T00:00:00Z watchdog: delete accepted"},
		},
		"directory removed after the end": {
			files: endedFiles, events: map[int]string{120: `rm -rf "$ob_run"`}, deleted: 120, reason: "retrieved",
		},
		"directory removed with the end": {
			spec: func(s *Spec) { s.RetrieveGrace = 9 * minute }, live: true, deleted: 180, reason: "retrieved",
			events: map[int]string{180: `kill -KILL "$JOB"; for i in 1 2 3 4 5; do kill -0 "$JOB" 2>/dev/null || break; command sleep 0.2; done; cd / && rm -rf "$ob_run"`},
		},
		"directory removed by the job": {
			live: true, events: map[int]string{120: `rm -rf "$ob_run"`}, end: 300, deleted: never,
		},
		"failed bootstrap": {
			env: map[string]string{"OVERBRAINER_BOOT_FAILED": "1", "OVERBRAINER_BOOT_REASON": "no luck"}, deleted: 180, reason: "bootstrap_failed",
			logged: []string{"overbrainer-verdict failed bootstrap: no luck"},
		},
		"failed bootstrap that was seen": {
			spec: func(s *Spec) { s.KeepPod = -1 },
			env:  map[string]string{"OVERBRAINER_BOOT_FAILED": "1"}, events: map[int]string{60: ": >.pod/seen"}, deleted: 60, reason: "bootstrap_failed",
		},
	}
	everyShell(t, func(t *testing.T, m machine) {
		for name, l := range lives {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				l.run(t, m)
			})
		}
	})
}

func TestRequestRules(t *testing.T) {
	df := func(percent int) map[string]string {
		return map[string]string{"OVERBRAINER_DF": fmt.Sprintf("#!/bin/sh\necho Filesystem; echo /dev/x 1000 %d %d 0%% /", percent*10, 1000-percent*10)}
	}
	volume := func(gb, kib string) map[string]string {
		env := df(99) // not looked at
		env["OVERBRAINER_VOLUME_DIR"], env["OVERBRAINER_VOLUME_GB"] = "/workspace", gb
		env["OVERBRAINER_DU"] = "#!/bin/sh\necho " + kib + " /workspace"
		return env
	}
	du := func(kib string) map[string]string { return map[string]string{".pod/du": kib + "\n"} }
	lives := map[string]life{
		"deadline, then held": {
			spec: func(s *Spec) { s.Deadline, s.SnapshotLead, s.SnapshotWait = 100, 10*minute, 4*minute },
			live: true, env: df(1), deleted: 240, reason: "deadline", request: "deadline",
			logged: []string{"2026-11-29T00:00:00Z watchdog: snapshot requested reason=deadline"},
		},
		"already asked, the same hold": {
			spec:  func(s *Spec) { s.Deadline, s.SnapshotLead, s.SnapshotWait = 100, 10*minute, 4*minute },
			files: map[string]string{"snapshot.request": "requested\n"},
			live:  true, env: df(1), deleted: 240, reason: "deadline", request: "requested",
			logged: []string{"2026-11-29T00:00:00Z watchdog: snapshot already requested"},
		},
		"not under a lease that carries on": {
			spec: func(s *Spec) { s.Deadline, s.SnapshotLead, s.Overrun = 60, 10*minute, hour },
			live: true, env: df(1), lease: 1, end: 300, deleted: never,
		},
		"cost": {
			spec: func(s *Spec) { s.SnapshotAt, s.CostCapAt = 60, 120 },
			live: true, env: df(1), lease: 1, deleted: 120, reason: "cost_cap", request: "cost",
			logged: []string{"2026-11-29T00:00:00Z watchdog: 1 min to max_cost_usd"},
		},
		"not a job that cannot": {
			spec: func(s *Spec) { s.NoSnapshots, s.SnapshotAt = true, 60 },
			live: true, env: df(99), end: 200, deleted: never,
		},
		"not an ended job": {
			spec: func(s *Spec) { s.SnapshotAt = 60 }, files: endedFiles, env: df(99), end: 200, deleted: never,
		},
		"disk at 97, kept": {
			spec: func(s *Spec) { s.KeepPod = -1 },
			live: true, env: df(97), end: 60, deleted: never, request: "disk",
		},
		"shared file system": {
			live: true, env: map[string]string{"OVERBRAINER_DF": "#!/bin/sh\necho Filesystem; echo mfs#host:9421 1000 990 10 99% /workspace"},
			end: 60, deleted: never,
		},
		"disk at 96": {live: true, env: df(96), end: 60, deleted: never},
		// What a look begins to measure may be there before it reads: it is the same.
		"volume full":             {live: true, env: volume("1", "890500"), files: du("890500"), end: 60, deleted: never, request: "disk"},
		"volume nearly full":      {live: true, env: volume("1", "890000"), files: du("890000"), end: 60, deleted: never},
		"volume of unknown size":  {live: true, env: volume("", "890500"), files: du("890500"), end: 60, deleted: never},
		"volume of no known use":  {live: true, env: volume("1", ""), end: 60, deleted: never},
		"volume grown since then": {live: true, env: volume("1", "890500"), files: map[string]string{".pod/volume_gb": "2\n", ".pod/du": "890500\n"}, end: 120, deleted: never},
		"volume is measured": {
			live: true, env: volume("1", "890500"), end: 180, deleted: never, request: "disk",
			// The measurement runs beside the clock.
			events: map[int]string{60: `for i in 1 2 3 4 5 6 7 8 9 10; do [ -f .pod/du ] && break; command sleep 0.2; done`},
		},
		"du hangs": {
			spec: func(s *Spec) { s.CostCapAt = 120 },
			live: true, env: map[string]string{
				"OVERBRAINER_VOLUME_DIR": "/workspace", "OVERBRAINER_VOLUME_GB": "1", "OVERBRAINER_DU": "#!/bin/sh\nexec sleep 1000",
			}, deleted: 120, reason: "cost_cap",
		},
	}
	everyShell(t, func(t *testing.T, m machine) {
		for name, l := range lives {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				l.run(t, m)
			})
		}
	})
}
