package job

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestPollFiles(t *testing.T) {
	everyShell(t, func(t *testing.T, m machine) {
		p := newPod(t, m)
		look := func(at Offsets, limits Limits) Poll {
			t.Helper()
			poll, err := p.Poll(t.Context(), at, limits)
			if err != nil {
				t.Fatal(err)
			}
			return poll
		}
		if poll := look(Offsets{}, Limits{}); poll.Status.State != StateLost {
			t.Errorf("without a directory: %v", poll.Status)
		}
		p.reserve()
		p.looks.shell.diskAt = time.Time{}
		poll := look(Offsets{Log: 5}, Limits{})
		if poll.Status.State != StateNone || len(poll.Log) > 0 || poll.Next.Log != 0 {
			t.Errorf("before a start: %+v", poll)
		}
		if poll.DiskUsed <= 0 || poll.DiskFree <= 0 || poll.VolumeUsed != -1 {
			t.Errorf("disk: %+v", poll)
		}
		// A log that looks like the protocol, with every byte in it.
		var log bytes.Buffer
		log.WriteString("state exited 0\nend\nlog 0 5 5\n")
		for i := range 70000 {
			log.WriteByte(byte(i))
		}
		p.put("job.log", log.String())
		p.put("metrics.jsonl", "{\"step\":1}\n{\"step\":2}\n{\"st")
		p.put("snapshot.request", " disk \n")
		p.put("snapshot.json", "{}")
		p.put(".pod/du", "5\n")
		p.put("job.pid", fmt.Sprintln(os.Getpid())) // alive, if its number is its group's
		poll = look(Offsets{}, Limits{})
		if !bytes.Equal(poll.Log, log.Bytes()) || poll.Next.Log != int64(log.Len()) {
			t.Errorf("log of %d bytes, want %d", len(poll.Log), log.Len())
		}
		if !poll.Requested || poll.SnapshotRequest != "disk" || !poll.HasProof || poll.VolumeUsed != 5<<10 {
			t.Errorf("%+v", poll)
		}
		for _, at := range []int64{1, 65535, 65536, 65537, int64(log.Len())} {
			poll := look(Offsets{Log: at}, Limits{Log: 100})
			want := log.Bytes()[at:min(at+100, int64(log.Len()))]
			if !bytes.Equal(poll.Log, want) || poll.Next.Log != at+int64(len(want)) {
				t.Errorf("from %d: %q, want %q", at, poll.Log, want)
			}
		}
		if poll := look(Offsets{Log: -3}, Limits{}); !bytes.Equal(poll.Log, log.Bytes()[log.Len()-3:]) {
			t.Errorf("the end: %q", poll.Log)
		}
		p.put("job.log", "new")
		if poll := look(Offsets{Log: 50}, Limits{}); string(poll.Log) != "new" || !poll.LogAnew {
			t.Errorf("a new file: %q %t", poll.Log, poll.LogAnew)
		}
		// After a job that failed each look has its disk.
		for _, code := range []string{"0", "1", "137"} {
			p.put("exit_code", code+"\n")
			if poll := look(Offsets{}, Limits{}); !poll.Status.Ended() || (poll.DiskUsed >= 0) != (code != "0") {
				t.Errorf("after %s: %+v", code, poll)
			}
		}
	})
}

