package job

import (
	"bufio"
	"bytes"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParseVerdict(t *testing.T) {
	for line, want := range map[string]Verdict{
		"overbrainer-verdict ready gpus=1\n": {State: VerdictReady, GPUCount: 1},
		"ready":                              {State: VerdictReady, GPUCount: -1},
		"ready gpus=0":                       {State: VerdictReady, GPUCount: 0},
		"failed http_401":                    {State: VerdictFailed, Reason: "http_401", GPUCount: -1},
		"failed bootstrap: the key cannot be read":   {State: VerdictFailed, Reason: "the key cannot be read", Bootstrap: true, GPUCount: -1},
		"overbrainer-verdict failed missing_key\r\n": {State: VerdictFailed, Reason: "missing_key", GPUCount: -1},
	} {
		if got, ok := ParseVerdict(line); !ok || got != want {
			t.Errorf("%q: %+v %t", line, got, ok)
		}
	}
	for _, line := range []string{"", "readyx", "failed", "failed ", "ready gpus=x", "ready gpus=-1", "x ready", strings.Repeat("ready ", 300)} {
		if got, ok := ParseVerdict(line); ok || got.State != VerdictNone {
			t.Errorf("%q: %+v", line, got)
		}
	}
	if _, ok := LogVerdict("ready"); ok {
		t.Error("a log line without the word is a verdict")
	}
}

func TestParseDelete(t *testing.T) {
	if reason, ok := ParseDelete("2026-11-29T00:00:00Z watchdog: delete reason=cost_cap\n"); !ok || reason != "cost_cap" {
		t.Errorf("%q %t", reason, ok)
	}
	for _, line := range []string{"", "delete reason=x", "2026 watchdog: delete reason=", "2026 watchdog: delete reason=a b"} {
		if reason, ok := ParseDelete(line); ok {
			t.Errorf("%q: %q", line, reason)
		}
	}
}

func TestParseProof(t *testing.T) {
	for name, c := range map[string]struct {
		text, pattern string
		want          Proof
	}{
		"plain":          {`{"checkpoint":"output/checkpoint-1","step":1,"time":1.5,"reason":" cost "}`, "", Proof{"output/checkpoint-1", 1, 1.5, "cost"}},
		"no reason":      {`{"checkpoint":"output/checkpoint-1","step":1.0}`, "", Proof{"output/checkpoint-1", 1, 0, "requested"}},
		"unknown reason": {`{"checkpoint":"output/checkpoint-1","step":1,"reason":"x","time":"now"}`, "", Proof{"output/checkpoint-1", 1, 0, "requested"}},
		"own place":      {`{"checkpoint":"ckpt/step7/a","step":7}`, "ckpt/step{step}/a", Proof{"ckpt/step7/a", 7, 0, "requested"}},
		"fixed place":    {`{"checkpoint":"last.pt","step":7}`, "last.pt", Proof{"last.pt", 7, 0, "requested"}},
	} {
		got, err := ParseProof([]byte(c.text), c.pattern)
		if err != nil || got != c.want {
			t.Errorf("%s: %+v %v", name, got, err)
		}
	}
	for _, checkpoint := range []string{"/etc/passwd", "../other", "output//checkpoint-1", "output/checkpoint-2", "output/checkpoint-1/x", "", "output/checkpoint-01"} {
		if got, err := ParseProof([]byte(`{"checkpoint":"`+checkpoint+`","step":1}`), ""); err == nil {
			t.Errorf("%q: %+v", checkpoint, got)
		}
	}
	for name, c := range map[string][2]string{
		"leads out": {`{"checkpoint":"../x1","step":1}`, "../x{step}"},
		"absolute":  {`{"checkpoint":"/x1","step":1}`, "/x{step}"},
		"not JSON":  {`{`, ""},
		"no step":   {`{"checkpoint":"output/checkpoint-"}`, ""},
		"half step": {`{"checkpoint":"output/checkpoint-1.5","step":1.5}`, ""},
		"too long":  {`{"checkpoint":"output/checkpoint-1","step":1}` + strings.Repeat(" ", MaxProof), ""},
	} {
		var proof *ProofError
		if got, err := ParseProof([]byte(c[0]), c[1]); !errors.As(err, &proof) {
			t.Errorf("%s: %+v %v", name, got, err)
		}
	}
}

func TestParseMetrics(t *testing.T) {
	const text = `{"step":1,"max_steps":10,"loss":2.5,"note":"NaN is \"fine\" here","nested":{"a":1},"flag":true,"nothing":null}

{"type":"log","step":2,"loss":NaN,"grad":-Infinity,"time":5}
not json
[1,2]
{"event":"end","step":3.0}`
	var lines []Line
	skipped, err := ParseMetrics(strings.NewReader(text), func(l Line) { lines = append(lines, l) })
	if err != nil || skipped != 2 || len(lines) != 3 {
		t.Fatalf("%d skipped, %v: %+v", skipped, err, lines)
	}
	if l := lines[0]; l.Step != 1 || l.MaxSteps != 10 || !maps.Equal(l.Values, map[string]float64{"step": 1, "max_steps": 10, "loss": 2.5}) {
		t.Errorf("%+v", l)
	}
	if l := lines[1]; l.Kind != "log" || l.Step != 2 || l.MaxSteps != -1 || l.Time != 5 || !slices.Equal(sorted(l.NotFinite), []string{"grad", "loss"}) {
		t.Errorf("%+v", l)
	}
	if l := lines[2]; l.Kind != "end" || l.Step != 3 {
		t.Errorf("%+v", l)
	}
	long := `{"a":"` + strings.Repeat("x", maxLine) + "\"}\n" + `{"step":4}` + "\n"
	lines = nil
	if skipped, err = ParseMetrics(strings.NewReader(long), func(l Line) { lines = append(lines, l) }); err != nil || skipped != 1 || len(lines) != 1 || lines[0].Step != 4 {
		t.Errorf("%d skipped, %v: %d lines", skipped, err, len(lines))
	}
}

func TestParseDisk(t *testing.T) {
	d, err := parseDisk("overbrainer-disk 1\ncheckpoint 100 5\nvolume \n")
	if err != nil || d != (Disk{Checkpoint: 5 << 10, CheckpointStep: 100, Volume: -1}) {
		t.Errorf("%+v %v", d, err)
	}
	if _, err := parseDisk("x"); err == nil {
		t.Error("no error")
	}
}

func TestSpecEnv(t *testing.T) {
	spec := Spec{
		RunID: "r", RunDir: "/workspace/r", Deadline: 100, CostCapAt: 50, KeepPod: -1, BootGrace: 100 * time.Millisecond,
		Interval: 1500 * time.Millisecond, GPUCount: 2, NoInstallSSHD: true, GuardEnv: map[string]string{"OVERBRAINER_API_URL": "u"},
	}
	env := spec.Env()
	for name, want := range map[string]string{
		"OVERBRAINER_RUN_ID": "r", "OVERBRAINER_DEADLINE": "100", "OVERBRAINER_COST_CAP_AT": "50",
		"OVERBRAINER_KEEP_POD_SECONDS": "-1", "OVERBRAINER_BOOT_GRACE": "1", "OVERBRAINER_INTERVAL": "2",
		"OVERBRAINER_GPU_COUNT": "2", "OVERBRAINER_INSTALL_SSHD": "0", "OVERBRAINER_API_URL": "u", "JUPYTER_DISABLE": "1",
	} {
		if env[name] != want {
			t.Errorf("%s is %q, want %q", name, env[name], want)
		}
	}
	for _, name := range []string{"OVERBRAINER_SNAPSHOT_AT", "OVERBRAINER_OVERRUN", "OVERBRAINER_VOLUME_DIR", "OVERBRAINER_SNAPSHOTS"} {
		if value, ok := env[name]; ok {
			t.Errorf("%s is %q", name, value)
		}
	}
	if len(env) > MaxEnv {
		t.Errorf("%d variables", len(env))
	}
	spec.AuthorizedKey, spec.Claim, spec.HostKeyPlaceholder = "a", "b", "c"
	if err := spec.Check(); err != nil {
		t.Error(err)
	}
	spec.Claim = "b\nc"
	if spec.Check() == nil {
		t.Error("a claim of two lines passes")
	}
}

func FuzzVerdict(f *testing.F) {
	f.Add("overbrainer-verdict ready gpus=1")
	f.Add("failed bootstrap: x")
	f.Fuzz(func(t *testing.T, line string) {
		v, ok := ParseVerdict(line)
		if ok == (v.State == VerdictNone) || v.GPUCount < -1 || (v.State == VerdictFailed) != (v.Reason != "") {
			t.Errorf("%q: %+v %t", line, v, ok)
		}
		ParseDelete(line)
	})
}

func FuzzPoll(f *testing.F) {
	f.Add([]byte("overbrainer-poll 1\nstate exited 137\nlog 0 3 3\na\nb\nmetrics 0 4 4\nx\ny\n\nrequest 0 4 4\ndisk\nend\n"), int64(0))
	f.Fuzz(func(t *testing.T, out []byte, at int64) {
		poll, err := parsePoll(bufio.NewReader(bytes.NewReader(out)), Offsets{Log: at, Metrics: at}, 1<<20)
		if err != nil {
			return
		}
		if len(poll.Log)+len(poll.Metrics) > len(out) || poll.Status.State == "" {
			t.Errorf("%+v", poll)
		}
	})
}

func FuzzManifest(f *testing.F) {
	f.Add([]byte("./a\x00./b c\x00"), []byte(strings.Repeat("ab", 32)+"  ./a\n\x00 3 ./a\n\x00= = x ./a\x00"+strings.Repeat("ab", 32)+" 3 x ./b c\x00"))
	f.Fuzz(func(t *testing.T, list, hashes []byte) {
		m, wanted, err := chooseFrom(list, []string{"**", "!x"}, []string{"job.log"})
		if err != nil {
			return
		}
		for _, name := range append(wanted, m.Others...) {
			if !safePath(name) {
				t.Errorf("%q", name)
			}
		}
		files, _, err := parseHashes(hashes)
		if err != nil {
			return
		}
		if gone, err := missingOf(files, wanted); err == nil && len(files)+len(gone) != len(wanted) {
			t.Errorf("%v for %q", files, wanted)
		}
	})
}

func FuzzProof(f *testing.F) {
	f.Add([]byte(`{"checkpoint":"output/checkpoint-1","step":1,"time":1.5,"reason":"cost"}`), "output/checkpoint-{step}")
	f.Fuzz(func(t *testing.T, text []byte, pattern string) {
		if proof, err := ParseProof(text, pattern); err == nil && !safePath(proof.Checkpoint) {
			t.Errorf("%+v", proof)
		}
	})
}

func FuzzMetrics(f *testing.F) {
	f.Add(`{"step":1,"loss":NaN,"s":"\"NaN"}` + "\n{}")
	f.Fuzz(func(t *testing.T, text string) {
		n := 0
		skipped, err := ParseMetrics(strings.NewReader(text), func(Line) { n++ })
		if err != nil || skipped+n > strings.Count(text, "\n")+1 {
			t.Errorf("%d lines, %d skipped, %v", n, skipped, err)
		}
	})
}
