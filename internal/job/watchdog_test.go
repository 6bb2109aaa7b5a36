package job

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestWatchdogVerdict(t *testing.T) {
	everyShell(t, func(t *testing.T, m machine) {
		for name, c := range map[string]struct {
			probe []int
			env   map[string]string
			want  string
			gets  int
		}{
			"refused":       {probe: []int{401}, want: "failed http_401", gets: 1},
			"no key":        {probe: []int{200}, env: map[string]string{"RUNPOD_API_KEY": ""}, want: "failed missing_key"},
			"after a while": {probe: []int{503, 503, 200}, want: "ready", gets: 3},
			"never":         {probe: []int{503}, env: map[string]string{"OVERBRAINER_PROBE_LIMIT": "0"}, want: "failed http_503", gets: 1},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p := newPod(t, m)
				p.api.probe = c.probe
				for name, value := range c.env {
					p.env[name] = value
				}
				p.start()
				p.ready()
				if got := strings.TrimSpace(p.get(".pod/watchdog")); !strings.HasPrefix(got, c.want) {
					t.Errorf("verdict %q, want %q", got, c.want)
				}
				if got := p.api.count("GET"); got != c.gets {
					t.Errorf("%d requests, want %d", got, c.gets)
				}
				p.quiet(0)
			})
		}
	})
}

func TestWatchdogCountsGPUs(t *testing.T) {
	everyShell(t, func(t *testing.T, m machine) {
		for name, c := range map[string]struct {
			smi  string
			want int
		}{
			"two":    {"echo 'GPU 0: NVIDIA A40 (UUID: x)'; echo '  MIG 1g'; echo 'GPU 1: NVIDIA A40 (UUID: y)'", 2},
			"broken": {"echo 'No devices were found'; exit 6", 0},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p := newPod(t, m)
				p.env["PATH"] = filepath.Dir(p.tool("nvidia-smi", c.smi)) + ":" + m.path
				p.start()
				p.ready()
				v, err := p.Verdict(t.Context())
				if err != nil || v.State != VerdictReady || v.GPUCount != c.want {
					t.Errorf("%+v %v", v, err)
				}
			})
		}
	})
}

func TestWatchdogStops(t *testing.T) {
	everyShell(t, func(t *testing.T, m machine) {
		p := newPod(t, m)
		p.spec.Interval = time.Hour
		p.start()
		p.ready()
		begin := time.Now()
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		<-p.done
		if code := p.cmd.ProcessState.ExitCode(); code != 0 || !p.logs("stopping") {
			t.Errorf("exit %d", code)
		}
		if d := time.Since(begin); d > 10*time.Second {
			t.Errorf("after %s", d)
		}
	})
}

// A run directory on a file system that hangs does not keep the pod alive.
func TestWatchdogBackstop(t *testing.T) {
	everyShell(t, func(t *testing.T, m machine) {
		p := newPod(t, m)
		p.spec.CostCapAt = time.Now().Unix() + 2
		p.start()
		p.ready()
		// Stopped, the main loop is as one that waits for a dead file system.
		pid := p.cmd.Process.Pid
		_ = syscall.Kill(pid, syscall.SIGSTOP)
		p.eventually("a delete", func() bool { return p.api.count("DELETE") > 0 })
		if !p.logs("watchdog: backstop") {
			t.Error("not by the backstop")
		}
		_ = syscall.Kill(pid, syscall.SIGCONT)
	})
}

func TestSnapshotSignal(t *testing.T) {
	everyShell(t, func(t *testing.T, m machine) {
		p := newPod(t, m)
		p.reserve()
		// The shell catches it; the sleep beside it would die of it.
		p.launch(Launch{
			Command: []string{"sh", "-c", `sleep 1000 & s=$!; trap 'echo caught; kill -0 $s && echo alive; kill $s; exit 0' USR1; echo up; wait $s; wait $s; exit 3`},
			Signal:  "SIGUSR1",
		})
		p.eventually("the job", func() bool { return strings.Contains(p.get("job.log"), "up") })
		reason, isNew, err := p.RequestSnapshot(t.Context(), ReasonRequested, false)
		if err != nil || !isNew || reason != ReasonRequested {
			t.Fatalf("%q %t %v", reason, isNew, err)
		}
		if s := p.ended(); s != (Status{State: StateExited}) {
			t.Error(s)
		}
		if log := p.get("job.log"); !strings.Contains(log, "caught\nalive\n") {
			t.Errorf("log %q", log)
		}
		if reason, isNew, err = p.RequestSnapshot(t.Context(), ReasonDisk, false); err != nil || isNew || reason != ReasonRequested {
			t.Errorf("%q %t %v", reason, isNew, err)
		}
		if reason, isNew, err = p.RequestSnapshot(t.Context(), ReasonDisk, true); err != nil || !isNew || reason != ReasonDisk {
			t.Errorf("%q %t %v", reason, isNew, err)
		}
	})
}

// A volume on which nothing can be noted does not end the guard.
func TestWatchdogOutlivesAFile(t *testing.T) {
	everyShell(t, func(t *testing.T, m machine) {
		p := newPod(t, m)
		p.spec.VolumeDir, p.spec.VolumeGB = "/workspace", 10
		p.start()
		p.ready()
		if err := os.MkdirAll(filepath.Join(p.dir, ".pod/du.running"), 0o700); err != nil {
			t.Fatal(err)
		}
		hour := time.Now().Add(-time.Hour)
		if err := os.Chtimes(filepath.Join(p.dir, ".pod/du.running"), hour, hour); err != nil {
			t.Fatal(err)
		}
		p.launch(Launch{Command: []string{"sleep", "2"}})
		p.eventually("the job's end", func() bool { return p.logs("job ended") })
		p.put(".pod/retrieved", "")
		p.deleted("retrieved")
	})
}