// One shell answers all looks. One that does not answer, or is gone, costs one
// look: the next one has a shell of its own.
func TestPollKeepsItsShell(t *testing.T) {
	everyShell(t, func(t *testing.T, m machine) {
		bin := t.TempDir()
		m.path = bin + ":" + m.path
		p := newPod(t, m)
		p.conn.m = m
		p.reserve()
		live := m.command(t.Context(), "exec sleep 1000", nil)
		setGroup(live)
		if err := live.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = live.Process.Kill(); _ = live.Wait() }()
		p.put("job.pid", fmt.Sprintln(live.Process.Pid))
		look := func(at int64) (Poll, error) {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			return p.Poll(ctx, Offsets{Log: at}, Limits{})
		}
		before := p.conn.scripts
		for i, text := range []string{"a", "ab", "abc"} {
			p.put("job.log", text)
			poll, err := look(int64(i))
			if err != nil || string(poll.Log) != text[i:] {
				t.Errorf("%q %v", poll.Log, err)
			}
			// The disk is looked at every DiskEvery only.
			if known := poll.DiskUsed >= 0; known != (i == 2) {
				t.Errorf("look %d at the disk: %t", i, known)
			}
			if i == 1 {
				p.looks.shell.diskAt = time.Now().Add(-DiskEvery)
			}
		}
		if err := p.SetVolumeGB(t.Context(), 70); err != nil || p.get(".pod/volume_gb") != "70\n" {
			t.Errorf("%q %v", p.get(".pod/volume_gb"), err)
		}
		if text, err := p.Tail(t.Context(), 2); err != nil || string(text) != "bc" {
			t.Errorf("%q %v", text, err)
		}
		if err := os.RemoveAll(filepath.Join(p.dir, ".pod")); err != nil {
			t.Fatal(err)
		}
		p.put(".pod", "a file")
		var failed *ScriptError
		if err := p.RenewLease(t.Context()); !errors.As(err, &failed) || failed.Text == "" {
			t.Errorf("a lease that cannot be written: %v", err)
		}
		if n := p.conn.scripts - before; n != 0 {
			t.Errorf("%d more shells for all of that", n)
		}

		p.looks.shell.diskAt = time.Time{}
		if err := os.WriteFile(filepath.Join(bin, "df"), []byte("#!/bin/sh\nexec sleep 100\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if _, err := p.Poll(ctx, Offsets{}, Limits{}); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "did not answer in time") {
			t.Errorf("a look that hangs: %v", err)
		}
		if err := os.Remove(filepath.Join(bin, "df")); err != nil {
			t.Fatal(err)
		}
		if poll, err := look(0); err != nil || string(poll.Log) != "abc" {
			t.Errorf("after it: %q %v", poll.Log, err)
		}
		_ = p.looks.shell.in.Close()
		if _, err := look(0); err == nil {
			t.Error("a shell that is gone answered")
		}
		if poll, err := look(0); err != nil || string(poll.Log) != "abc" {
			t.Errorf("after it: %q %v", poll.Log, err)
		}
	})
}

func TestPollWholeLines(t *testing.T) {
	everyShell(t, func(t *testing.T, m machine) {
		p := newPod(t, m)
		p.Metrics = "sub dir/it's.jsonl"
		p.reserve()
		p.launch(Launch{Command: []string{"sh", "-c",
			`mkdir -p "sub dir"; printf '{"step":1}\n{"st' >>"$OVERBRAINER_METRICS"; echo half >>job.log
			while [ ! -e go ]; do sleep 0.1; done; printf 'ep":2}' >>"$OVERBRAINER_METRICS"`}})
		at := Offsets{}
		var got []byte
		p.eventually("the first line", func() bool {
			poll, err := p.Poll(t.Context(), at, Limits{})
			if err != nil {
				t.Fatal(err)
			}
			at, got = poll.Next, append(got, poll.Metrics...)
			return strings.Contains(p.get("job.log"), "half") && len(got) > 0
		})
		if string(got) != "{\"step\":1}\n" || at.Metrics != int64(len(got)) {
			t.Errorf("got %q, next %d", got, at.Metrics)
		}
		p.put("go", "")
		p.eventually("the end", func() bool {
			poll, err := p.Poll(t.Context(), at, Limits{})
			if err != nil {
				t.Fatal(err)
			}
			at, got = poll.Next, append(got, poll.Metrics...)
			return poll.Drained()
		})
		if string(got) != "{\"step\":1}\n{\"step\":2}" {
			t.Errorf("got %q", got)
		}
	})
}

func TestStatusRules(t *testing.T) {
	everyShell(t, func(t *testing.T, m machine) {
		p := newPod(t, m)
		p.reserve()
		live := m.command(t.Context(), "exec sleep 1000", nil)
		setGroup(live)
		if err := live.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = live.Process.Kill(); _ = live.Wait() }()
		alive, dead := fmt.Sprintln(live.Process.Pid), "999999 1\n"
		for name, c := range map[string]struct {
			files map[string]string
			want  string // "" for an error
		}{
			"being stopped":                 {map[string]string{"job.pid": alive, "cancelling": "", "exit_code": "143\n"}, "running"},
			"ended before the cancel":       {map[string]string{"job.pid": dead, "cancelling": "", "exit_code": "0\n"}, "exited 0"},
			"cancelled":                     {map[string]string{"job.pid": alive, "cancelled": ""}, "cancelled"},
			"a cancel that did not finish":  {map[string]string{"job.pid": dead, "cancelling": ""}, "cancelled"},
			"running":                       {map[string]string{"job.pid": alive}, "running"},
			"killed from outside":           {map[string]string{"job.pid": dead}, "lost"},
			"exited":                        {map[string]string{"job.pid": dead, "exit_code": "    3\n"}, "exited 3"},
			"number 0":                      {map[string]string{"job.pid": "0\n"}, ""},
			"number 1":                      {map[string]string{"job.pid": "1 1\n"}, ""},
			"no number":                     {map[string]string{"job.pid": "-5\n"}, ""},
			"empty":                         {map[string]string{"job.pid": ""}, ""},
			"no exit code":                  {map[string]string{"job.pid": dead, "exit_code": "x\n"}, ""},
			"launcher died before the job":  {map[string]string{".pod/launch": "999999 1\n"}, "lost"},
			"nothing":                       {nil, "none"},
			"an exit code that is too high": {map[string]string{"job.pid": dead, "exit_code": "256\n"}, ""},
		} {
			for _, name := range []string{"job.pid", "cancelling", "cancelled", "exit_code", ".pod/launch"} {
				_ = os.Remove(filepath.Join(p.dir, name))
			}
			for name, content := range c.files {
				p.put(name, content)
			}
			poll, err := p.Poll(t.Context(), Offsets{}, Limits{})
			switch {
			case c.want == "" && err == nil:
				t.Errorf("%s: %v, want an error", name, poll.Status)
			case c.want != "" && (err != nil || poll.Status.String() != c.want):
				t.Errorf("%s: %v %v, want %s", name, poll.Status, err, c.want)
			}
			if c.want == "" {
				if _, err := p.Cancel(t.Context(), "run-1"); err == nil && name != "an exit code that is too high" {
					t.Errorf("%s: cancelled", name)
				}
			}
		}
	})
}

func TestCancel(t *testing.T) {
	everyShell(t, func(t *testing.T, m machine) {
		// poll looks at the job as long as it is being cancelled.
		poll := func(p *testPod) (seen map[State]bool, end func() map[State]bool) {
			stop, done := make(chan struct{}), make(chan struct{})
			seen = map[State]bool{}
			go func() {
				defer close(done)
				for {
					if poll, err := p.Poll(t.Context(), Offsets{}, Limits{}); err == nil {
						seen[poll.Status.State] = true
					}
					select {
					case <-stop:
						return
					case <-time.After(100 * time.Millisecond):
					}
				}
			}()
			return seen, func() map[State]bool { close(stop); <-done; return seen }
		}
		for name, command := range map[string]string{
			"obeys":   `sleep 1000`,
			"ignores": `trap '' TERM; echo up; while :; do sleep 1; done`,
			// It leaves the group; only its environment says whose it is.
			"leaves": `setsid sleep 1234567 & echo up; exec sleep 1000`,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p := newPod(t, m)
				p.reserve()
				foreign := m.command(t.Context(), "exec sleep 1000", nil)
				if err := foreign.Start(); err != nil {
					t.Fatal(err)
				}
				defer func() { _ = foreign.Process.Kill(); _ = foreign.Wait() }()
				p.spec.RunID = filepath.Base(filepath.Dir(p.root)) + t.Name()
				p.launch(Launch{Command: []string{"sh", "-c", command}})
				if name != "obeys" {
					p.eventually("the job", func() bool { return strings.Contains(p.get("job.log"), "up") })
				}
				_, end := poll(p)
				status, err := p.Cancel(t.Context(), p.spec.RunID)
				seen := end()
				if err != nil || status.State != StateCancelled {
					t.Errorf("%v %v", status, err)
				}
				if seen[StateLost] || seen[StateExited] || seen[StateNone] {
					t.Errorf("seen on the way: %v", seen)
				}
				if foreign.ProcessState != nil || foreign.Process.Signal(nothing) != nil {
					t.Error("the foreign process is gone")
				}
				if left := withVariable("OVERBRAINER_JOB=" + p.spec.RunID); len(left) > 0 {
					t.Errorf("left over: %v", left)
				}
				again, err := p.Cancel(t.Context(), p.spec.RunID)
				if err != nil || again != status {
					t.Errorf("twice: %v %v", again, err)
				}
			})
		}
	})
}

func TestCancelAfterTheEnd(t *testing.T) {
	everyShell(t, func(t *testing.T, m machine) {
		p := newPod(t, m)
		if _, err := p.Cancel(t.Context(), "run-1"); err == nil {
			t.Error("cancelled without a directory")
		}
		p.reserve()
		if _, err := p.Cancel(t.Context(), "run-1"); err == nil {
			t.Error("cancelled without a job")
		}
		p.launch(Launch{Command: []string{"sh", "-c", "exit 3"}})
		want := p.ended()
		if got, err := p.Cancel(t.Context(), "run-1"); err != nil || got != want || p.has("cancelling") {
			t.Errorf("%v %v", got, err)
		}
	})
}

// TestCancelEndsWhatIsLeft: of a job that ended by itself, what it left running
// is ended, in its group and out of it, and the job stays as it ended.
func TestCancelEndsWhatIsLeft(t *testing.T) {
	everyShell(t, func(t *testing.T, m machine) {
		for name, command := range map[string]string{
			"in its group": `sleep 1234567 & exit 4`,
			"ignores TERM": `(trap '' TERM; while :; do sleep 1; done) & exit 4`,
			"has left it":  `setsid sleep 1234567 & exit 4`,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p := newPod(t, m)
				p.reserve()
				p.spec.RunID = filepath.Base(filepath.Dir(p.root)) + t.Name()
				p.launch(Launch{Command: []string{"sh", "-c", command}})
				want := p.ended()
				if len(withVariable("OVERBRAINER_JOB="+p.spec.RunID)) == 0 {
					t.Fatal("nothing was left running")
				}
				if got, err := p.Cancel(t.Context(), p.spec.RunID); err != nil || got != want || got.Exit != 4 || p.has("cancelled") {
					t.Errorf("%v %v", got, err)
				}
				p.eventually("the end of what was left", func() bool { return len(withVariable("OVERBRAINER_JOB="+p.spec.RunID)) == 0 })
			})
		}
	})
}

// TestLeftBehind: of a job that ended by itself, what it left running is found, in
// its group and out of it, and which files of the run's directory it may still
// write to; the log, and files that are only read or are elsewhere, do not count.
func TestLeftBehind(t *testing.T) {
	everyShell(t, func(t *testing.T, m machine) {
		for name, tt := range map[string]struct {
			command string
			left    int
			open    []string
		}{
			"nothing":       {`mkdir output; echo 1 >output/a; exit 4`, 0, nil},
			"idle":          {`exec 3</dev/null; sleep 1234567 & exit 4`, 1, nil},
			"reads":         {`echo 1 >a; sleep 1234567 <a & exit 4`, 1, nil},
			"writes":        {`mkdir output; exec sleep 1234567 3>'output/a file' 4>>output/b 5<>c & exit 4`, 1, []string{"c", "output/a file", "output/b"}},
			"left group":    {`setsid sleep 1234567 3>a & exit 4`, 1, []string{"a"}},
			"what is gone":  {`exec 3>a; sleep 1234567 & rm a; exit 4`, 1, nil},
			"only metrics":  {`exec 3>>metrics.jsonl; sleep 1234567 & exit 4`, 1, nil},
			"without marks": {`env -i sleep 1234567 3>a & exit 4`, 1, []string{"a"}},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p := newPod(t, m)
				p.reserve()
				p.spec.RunID = filepath.Base(filepath.Dir(p.root)) + t.Name()
				p.launch(Launch{Command: []string{"sh", "-c", tt.command}})
				p.ended()
				var got Left
				p.eventually("what was left", func() bool {
					var err error
					if got, err = p.Left(t.Context(), p.spec.RunID, true); err != nil {
						t.Fatal(err)
					}
					return got.Processes == tt.left && slices.Equal(got.Open, tt.open)
				})
				if !got.Changed {
					t.Error("there was a look before")
				}
				if _, err := p.Cancel(t.Context(), p.spec.RunID); err != nil {
					t.Error(err)
				}
				p.eventually("the end of what was left", func() bool {
					got, err := p.Left(t.Context(), p.spec.RunID, false)
					return err == nil && got.Processes == 0
				})
			})
		}
	})
}

// TestLeftSeesWhoWrites: a process of which nothing tells that the job began it.
func TestLeftSeesWhoWrites(t *testing.T) {
	everyShell(t, func(t *testing.T, m machine) {
		p := newPod(t, m)
		p.reserve()
		p.launch(Launch{Command: []string{"sh", "-c", `mkdir output; setsid env -i sh -c 'until [ -e go ]; do sleep 0.1; done' 3>output/a >/dev/null 2>&1 & exit 0`}})
		p.ended()
		p.eventually("who writes", func() bool {
			got, err := p.Left(t.Context(), p.spec.RunID, true)
			return err == nil && got.Processes == 1 && slices.Equal(got.Open, []string{"output/a"})
		})
		p.put("go", "")
		p.eventually("its end", func() bool {
			got, err := p.Left(t.Context(), p.spec.RunID, false)
			return err == nil && got.Processes == 0
		})
	})
}

// TestLeftSeesChanges: what is written, made, renamed or removed between two looks,
// and nothing else, counts as a change.
func TestLeftSeesChanges(t *testing.T) {
	everyShell(t, func(t *testing.T, m machine) {
		p, _ := results(t, m)
		at := func(name string, ago time.Duration) {
			then := time.Now().Add(-ago)
			if err := os.Chtimes(filepath.Join(p.dir, name), then, then); err != nil {
				t.Fatal(err)
			}
		}
		// Some finds know whole seconds only.
		settled := func() {
			for _, name := range []string{"output/model.bin", "output/report/it's.json", "output/report", "output", "job.log", "metrics.jsonl", "job.pid", ".claim", "."} {
				at(name, time.Hour)
			}
		}
		looks := func(what string, anew, want bool) {
			t.Helper()
			if got, err := p.Left(t.Context(), "none", anew); err != nil || got.Changed != want || got.Processes != 0 {
				t.Errorf("%s: %+v %v", what, got, err)
			}
			settled()
			at(".pod/rested", time.Minute)
		}
		settled()
		looks("at first", false, true)
		looks("nothing", false, false)
		looks("anew", true, true)
		p.put("output/model.bin", "other")
		looks("written", false, true)
		looks("nothing more", false, false)
		p.put("output/report/new", "")
		_ = os.Remove(filepath.Join(p.dir, "output/report/new"))
		looks("came and went", false, true)
		_ = os.Rename(filepath.Join(p.dir, "output/model.bin"), filepath.Join(p.dir, "output/model"))
		_ = os.Rename(filepath.Join(p.dir, "output/model"), filepath.Join(p.dir, "output/model.bin"))
		looks("renamed", false, true)
		p.put("job.log", "more")
		p.put("metrics.jsonl", "more")
		p.put(".pod/lease", "")
		looks("log, metrics and ours", false, false)
		if err := os.RemoveAll(p.dir); err != nil {
			t.Fatal(err)
		}
		if got, err := p.Left(t.Context(), "none", false); err != nil || got.Processes != 0 {
			t.Errorf("without the directory: %+v %v", got, err)
		}
	})
}

func TestParsePoll(t *testing.T) {
	good := "overbrainer-poll 1\nstate running\npid 7\nlog 0 3 3\na\nb\nmetrics 0 4 4\nx\ny\n\nend\n"
	if poll, err := parsePoll(bufio.NewReader(strings.NewReader(good)), Offsets{}, 100); err != nil || string(poll.Log) != "a\nb" || string(poll.Metrics) != "x\ny\n" {
		t.Errorf("%+v %v", poll, err)
	}
	for name, bad := range map[string]string{
		"empty":          "",
		"cut":            good[:len(good)-4],
		"cut in a chunk": good[:50],
		"no state":       "overbrainer-poll 1\nend\n",
		"unknown state":  "overbrainer-poll 1\nstate exited x\nend\n",
		"empty state":    "overbrainer-poll 1\nstate \nend\n",
		"unknown line":   "overbrainer-poll 1\nstate running\nfoo 1 2 3\nend\n",
		"negative":       "overbrainer-poll 1\nstate running\nlog 0 0 -1\n\nend\n",
		"huge":           "overbrainer-poll 1\nstate running\nlog 0 9223372036854775807 9223372036854775807\n\nend\n",
		"beyond":         "overbrainer-poll 1\nstate running\nlog 5 6 3\nabc\nend\n",
	} {
		if poll, err := parsePoll(bufio.NewReader(strings.NewReader(bad)), Offsets{}, 100); err == nil && name != "unknown line" {
			t.Errorf("%s: %+v", name, poll)
		}
	}
}

// A look at a log that did not grow starts no program for it, and one that did is
// seen at once. One that was replaced by an older file shows at the next look at
// the disk.
func TestPollQuietLog(t *testing.T) {
	everyShell(t, func(t *testing.T, m machine) {
		m, calls := counted(t, m, "stat", "wc")
		p := newPod(t, m)
		p.reserve()
		live := m.command(t.Context(), "exec sleep 1000", nil)
		setGroup(live)
		if err := live.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = live.Process.Kill(); _ = live.Wait() }()
		p.put("job.pid", fmt.Sprintln(live.Process.Pid))
		put := func(text string, at time.Time) {
			p.put("job.log", text)
			if err := os.Chtimes(filepath.Join(p.dir, "job.log"), at, at); err != nil {
				t.Fatal(err)
			}
		}
		look := func(at int64, want string) {
			t.Helper()
			poll, err := p.Poll(t.Context(), Offsets{Log: at}, Limits{})
			if err != nil || string(poll.Log) != want || poll.LogSize < at {
				t.Errorf("%q of %d %v, want %q", poll.Log, poll.LogSize, err, want)
			}
		}
		hour := time.Now().Add(-time.Hour)
		put("abc", hour)
		look(0, "abc")
		before := calls()
		for range 3 {
			look(3, "")
		}
		if after := calls(); m.name != "busybox" && after != before {
			t.Errorf("%d programs for a log that did not grow", after-before)
		}
		look(1, "bc")
		look(3, "")
		put("abcd", time.Now())
		look(3, "d")
		put("abcde", hour)
		p.looks.shell.diskAt = time.Time{}
		look(4, "e")
		if err := os.Remove(filepath.Join(p.dir, "job.pid")); err != nil {
			t.Fatal(err)
		}
		put("abcdef", hour)
		look(5, "f")
		shell := p.looks.shell
		_ = shell.in.Close()
		<-shell.ended
		if left, _ := filepath.Glob(filepath.Join(p.dir, ".pod/looked.*")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
}

// A pod tells by itself where its files are, to the shell that goes on to look at
// the job.
func TestOpen(t *testing.T) {
	everyShell(t, func(t *testing.T, m machine) {
		p := newPod(t, m)
		p.reserve()
		p.put("sub/it's.jsonl", "{}\n")
		p.conn.root = p.root + "/"
		before := p.conn.scripts
		own, err := Open(t.Context(), p.conn, p.spec.RunDir, "sub/it's.jsonl")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { own.looks.shell.close() }()
		poll, err := own.Poll(t.Context(), Offsets{}, Limits{})
		if err != nil || own.Dir() != p.dir || string(poll.Metrics) != "{}\n" {
			t.Errorf("%s: %q %v", own.Dir(), poll.Metrics, err)
		}
		if n := p.conn.scripts - before; n != 1 {
			t.Errorf("%d shells", n)
		}
	})
}
